"""Verdicts on facts while new ones wait for a person's word."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope.dates.iso import parse
from memscope.reconciliation.settlement import FactRelation, Settlement
from memscope.records import Observation, Scope


def fact(id: str, text: str, month: int, when: str) -> Observation:
    said = datetime(2026, month, 1, tzinfo=UTC)
    return Observation(
        id=id, scope=Scope("alice"), text=text, sources=(f"turn-{id}",), said=said, recorded=said,
        happened=parse(when, UTC),
    )  # fmt: skip


@pytest.mark.parametrize("propose", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_where_facts_wait_the_end_of_a_stored_one_is_not_written(propose, stored):
    """Of two past events the earlier one, told later, gets its end."""
    berlin = fact("old", "The user lives in Berlin.", 6, "2024-05")
    rome = fact("new", "The user moved.", 7, "2019")
    fresh = {} if stored else {rome.id: rome}
    settlement = Settlement(fresh, datetime(2026, 12, 1, tzinfo=UTC), propose=propose)
    settlement.settle([FactRelation(rome, berlin, "ends")])
    ends = None if stored and propose else datetime(2020, 1, 1, tzinfo=UTC)
    assert settlement.latest(rome).valid_to == ends
