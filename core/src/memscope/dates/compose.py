"""What a row builds out of periods: parts of them, periods a length away from them, and stretches between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memscope.dates.calendar import (
    DAY,
    SECONDS,
    Clock,
    Grain,
    Length,
    Now,
    Period,
    Shape,
    Span,
    day_at,
    fixed,
    later,
    look,
    months_later,
    move,
    nth_unit,
    nth_weekday,
    number_of,
    place,
    then,
    unit_at,
    week_of,
    weekend_of,
    year_of,
)
from memscope.dates.clocks import clock_or_hour, in_part, on_day, opened, time_range
from memscope.dates.days import day_of_month, month
from memscope.dates.numbers import ordinal
from memscope.dates.relative import day_from_today, far, stepped_unit

# -------------------------------------------------------------------------------------------------------------- inside


def within_period(now: Now, outer: Period, inner: Period) -> Period | None:
    """May of last year, the 5th of next month: the inner one comes back, the outer is one of its cycles."""
    span = look(outer, 0) if not outer.cycle else None
    if not span or span.shape != "point" or outer.grain != inner.cycle:
        return None
    found = look(inner, number_of(inner.cycle, span.start))
    return fixed(found) if found else None


def period_within(now: Now, inner: Period, outer: Period) -> Period | None:
    return within_period(now, outer, inner)


def anniversary(now: Now, outer: Period, inner: Period) -> Period | None:
    """去年今天: today, in that year."""
    year, day = (None if period.cycle else look(period, 0) for period in (outer, inner))
    if not year or not day or year.grain != "year" or day.grain != "day":
        return None
    return fixed(day_at(months_later(day.start, 12 * (year.start.year - day.start.year))))


def nested(now: Now, first: Period, last: Period) -> Period | None:
    """August last year, 去年八月."""
    return within_period(now, first, last) or within_period(now, last, first)


def day_in(now: Now, number: int, period: Period) -> Period | None:
    """The 3rd of last month."""
    inner = day_of_month(now, number)
    return within_period(now, period, inner) if inner else None


def in_year(now: Now, *values: Any) -> Period | None:
    """A yearly period and the number of its year, in either order."""
    number, period = sorted(values, key=lambda item: isinstance(item, Period))
    found = look(period, number) if period.cycle == "year" else None
    return fixed(found) if found else None


def nth(now: Now, number: int | str, unit: str, period: Period) -> Period | None:
    """The third week of May, the last (-1) quarter of 2016."""
    n = ordinal(number)
    return then(period, lambda span: nth_unit(n, unit, span), "day" if unit == "day" else "week") if n else None


def nth_half(now: Now, number: int | str, _: float, period: Period) -> Period | None:
    """The second half of 2020."""
    return nth(now, number, "half", period) if period.grain == "year" else None


def nth_day(now: Now, number: int | str, weekday: int, period: Period) -> Period | None:
    n = ordinal(number)
    return then(period, lambda span: nth_weekday(n, weekday, span), "day") if n else None


def nth_units(now: Now, which: int | str, length: Length, period: Period) -> Period | None:
    """The last 3 weeks of the year, the first 10 days of May."""
    number = ordinal(which)
    (amount, unit) = length.parts[0]
    if len(length.parts) > 1 or amount != int(amount) or number not in (1, -1):
        return None

    def change(span: Span) -> Span | None:
        first, last = (
            nth_unit(1 if number > 0 else -int(amount), unit, span),
            nth_unit(int(amount) if number > 0 else -1, unit, span),
        )
        return Span(first.start, last.end, last.grain) if first and last else None

    return then(period, change)


def nth_of(now: Now, period: Period, number: int, unit: str) -> Period | None:
    return nth(now, number, unit, period)


def first_units(now: Now, period: Period, length: Length) -> Period | None:
    """去年的前10天."""
    return nth_units(now, 1, length, period)


def nth_day_of(now: Now, period: Period, number: int, weekday: int) -> Period | None:
    return nth_day(now, number, weekday, period)


def nth_units_of(now: Now, period: Period, number: int, length: Length) -> Period | None:
    return nth_units(now, number, length, period)


def weekday_in(now: Now, *values: Any) -> Period | None:
    """Tuesday of last week; beside a day the weekday says nothing new, unless the day was counted."""
    weekday, period = sorted(values, key=lambda item: isinstance(item, Period))
    if period.grain == "week":
        return then(period, lambda span: nth_weekday(1, weekday, span), "day")
    return period if period.grain == "day" else None


def weekday_of_counted(now: Now, *values: Any) -> Period | None:
    """Thursday, two years from now: the Thursday of that week. Weeks begin on Sunday here, as where this is said."""
    weekday, period = sorted(values, key=lambda item: isinstance(item, Period))
    if period.grain not in ("day", "week", "month", "year"):
        return None
    return then(period, lambda span: day_at(week_of(span.start + DAY).start + ((weekday + 1) % 7 - 1) * DAY), "day")


def week_with(now: Now, period: Period) -> Period | None:
    """The week of, or starting on, February 4th."""
    return then(period, lambda span: week_of(span.start), "week") if period.grain == "day" else None


def weekend_with(now: Now, period: Period) -> Period | None:
    """The weekend of Thanksgiving: from the day to Sunday, or the weekend of that week."""

    def change(span: Span) -> Span:
        saturday, monday = weekend_of(span.start).start, week_of(span.start).end
        if span.start.weekday() == 0:  # a long one
            return Span(span.start - 2 * DAY, span.end, "weekend")
        return Span(min(span.start, saturday) if span.start.weekday() > 2 else saturday, monday, "weekend")

    return then(period, change, "weekend") if period.grain in ("day", "week") else None


def weekend_at(now: Now, period: Period, unit: str) -> Period | None:
    """Halloween weekend."""
    return weekend_with(now, period) if unit == "weekend" else None


def unit_with(now: Now, unit: str, *rest: Any) -> Period | None:
    """The week of May 5th, the week beginning May 5th."""
    change = {"week": week_with, "weekend": weekend_with}.get(unit)
    return change(now, rest[-1]) if change else None


_EDGES: dict[Grain, dict[str, tuple[float, float]]] = {
    "year": {"start": (0, 4), "early": (0, 6), "mid": (3, 9), "late": (6, 12), "end": (8, 12)},
    "decade": {"start": (0, 3), "early": (0, 3), "mid": (4, 7), "late": (7, 10), "end": (7, 10)},
    "month": {"start": (0, 15), "early": (0, 15), "mid": (9, 20), "late": (15, 31), "end": (15, 31)},
    "week": {"start": (0, 3), "early": (0, 3), "mid": (2, 4), "late": (3, 7), "end": (3, 7)},
    "day": {"mid": (10, 14)},
}
_EDGE_UNITS: dict[Grain, str] = {"decade": "year", "year": "month", "month": "day", "week": "day", "day": "hour"}


def edge(now: Now, name: str, period: Period) -> Period | None:
    """The start, middle or end of a year (in months), a month, a week (in days) or a day (in hours)."""
    bounds = _EDGES.get(period.grain, {}).get(name)
    if period.grain == "day" and name == "end":
        return day_end(now, period)
    if not bounds:
        return None

    def change(span: Span) -> Span:
        unit, (first, last) = _EDGE_UNITS[span.grain], bounds
        return Span(later(span.start, first, unit), min(span.end, later(span.start, last, unit)), span.grain)

    return then(period, change, "hour" if period.grain == "day" else "week")


def middle_of_day(now: Now, name: str, period: Period) -> Period | None:
    return edge(now, name, period) if name == "mid" else None


def period_edge(now: Now, period: Period, name: str) -> Period | None:
    return edge(now, name, period)


def edge_unit(now: Now, name: str, unit: str) -> Period | None:
    """The end of the month: of this one."""
    here = unit_at(now.today, unit)
    return edge(now, name, fixed(here)) if here else None


def later_in(now: Now, step: int, unit: str) -> Period | None:
    """Later this year: its second half, from today on."""
    here = edge_unit(now, "late", unit) if not step else None
    return then(here, lambda span: replace(span, start=max(span.start, now.today))) if here else None


def earlier_in(now: Now, step: int, unit: str) -> Period | None:
    """Earlier this year: up to today; earlier last year: its first half."""
    here = stepped_unit(now, step, unit)
    if step or not here:
        return edge(now, "early", here) if here else None
    return then(here, lambda span: replace(span, end=now.today) if span.start < now.today else None)


def limit(now: Now, name: str, period: Period) -> Period | None:
    """The end of 2008 where a stretch ends: the very instant."""
    if name == "mid":
        return None
    return then(period, lambda span: Span(at := span.end if name == "end" else span.start, at, span.grain))


def day_end(now: Now, *values: Any) -> Period | None:
    period = next((item for item in values if isinstance(item, Period)), day_from_today(now, 0))
    return (
        then(period, lambda span: Span(span.end - DAY / 86400, span.end, "second"), "second")
        if period.grain == "day"
        else None
    )


def month_edge(now: Now, number: int, value: tuple[str, str]) -> Period | None:
    """5月初."""
    found = month(now, number)
    return period_unit_edge(now, found, value) if found else None


def stepped_edge(now: Now, step: int, value: tuple[str, str]) -> Period | None:
    """上个月底."""
    found = stepped_unit(now, step, value[1])
    return edge(now, value[0], found) if found else None


def week_of_year(now: Now, unit: str, number: int, year: int) -> Period | None:
    """Week 12 of 2020."""
    span = nth_unit(number, unit, year_of(year)) if unit == "week" and number > 0 else None
    return fixed(span) if span else None


def period_unit_edge(now: Now, period: Period, value: tuple[str, str]) -> Period | None:
    """去年年底; the unit says again what the period is."""
    return edge(now, value[0], period) if period.grain == value[1] else None


def unit_edge(now: Now, value: tuple[str, str]) -> Period | None:
    return edge_unit(now, *value)


def rest_of(now: Now, *values: Any) -> Period | None:
    """The rest of the week, or of July: from today."""
    here = values[0] if isinstance(values[0], Period) else None
    span = place(here, now) if here else unit_at(now.today, values[0])
    return fixed(Span(now.today, span.end, "day", "range")) if span and span.start <= now.today < span.end else None


def same_day(now: Now, first: Period, last: Period) -> Period | None:
    """A day named twice: "tomorrow, 13/04/21" is what the more exact one says."""
    return (last if first.cycle or not last.cycle else first) if first.grain == last.grain == "day" else None


# ----------------------------------------------------------------------------------------------------------- away from


def after(now: Now, length: Length, period: Period) -> Period | None:
    """3 weeks after Christmas."""
    return away(length, period, 1)


def before(now: Now, length: Length, period: Period) -> Period | None:
    return away(length, period, -1)


def unit_before(now: Now, unit: str, period: Period) -> Period | None:
    """The day before Christmas, the week before May 5th."""
    return then(period, lambda span: unit_at(span.start - DAY if unit == "day" else later(span.start, -1, unit), unit))


def unit_after(now: Now, unit: str, period: Period) -> Period | None:
    return then(period, lambda span: unit_at(span.end if unit == "day" else later(span.start, 1, unit), unit))


def away(length: Length, period: Period, sign: int) -> Period | None:
    counted = all(unit not in SECONDS for _, unit in length.parts)
    return then(period, lambda span: move(span, length, sign), "day") if counted else None


def length_from(now: Now, count: int, unit: str, *rest: Any) -> Period | None:
    """A week starting tomorrow."""
    return for_length(now, Length(((count, unit),)), rest[-1])


def more_than(now: Now, than: int, period: Period) -> Period | None:
    """More than 2 weeks ago: before that day; less than: since that day."""
    span = look(period, 0)
    if not span:
        return None
    past = span.start < now.today
    shape: Shape = ("before" if past else "since") if than > 0 else ("since" if past else "before")
    return open_to(shape)(now, period)


def for_length(now: Now, *values: Any) -> Period | None:
    """For 3 days from today, from today for 3 days."""
    period = next(item for item in values if isinstance(item, Period))
    length = next(item for item in values if isinstance(item, Length))
    return then(period, lambda span: Span(span.start, far(span.start, length, 1), "day"))


def moment_at(now: Now, period: Period, item: Any) -> Period | None:
    """Tonight at 7, this evening from 7 to 8: a part of a named day and a time in it."""
    time = clock_or_hour(item)
    span = look(period, 0) if not period.cycle else None
    if not time or not span or span.grain != "part":
        return None
    start = span.start.hour * 3600
    part = Clock(start, start + int((span.end - span.start).total_seconds()), "part")
    found = on_day(span, in_part(now, part, time) or time)
    return fixed(found) if found else None


def moment_range(now: Now, period: Period, first: int, last: int) -> Period | None:
    time = time_range(now, first, last)
    return moment_at(now, period, time) if time else None


def at_moment(now: Now, item: Any, period: Period) -> Period | None:
    return moment_at(now, period, item)


def open_to(shape: Shape) -> Callable[..., Period | None]:
    """Since, after, before or until (that is, not after) a period."""

    def build(now: Now, period: Period) -> Period | None:
        span = place(period, now) if period.cycle in ("week", "day") else None
        return then(fixed(span) if span else period, lambda each: opened(each, shape))

    return build
