"""Facts of a time that was over: what they end, and what ends them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter

from memscope.dates.iso import parse
from memscope.reconciliation.supersession import Verdict, apply_ends, as_past
from memscope.records import Observation, Supersession
from memscope_testing.records import observation

MAY, JUNE, NOW = (datetime(2026, month, 1, 9, tzinfo=UTC) for month in (5, 6, 12))


def said(id: str, text: str, when: str, at: datetime) -> Observation:
    return observation(id, f"turn-{id}", text=text, about="user", said=at, recorded=at, happened=parse(when, UTC))


def outcome(old: Observation, new: Observation) -> str:
    """Return what a verdict that the new fact ends the old one comes to."""
    result = apply_ends(new, old, NOW)
    if isinstance(result, Supersession):
        return f"ends {result.valid_to:%Y-%m-%d}"
    return " ".join(f"{one.id} until {one.valid_to:%Y-%m-%d}" if one.valid_to else one.id for one in result)


TOLD = [
    # old fact, its date, new fact, its date, what comes of it
    ("The user lives in Berlin.", "", "The user moved to Rome in January.", "2026-01", "ends 2026-01-01"),
    ("The user lives in Berlin.", "", "The user moved to Rome in July 2025.", "2025-07", "new until 2025-08-01"),
    ("The user lives in Berlin.", "", "The user has lived in Rome since 2024.", "2024", "ends 2024-01-01"),
    ("The user works at Siemens.", "", "The user was a waiter in March.", "2026-03", "new until 2026-04-01"),
    ("The user works at Siemens.", "", "The user was a waiter in May.", "2026-05-20", "ends 2026-05-20"),
    ("The user lived in Paris in 2010.", "2010", "The user lives in Rome.", "", ""),
    ("The user lived in Paris in 2010.", "2010", "The user lived in Rome in 2012.", "2012", ""),
    ("The user lived in Paris in 2010.", "2010", "The user lived in Lyon in 2010.", "2010", "ends 2010-01-01"),
    ("The user lived in Paris in 2010.", "2010", "The user did not live in Paris in 2010.", "", "ends 2026-06-01"),
    ("The user lives in Berlin.", "", "The user will move to Rome.", "2026-08", "old until 2026-08-01"),
    ("The user plans to move to Oslo.", "", "The user plans to move to Rome.", "2026-08", "ends 2026-06-01"),
    ("用户住在柏林。", "", "用户一月搬到了罗马。", "2026-01", "ends 2026-01-01"),
    ("用户住在柏林。", "", "用户2025年7月搬到了罗马。", "2025-07", "new until 2025-08-01"),
    ("用户2010年住在巴黎。", "2010", "用户2010年住在里昂。", "2010", "ends 2010-01-01"),
    ("用户住在柏林。", "", "用户八月会搬到罗马。", "2026-08", "old until 2026-08-01"),
]


@pytest.mark.parametrize(("old", "old_when", "new", "new_when", "result"), TOLD)
def test_what_comes_of_an_end(old, old_when, new, new_when, result):
    assert outcome(said("old", old, old_when, MAY), said("new", new, new_when, JUNE)) == result


def test_what_ended_before_it_was_told_is_history_and_an_announced_end_is_not():
    lived, rome = (
        said("old", "The user rents a flat in Graz.", "", MAY),
        said("new", "The user moved to Rome.", "", JUNE),
    )
    for day, result in ((datetime(2026, 4, 1, tzinfo=UTC), ""), (datetime(2026, 9, 1, tzinfo=UTC), "ends 2026-06-01")):
        over = (
            as_past(lived, day)
            if day < MAY
            else observation("old", "t", text=lived.text, about="user", said=MAY, valid_to=day)
        )
        assert over.valid_to == day
        assert outcome(over, rome) == result


def test_prompts_of_ones_own_may_call_an_end_a_contradiction():
    given = TypeAdapter(Verdict)
    assert [given.validate_python(word) for word in ("contradicts", "ends", "refines")] == ["ends", "ends", "refines"]
