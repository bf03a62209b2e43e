"""Intervals as a model reads and writes them: "2024", "2024-05", "2024-05-07", or two of them joined by "/"."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from memscope.dates.calendar import later
from memscope.records import Interval

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::\d{2})?)?)?)?")


def written(interval: Interval) -> str:
    """Write an interval as its first and last day."""
    first, last = interval.start.date().isoformat(), (interval.end - timedelta(microseconds=1)).date().isoformat()
    return first if first == last else f"{first}/{last}"


def brief(interval: Interval) -> str:
    """Write an interval as a year or month if it is one, else as days."""
    first = interval.start.date().isoformat()
    short = (first[:length] for length in (4, 7))
    return next((text for text in short if parse(text, interval.start.tzinfo) == interval), written(interval))


def parse(text: str, zone: tzinfo | None) -> Interval | None:
    """Parse one or two dates as an interval that includes the last; None without a date. Times have minutes at most."""
    first, _, last = text.strip().partition("/")
    begin = _one(first.strip(), zone or UTC)
    end = _one(last.strip(), zone or UTC) if last.strip() else begin
    if begin is None or end is None or end.end <= begin.start:
        return None
    return Interval(begin.start, end.end)


def _one(text: str, zone: tzinfo) -> Interval | None:
    match = _DATE.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute = (int(part) if part else None for part in match.groups())
    try:
        start = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, tzinfo=zone)
        unit = "minute" if hour is not None else "day" if day else "month" if month else "year"
        return Interval(start, later(start, 1, unit))
    except (ValueError, OverflowError):
        return None
