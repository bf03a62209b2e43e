"""Days that a word may name: never today, the coming weekend, a day of a month that is near or far, a weekday."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope.dates import event_time, is_undirected, mentions, nearest


def at(day: str) -> datetime:
    return datetime.fromisoformat(f"{day}T10:00+00:00").astimezone(UTC)


def first_day(text: str, said: str) -> str:
    (mention,) = mentions(text, at(said))
    return f"{mention.interval.start:%F}"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("this past Friday", "2026-11-13"),
        ("this coming Friday", "2026-11-27"),
        ("two Fridays ago", "2026-11-06"),
        ("two Fridays from now", "2026-12-04"),
    ],
)
def test_a_weekday_counted_on_that_weekday_is_not_today(text: str, day: str) -> None:
    assert first_day(text, "2026-11-20") == day  # a Friday


@pytest.mark.parametrize(
    ("said", "day"),
    [("2026-11-18", "2026-11-21"), ("2026-11-20", "2026-11-21"), ("2026-11-21", "2026-11-28")],
)
def test_the_coming_weekend_is_this_one_until_it_begins(said: str, day: str) -> None:
    assert first_day("the coming weekend", said) == day


@pytest.mark.parametrize(("text", "undirected"), [("We met on December 3.", True), ("We met on October 3.", False)])
def test_a_day_of_almost_a_year_ago_may_be_the_one_that_is_near(text: str, undirected: bool) -> None:
    (mention,) = mentions(text, at("2026-11-19"))
    assert is_undirected(mention) is undirected


@pytest.mark.parametrize(
    ("text", "day"), [("It is due by October 20.", None), ("It is due by December 20.", "2026-12-20")]
)
def test_a_day_to_come_is_none_where_its_next_one_is_almost_a_year_away(text: str, day: str | None) -> None:
    (mention,) = mentions(text, at("2026-11-19"))
    event = event_time(mention, at("2026-11-19"))
    assert (f"{event.start:%F}" if event else None) == day


@pytest.mark.parametrize(
    ("said", "day"),
    [("2026-11-16", "2026-11-20"), ("2026-11-14", "2026-11-13"), ("2026-11-18", "2026-11-20")],
)
def test_a_weekday_to_come_counts_as_half_as_far(said: str, day: str) -> None:
    """On Monday the last Friday is two days over, the next one four days ahead."""
    (mention,) = mentions("Friday", at(said))
    assert f"{nearest(mention, at(said)).start:%F}" == day
