"""Row builders for days, months and years of the calendar, with and without a year."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memscope.dates.calendar import (
    ONE_DAY,
    Grain,
    Now,
    Period,
    Span,
    date_of,
    day_at,
    easter,
    fixed,
    look,
    month_of,
    nth_weekday,
    number_of,
    start_of,
    then,
    wall,
    year_of,
)
from memscope.dates.figure_readers import short_year
from memscope.dates.numbers import ordinal

TROPICAL_REST = 0.2422  # of a day, by which the sun's year is longer than 365 days
_SPOKEN_FEASTS = {51: (5, 1), 61: (6, 1), 11: (10, 1)}


def yearly(find: Callable[[int], Span | None], grain: Grain) -> Period:
    return Period(find, grain, "year")


def month(now: Now, number: int) -> Period | None:
    return yearly(lambda year: month_of(year, number), "month") if 1 <= number <= 12 else None


def name_of_person(now: Now, number: int) -> bool | None:
    """Without a preposition, April, June and August may be a person: "My friend April called"."""
    return True if number in (4, 6, 8) else None


def feast(month_number: int, day: int) -> Period:
    return yearly(lambda year: date_of(year, month_number, day), "day")


def solar_term(month: int, base: float) -> Period:
    """冬至: the day on which the sun reaches a point of its yearly path, by the usual formula for 2000 to 2099 (after
    February).
    """

    def day(year: int) -> Span | None:
        since = year - 2000
        return date_of(year, month, int(since * TROPICAL_REST + base) - since // 4) if 0 <= since < 100 else None

    return yearly(day, "day")


def moving_feast(month_number: int, weekday: int, number: int, days: int = 0) -> Period:
    """A feast some days after the n-th (the last: -1) weekday of a month."""

    def find(year: int) -> Span | None:
        span = nth_weekday(number, weekday, month_of(year, month_number))
        return day_at(span.start + days * ONE_DAY) if span else None

    return yearly(find, "day")


def easter_feast(away: int) -> Period:
    return yearly(lambda year: day_at(easter(year).start + away * ONE_DAY), "day")


def season(now: Now, first_month: int) -> Period:
    """The meteorological season of the northern hemisphere; a winter belongs to the year it begins in."""
    return yearly(lambda year: month_of(year, first_month, 3, "season"), "season")


def season_over(now: Now, first_month: int, year: int, last: int) -> Period | None:
    """The winter of 2019-20."""
    winter = season(now, first_month).find(year)
    return fixed(winter) if winter and first_month == 12 and last in (year + 1, (year + 1) % 100) else None


def quarter(now: Now, which: int | str, *_: str) -> Period | None:
    number = ordinal(which)
    return yearly(lambda year: month_of(year, number * 3 - 2, 3, "quarter"), "quarter") if 1 <= number <= 4 else None


def half_year(now: Now, number: int) -> Period:
    return yearly(lambda year: month_of(year, number * 6 - 5, 6, "season"), "season")


def bare_days(now: Now, first: int, last: int) -> Period | None:
    """20到22日, between the 20th and the 22nd."""
    return Period(lambda n: _days(n // 12, n % 12 + 1, first, last), "day", "month") if first < last <= 31 else None


def month_day(now: Now, month_number: int, day: int | str) -> Period | None:
    number = ordinal(day)
    wall(2000, month_number, number)  # raises where there is no such day in any year
    return yearly(lambda year: date_of(year, month_number, number), "day")


def month_and_day(now: Now, both: tuple[int, int]) -> Period | None:
    """5/8."""
    return month_day(now, *both)


def full_date(now: Now, month_number: int, day: int | str, year: int) -> Period:
    return fixed(date_of(year, month_number, ordinal(day)))


def day_first_short(now: Now, day: int | str, month_number: int, year: int) -> Period | None:
    """5 Sep 16; a single digit is not a year."""
    return full_date(now, month_number, day, short_year(year)) if 10 <= year <= 99 else None


def month_of_year(now: Now, month_number: int, year: int) -> Period:
    return fixed(month_of(year, month_number))


def day_range(now: Now, month_number: int, first: int | str, last: int | str) -> Period | None:
    a, b = ordinal(first), ordinal(last)
    wall(2000, month_number, b)
    return yearly(lambda year: _days(year, month_number, a, b), "day") if a < b else None


def months(now: Now, first: int, last: int) -> Period | None:
    """5到7月."""
    if not 1 <= first < last <= 12:
        return None
    return yearly(lambda year: replace(month_of(year, first, last - first + 1), shape="range"), "month")


def spoken_feast(now: Now, number: int) -> Period | None:
    """五一, 六一, 十一, beside a year."""
    return feast(*_SPOKEN_FEASTS[number]) if number in _SPOKEN_FEASTS else None


def first_quarters(now: Now, count: int, _: str) -> Period | None:
    """前三季度."""
    return yearly(lambda year: month_of(year, 1, 3 * count, "quarter"), "quarter") if 2 <= count <= 3 else None


def days_in(now: Now, first: int, last: int, period: Period) -> Period | None:
    """Between 4 and 22 this month."""
    span = look(period, 0) if not period.cycle and period.grain == "month" else None
    return fixed(_days(span.start.year, span.start.month, first, last)) if span and first < last else None


def _days(year: int, month_number: int, first: int, last: int) -> Span:
    return Span(wall(year, month_number, first), wall(year, month_number, last) + ONE_DAY, "day", "range")


def day_of_month(now: Now, day: int | str) -> Period | None:
    """The 18th, of any month that has one."""
    number = ordinal(day)
    return Period(lambda n: date_of(n // 12, n % 12 + 1, number), "day", "month") if 1 <= number <= 31 else None


def day_to_come(now: Now, day: int) -> Period | None:
    """I'll go on 15."""
    return day_of_month(now, day) if now.future else None


def weekday_and_day(now: Now, weekday: int, day: int | str) -> Period | None:
    """Friday the 13th; the one of this month when there is one."""
    date = day_of_month(now, day)
    if not date:
        return None
    matching = then(date, lambda span: span if span.start.weekday() == weekday else None)
    here = look(matching, number_of("month", now.local))
    return fixed(here) if here else matching


def weekday(now: Now, number: int) -> Period:
    return Period(lambda n: day_at(start_of("week", n) + number * ONE_DAY), "day", "week")


def year(now: Now, number: int) -> Period | None:
    return fixed(year_of(number)) if 1000 <= number <= 2999 else None


def decade(now: Now, first: int) -> Period:
    return fixed(year_of(first, 10, "decade"))


def spelled_century(now: Now, number: int, _: str) -> Period | None:
    """21世纪; 2世纪 is more likely a length."""
    return century(now, number) if number > 10 else None


def century(now: Now, number: int | str, *_: str) -> Period:
    return fixed(year_of(max(1, ordinal(number) * 100 - 100), 100, "century"))


def named_year(now: Now, unit: str, number: int) -> Period | None:
    """The year 2008."""
    return year(now, number) if unit == "year" else None
