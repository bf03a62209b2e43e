"""Arguments of the wrong type: a typed error names them, and nothing is half done."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import InputError


@pytest.fixture
async def memory():
    async with AsyncMemoryScope(":memory:", settings={}) as opened:
        yield opened


@pytest.mark.parametrize("value", ["no", None, 1])
async def test_a_flag_is_true_or_false_and_nothing_else(memory, value):
    """``dry_run="no"`` would be taken as True, ``dry_run=None`` as False."""
    (key,) = (await memory.add_turns([{"role": "user", "content": "I like tea."}], user="alice")).keys
    with pytest.raises(InputError, match="dry_run"):
        await memory.forget(user="alice", ids=[key], dry_run=value)
    with pytest.raises(InputError, match="replay"):
        await memory.add_turns([{"role": "user", "content": "I like tea."}], user="alice", replay=value)
    with pytest.raises(InputError, match="superseded"):
        await memory.list(user="alice", superseded=value)
    assert len(await memory.list(user="alice")) == 1


async def test_a_version_and_a_timeout_of_another_type_are_named(memory):
    made = await memory.add_memory("Allergic to nuts.", user="alice")
    for version in ("1", True, 1.0):
        with pytest.raises(InputError, match="version"):
            await memory.update(made.id, user="alice", text="Allergic to peanuts.", version=version)
    with pytest.raises(InputError, match="timeout_s"):
        await memory.flush(timeout_s="1")
