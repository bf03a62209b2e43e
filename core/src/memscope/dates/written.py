"""Numbers in writing: 2023-05-08, 5/8/2023, 8:30, the 90s; and the clock."""

from __future__ import annotations

import re
from dataclasses import replace

from memscope.dates.calendar import DAY, Clock, Period, date_of, day_at, fixed, month_of, wall, week_of, year_of


def day(year: int, month: int, day_: int) -> Period | None:
    try:
        return fixed(date_of(year, month, day_))
    except (ValueError, OverflowError):  # no such day; the end of 9999-12-31 is no date
        return None


def short_year(year: int) -> int:
    """Two digits of a year: up to 39 in this century, from 40 on in the last."""
    return year if year > 99 else year + (2000 if year < 40 else 1900)


def digits(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


def year_month_day(text: str, east: bool = False) -> Period | None:
    year, month, day_ = digits(text)
    return day(year, month, day_) if year >= 1000 else None


def month_day_year(text: str, east: bool) -> Period | None:
    """5/8/2023 is May 8th: month first, unless that can only be a day. In Chinese text 12-11-10 is of 2012."""
    a, b, c = digits(text)
    if east and c < 100:
        return day(short_year(a), b, c)
    return day(short_year(c), a, b) or day(short_year(c), b, a)


def month_day(text: str, east: bool) -> tuple[int, int] | None:
    a, b = digits(text)
    month, day_ = (a, b) if a <= 12 else (b, a)
    return (month, day_) if 1 <= month <= 12 and 1 <= day_ <= 31 else None


def year_month(text: str, east: bool) -> Period | None:
    year, month = digits(text)
    if "/" in text and month == (year + 1) % 100 > 9:
        return None  # the season 2010/11
    return fixed(month_of(year, month))


def iso_week(text: str, east: bool) -> Period | None:
    """2016-W12, and the day of it in 2016-W12-3."""
    year, week, *days = digits(text)
    monday = week_of(wall(year, 1, 4)).start + (week - 1) * 7 * DAY
    if not 1 <= week <= 53:
        return None
    return fixed(day_at(monday + (days[0] - 1) * DAY) if days else week_of(monday))


def month_year(text: str, east: bool) -> Period | None:
    month, year = digits(text)
    return fixed(month_of(year, month)) if 1 <= month <= 12 else None


def military(text: str, east: bool) -> Clock | None:
    return clock(int(text[:2]), int(text[2:]))


def compact_date(text: str, east: bool) -> Period | None:
    return day(int(text[:4]), int(text[4:6]), int(text[6:8]))


def decade(text: str, east: bool) -> Period:
    (number,) = digits(text)
    if number > 99 and number % 100 == 0 and number < 1900:
        return fixed(year_of(number, 100, "century"))
    return fixed(year_of(number if number > 99 else number + (2000 if number < 30 else 1900), 10, "decade"))


def hour_minute(text: str, east: bool) -> Clock | None:
    """A leading zero means the morning: 03:30."""
    found = clock(*digits(re.split("[.+]", text)[0]))  # not the zone: a time is of the place where it is said
    return replace(found, sure=found.sure or text[0] == "0") if found else None


def clock(hour: int, minute: int | None = None, second: int | None = None) -> Clock | None:
    """A time of day; from 1 to 12 without am or pm it is not ``sure``."""
    if hour > 24 or (minute or 0) > 59 or (second or 0) > 59 or (hour == 24 and minute):
        return None
    start = hour * 3600 + (minute or 0) * 60 + (second or 0)
    sure = not 1 <= hour <= 12
    if second is not None:
        return Clock(start, start + 1, "second", sure)
    return Clock(start, start + 3600, "hour", sure) if minute is None else Clock(start, start + 60, "minute", sure)
