"""The suite cannot be talked out of a test."""

from __future__ import annotations

import pytest

from memscope_testing.stores import StoreSuite


async def nothing(self: object) -> None: ...


def test_a_standard_test_cannot_be_overridden() -> None:
    for replacement in (nothing, None, pytest.mark.skip(nothing)):
        with pytest.raises(TypeError, match="test_a_key_is_stored_once"):
            type("TestMine", (StoreSuite,), {"test_a_key_is_stored_once": replacement})


def test_nor_by_another_base() -> None:
    other = type("Other", (), {"test_closing_supersedes": nothing})
    with pytest.raises(TypeError, match="test_closing_supersedes"):
        type("TestMine", (other, StoreSuite), {})


def test_tests_of_its_own_are_welcome() -> None:
    assert issubclass(type("TestMine", (StoreSuite,), {"test_more": nothing}), StoreSuite)
