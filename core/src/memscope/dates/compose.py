"""Row builders from periods: parts of them, periods a length away from them, and stretches between them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from memscope.dates.calendar import (
    DAYS,
    ONE_DAY,
    SECONDS,
    Clock,
    Length,
    Now,
    Period,
    Shape,
    Span,
    day_at,
    fixed,
    later,
    look,
    month_of,
    months_later,
    move,
    nth_unit,
    nth_weekday,
    number_of,
    once,
    place,
    then,
    unit_at,
    week_of,
    weekend_of,
    year_of,
)
from memscope.dates.clocks import in_part, o_clock, on_day, opened, sure
from memscope.dates.days import day_of_month
from memscope.dates.edges import edge
from memscope.dates.numbers import ordinal
from memscope.dates.relative import day_from_today, far

# -------------------------------------------------------------------------------------------------------------- inside


def within_period(now: Now, outer: Period, inner: Period) -> Period | None:
    """May of last year, the 5th of next month: the inner one recurs, the outer is one of its cycles."""
    span = look(outer, 0) if not outer.cycle else None
    if not span or span.shape != "point" or outer.grain != inner.cycle:
        return None
    return once(look(inner, number_of(inner.cycle, span.start)))


def anniversary(now: Now, outer: Period, inner: Period) -> Period | None:
    """去年今天, 上周今天, this month last year: today, or the month, in that year, month or week."""
    there, here = (None if period.cycle else look(period, 0) for period in (outer, inner))
    if not there or not here or "point" != there.shape:
        return None
    if there.grain == "week" and here.grain == "day":
        return fixed(day_at(there.start + here.start.weekday() * ONE_DAY))
    if (there.grain, here.grain) not in (("year", "day"), ("month", "day"), ("year", "month")):
        return None
    months = 12 * (there.start.year - here.start.year)
    months += there.start.month - here.start.month if there.grain == "month" else 0
    start = months_later(here.start, months)
    return fixed(day_at(start) if here.grain == "day" else month_of(start.year, start.month))


def same_time_in(now: Now, inner: Period, outer: Period) -> Period | None:
    """Today last year; the 5th last month."""
    return within_period(now, outer, inner) or anniversary(now, outer, inner)


def counted_from(now: Now, counted: Period, date: Period) -> Period | None:
    """A week ago yesterday, two years ago today."""
    start, day = look(counted, 0), None if date.cycle else look(date, 0)
    if not start or not day or start.shape != "point" or abs(day.start - now.today) > 2 * ONE_DAY:
        return None
    return fixed(day_at(start.start + (day.start - now.today)))


def nested(now: Now, first: Period, last: Period) -> Period | None:
    """August last year, 去年八月."""
    return within_period(now, first, last) or within_period(now, last, first) or anniversary(now, last, first)


def day_in(now: Now, number: int, period: Period) -> Period | None:
    """The 3rd of last month, the 1st of the year."""
    if period.grain == "year":
        return nth(now, number, "day", period)
    inner = day_of_month(now, number)
    return within_period(now, period, inner) if inner else None


def in_year(now: Now, *values: Any) -> Period | None:
    """A yearly period and the number of its year, in either order."""
    number, period = sorted(values, key=lambda item: isinstance(item, Period))
    return once(look(period, number)) if period.cycle == "year" else None


def nth(now: Now, number: int | str, unit: str, period: Period) -> Period | None:
    """The third week of May, the last (-1) quarter of 2016."""
    n = ordinal(number)
    return then(period, lambda span: nth_unit(n, unit, span), "day" if unit == "day" else "week") if n else None


def nth_half(now: Now, number: int | str, _: float, period: Period) -> Period | None:
    """The second half of 2020, of June."""
    if period.grain == "month":
        return edge(now, "early" if ordinal(number) == 1 else "late", period)
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
        first = nth_unit(1 if number > 0 else -int(amount), unit, span)
        last = nth_unit(int(amount) if number > 0 else -1, unit, span)
        return Span(first.start, last.end, last.grain) if first and last else None

    return then(period, change)


def weekday_in(now: Now, *values: Any) -> Period | None:
    """Tuesday of last week; beside a day ("Tuesday, May 5") the weekday adds nothing."""
    weekday, period = sorted(values, key=lambda item: isinstance(item, Period))
    if period.grain == "week":
        return then(period, lambda span: nth_weekday(1, weekday, span), "day")
    return period if period.grain == "day" else None


def weekday_of_counted(now: Now, *values: Any) -> Period | None:
    """Thursday, two years from now: the Thursday of that week. Weeks begin on Sunday here, as is usual in the US."""
    weekday, period = sorted(values, key=lambda item: isinstance(item, Period))
    if period.grain not in ("day", "week", "month", "year"):
        return None
    from_monday = ((weekday + 1) % 7 - 1) * ONE_DAY
    return then(period, lambda span: day_at(week_of(span.start + ONE_DAY).start + from_monday), "day")


def week_with(now: Now, period: Period) -> Period | None:
    """The week of, or starting on, February 4th."""
    return then(period, lambda span: week_of(span.start), "week") if period.grain == "day" else None


def weekend_with(now: Now, period: Period) -> Period | None:
    """The weekend of Thanksgiving: from the day to Sunday, or the weekend of that week."""

    def change(span: Span) -> Span:
        saturday, monday = weekend_of(span.start).start, week_of(span.start).end
        if span.start.weekday() == 0:  # a holiday on Monday makes a long weekend
            return Span(span.start - 2 * ONE_DAY, span.end, "weekend")
        return Span(min(span.start, saturday) if span.start.weekday() > 2 else saturday, monday, "weekend")

    return then(period, change, "weekend") if period.grain in ("day", "week") else None


def weekend_at(now: Now, period: Period, unit: str) -> Period | None:
    """Halloween weekend."""
    return weekend_with(now, period) if unit == "weekend" else None


def unit_with(now: Now, unit: str, *rest: Any) -> Period | None:
    """The week of May 5th, the week beginning May 5th."""
    change = {"week": week_with, "weekend": weekend_with}.get(unit)
    return change(now, rest[-1]) if change else None


def week_of_year(now: Now, unit: str, number: int, year: int = 0) -> Period | None:
    """Week 12 of 2020, or of this year."""
    return once(nth_unit(number, unit, year_of(year or now.local.year))) if unit == "week" and number > 0 else None


def same_day(now: Now, first: Period, last: Period) -> Period | None:
    """A day named twice, the more exact name counts: "tomorrow, 13/04/21"."""
    return (last if first.cycle or not last.cycle else first) if first.grain == last.grain == "day" else None


# ----------------------------------------------------------------------------------------------------------- away from


def away(now: Now, sign: int, length: Length, period: Period) -> Period | None:
    """3 weeks after (1) or before (-1) Christmas, 国庆节前三天."""
    counted = all(unit not in SECONDS for _, unit in length.parts)
    return then(period, lambda span: move(span, length, sign), "day") if counted else None


def week_after(now: Now, period: Period, unit: str) -> Period | None:
    """Friday week, a week today, tomorrow fortnight."""
    if unit not in ("week", "fortnight") or period.cycle not in ("", "week") or period.grain != "day":
        return None
    return then(coming(now, period), lambda span: day_at(span.start + DAYS[unit] * ONE_DAY))


def unit_beside(now: Now, sign: int, unit: str, period: Period) -> Period | None:
    """The day before (-1) Christmas, the week after (1) May 5th."""
    if unit == "day":
        return then(period, lambda span: unit_at(span.end if sign > 0 else span.start - ONE_DAY, unit))
    return then(period, lambda span: unit_at(later(span.start, sign, unit), unit))


def weekday_beside(now: Now, sign: int, weekday: int, period: Period) -> Period | None:
    """The Friday after (1) or before (-1) Thanksgiving."""

    def change(span: Span) -> Span:
        return day_at(span.start + ((sign * (weekday - span.start.weekday()) - 1) % 7 + 1) * sign * ONE_DAY)

    return then(period, change) if period.grain == "day" else None


def more_than(now: Now, than: int, period: Period) -> Period | None:
    """More than 2 weeks ago: before that day; less than: since that day."""
    span = look(period, 0)
    if not span:
        return None
    past = span.start < (now.local if period.grain in SECONDS else now.today)
    return open_to(now, "before" if past == (than > 0) else "since", period)


def for_length(now: Now, *values: Any) -> Period | None:
    """Read "for 3 days from today", "from today for 3 days"."""
    period = coming(now, next(item for item in values if isinstance(item, Period)))
    length = next(item for item in values if isinstance(item, Length))
    return then(period, lambda span: Span(span.start, far(span.start, length, 1), "day"))


def moment_at(now: Now, period: Period, item: Any) -> Period | None:
    """Tonight at 7, this evening from 7 to 8: a part of a named day and a time in it."""
    time = o_clock(now, item)
    span = look(period, 0) if not period.cycle else None
    if not time or not span or span.grain != "part":
        return None
    start = span.start.hour * 3600
    part = Clock(start, start + int((span.end - span.start).total_seconds()), "part")
    return once(on_day(span, in_part(now, time, part) or time))


# ----------------------------------------------------------------------------------------------------------- stretches


def between(now: Now, first: Any, last: Any) -> Period | None:
    """From May to July: to the end of July. A year named at only one end holds for both."""
    a, b = (day_from_today(now, 0) if item == "now" else item for item in (first, last))
    if a.cycle and a.cycle == b.cycle:
        return Period(lambda n: _stretch(a.find(n), _next(b, n, a.find(n))), b.grain, a.cycle)
    if a.cycle and not b.cycle:
        end = look(b, 0) or (b.find(0) if b.grain else None)
        start = _latest(a, end) if end else None
    else:
        start = look(a, 0)
        end = _next(b, number_of(b.cycle, start.start), start) if b.cycle and start else b.find(0)
    return once(_stretch(start, end))


def _latest(period: Period, end: Span) -> Span | None:
    n = number_of(period.cycle, end.start)
    return next((span for step in range(3) if (span := look(period, n - step)) and span.start < end.end), None)


def _next(period: Period, n: int, start: Span | None) -> Span | None:
    """Return the first of ``period`` from its n-th on that does not end before ``start`` begins."""
    if not start:
        return None
    return next((span for step in range(3) if (span := period.find(n + step)) and span.end > start.start), None)


def _stretch(start: Span | None, end: Span | None) -> Span | None:
    """From the start of the first to the end of the last, or to its start if that is a time of day."""
    if not start or not end:
        return None
    timed = end.grain in SECONDS
    last = end.start if timed else end.end
    grain = "hour" if timed or end.start == end.end else end.grain  # its end is an instant, not a unit
    return Span(start.start, last, grain, "range") if start.start < last else None


def now_to_time(now: Now, _: str, time: Clock) -> Period | None:
    """Between now and eight o'clock: the next eight o'clock of today."""
    for each in [time] if time.sure else [sure(time, half) for half in (False, True)]:
        end = now.today + timedelta(seconds=each.start)
        if end > now.local:
            return fixed(Span(now.local, end, "hour", "range"))
    return None


def open_to(now: Now, shape: Shape, period: Period) -> Period | None:
    """Since, after, before or until (that is, not after) a period."""
    begun = shape in ("since", "after") and period.cycle in ("week", "day") and not period.coming
    span = place(period, now) if begun else None
    return then(fixed(span) if span else period, lambda each: opened(each, shape))


def due(now: Now, period: Period) -> Period:
    """Before May 5: the next one if the sentence states a duty."""
    return to_come(now, period) if now.due else period


def to_come(now: Now, period: Period) -> Period:
    """By March 31: the next one, unless the clause is in the past tense."""
    return replace(period, coming=True)


def coming(now: Now, period: Period) -> Period:
    """The next one of a recurring period, unless the sentence is in the past tense."""
    span = place(period, replace(now, future=not now.past)) if period.cycle else None
    return fixed(span) if span else period
