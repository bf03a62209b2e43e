"""Intervals as a model writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.dates.iso import brief, parse, written
from memscope.records import Interval


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("2024", (2024, 1, 1), (2025, 1, 1)),
        ("2024/", (2024, 1, 1), (2025, 1, 1)),
        ("2024-12", (2024, 12, 1), (2025, 1, 1)),
        ("2024-2-29", (2024, 2, 29), (2024, 3, 1)),
        ("2024-05-07 09:30", (2024, 5, 7, 9, 30), (2024, 5, 7, 9, 31)),
        ("2024-05/2024-07", (2024, 5, 1), (2024, 8, 1)),
        (" 2024-05-07 / 2024-05-09 ", (2024, 5, 7), (2024, 5, 10)),
    ],
)
def test_a_date_is_as_long_as_its_last_part(text, first, end):
    assert parse(text, None) == Interval(datetime(*first, tzinfo=UTC), datetime(*end, tzinfo=UTC))


@pytest.mark.parametrize("text", ["", "May", "2024-13", "2023-02-29", "2024-05-07/2024-05-01", "24-05-07"])
def test_what_names_no_date_is_none(text):
    assert parse(text, UTC) is None


@given(st.dates(date(1000, 1, 1), date(9000, 1, 1)), st.integers(1, 900))
def test_what_is_written_is_read_again(day, days):
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    interval = Interval(start, start + timedelta(days=days))
    assert parse(written(interval), UTC) == parse(brief(interval), UTC) == interval
