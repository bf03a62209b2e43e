"""The Chinese lunar calendar, 1950 to 2099, from ``data/lunar.txt``: feasts, and days such as 腊月二十."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from memscope.dates.calendar import ONE_DAY, Grain, Now, Period, Span, date_of, day_at

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
    """A day ``away`` days from a lunar day, in the years whose month is long enough."""

    def find(lunar: LunarYear) -> Span | None:
        whole, start = lunar.month(month), lunar.month(month).start + (day - 1) * ONE_DAY
        return day_at(start + away * ONE_DAY) if start < whole.end else None

    return _yearly(find, "day")


def lunar_day(now: Now, month: int, day: int) -> Period | None:
    """腊月二十, 农历八月十五."""
    return feast(month, day) if 1 <= month <= 12 and 1 <= day <= SHORT_MONTH + 1 else None


def lunar_month(now: Now, month: int) -> Period | None:
    """正月, 农历八月."""
    return _yearly(lambda lunar: lunar.month(month), "month") if 1 <= month <= 12 else None


def qingming() -> Period:
    return _yearly(lambda lunar: date_of(lunar.first.year, 4, lunar.qingming), "day")


def _yearly(find: Callable[[LunarYear], Span | None], grain: Grain) -> Period:
    """A period by calendar year; the last months of a lunar year may fall into the next one."""

    def of_calendar_year(year: int) -> Span | None:
        spans = (find(lunar) for one in (year, year - 1) if (lunar := years().get(one)))
        return next((span for span in spans if span and span.start.year == year), None)

    return Period(of_calendar_year, grain, "year")


@cache
def years() -> Mapping[int, LunarYear]:
    file = Path(__file__).parent / "data" / "lunar.txt"
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines() if line[:1].isdigit())
    return {int(year): _year(year, *rest) for year, *rest in lines}


def _year(year: str, first: str, leap: str, lengths: str, qingming: str) -> LunarYear:
    begin = datetime.fromisoformat(f"{year}-{first}")
    return LunarYear(begin, int(leap), tuple(SHORT_MONTH + int(long) for long in lengths), int(qingming))
