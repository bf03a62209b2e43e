"""The Chinese lunar calendar, 1950 to 2099, from ``data/lunar.txt``: feasts, and days such as 腊月二十."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from memscope.dates.calendar import ONE_DAY, Now, Period, Span, date_of, day_at

SHORT_MONTH = 29  # days; a long month has one more


class LunarYear(NamedTuple):
    first: datetime
    leap: int  # the month that comes twice, 0 for none
    lengths: tuple[int, ...]  # days of each month, with the leap month after its namesake
    qingming: int  # day of April

    def month(self, number: int) -> Span:
        """Return a month; if a leap month repeats it, the first of the two."""
        before = number - 1 + (0 < self.leap < number)
        start = self.first + sum(self.lengths[:before]) * ONE_DAY
        return Span(start, start + self.lengths[before] * ONE_DAY, "month")


def feast(month: int, day: int, away: int = 0) -> Period:
    """A day ``away`` days from a lunar day; days of the last lunar months may fall into the next calendar year."""

    def find(year: int) -> Span | None:
        spans = (_span(one, month, day) for one in (year, year - 1))
        days = (day_at(span.start + away * ONE_DAY) for span in spans if span)
        return next((span for span in days if span.start.year == year), None)

    return Period(find, "day", "year")


def lunar_day(now: Now, month: int, day: int) -> Period | None:
    """腊月二十, 农历八月十五."""
    return feast(month, day) if 1 <= month <= 12 and 1 <= day <= SHORT_MONTH + 1 else None


def lunar_month(now: Now, month: int) -> Period | None:
    """正月, 农历八月."""
    if not 1 <= month <= 12:
        return None

    def find(year: int) -> Span | None:
        spans = (lunar.month(month) for one in (year, year - 1) if (lunar := _years().get(one)))
        return next((span for span in spans if span.start.year == year), None)

    return Period(find, "month", "year")


def qingming() -> Period:
    def find(year: int) -> Span | None:
        lunar = _years().get(year)
        return date_of(year, 4, lunar.qingming) if lunar else None

    return Period(find, "day", "year")


def _span(year: int, month: int, day: int) -> Span | None:
    """Return a day of a lunar year; None if the month is shorter or the year is not known."""
    lunar = _years().get(year)
    if lunar is None:
        return None
    start = lunar.month(month).start + (day - 1) * ONE_DAY
    return day_at(start) if start < lunar.month(month).end else None


@cache
def _years() -> Mapping[int, LunarYear]:
    file = Path(__file__).parent / "data" / "lunar.txt"
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines() if line[:1].isdigit())
    return {int(year): _year(year, *rest) for year, *rest in lines}


def _year(year: str, first: str, leap: str, lengths: str, qingming: str) -> LunarYear:
    begin = datetime.fromisoformat(f"{year}-{first}")
    return LunarYear(begin, int(leap), tuple(SHORT_MONTH + int(long) for long in lengths), int(qingming))
