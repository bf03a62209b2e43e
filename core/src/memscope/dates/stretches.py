"""Row builders for stretches: from one period to another, to now, or open on one side."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from memscope.dates.calendar import (
    SECONDS,
    Clock,
    Now,
    Period,
    Shape,
    Span,
    fixed,
    look,
    number_of,
    place,
    then,
)
from memscope.dates.clocks import opened, sure
from memscope.dates.relative import day_from_today


def between(now: Now, first: Any, last: Any) -> Period | None:
    """From May to July: to the end of July. A year that only one end names is the other's, too."""
    a, b = (day_from_today(now, 0) if item == "now" else item for item in (first, last))
    if a.cycle and a.cycle == b.cycle:
        return Period(lambda n: _stretch(a.find(n), _next(b, n, a.find(n))), b.grain, a.cycle)
    if a.cycle and not b.cycle:
        end = look(b, 0) or (b.find(0) if b.grain else None)
        start = _latest(a, end) if end else None
    else:
        start = look(a, 0)
        end = _next(b, number_of(b.cycle, start.start), start) if b.cycle and start else b.find(0)
    found = _stretch(start, end)
    return fixed(found) if found else None


def _latest(period: Period, end: Span) -> Span | None:
    n = number_of(period.cycle, end.start)
    return next((span for step in range(3) if (span := look(period, n - step)) and span.start < end.end), None)


def _next(period: Period, n: int, start: Span | None) -> Span | None:
    """Returns the first of ``period`` from its n-th on that does not end before ``start`` begins."""
    if not start:
        return None
    return next((span for step in range(3) if (span := period.find(n + step)) and span.end > start.start), None)


def _stretch(start: Span | None, end: Span | None) -> Span | None:
    """From the beginning of the first to the end of the last; a time of day ends it at its beginning."""
    if not start or not end:
        return None
    timed = end.grain in SECONDS
    last = end.start if timed else end.end
    grain = "hour" if timed or end.start == end.end else end.grain  # an instant ends it, not a unit
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
    span = place(period, now) if period.cycle in ("week", "day") else None
    return then(fixed(span) if span else period, lambda each: opened(each, shape))


def coming(now: Now, period: Period) -> Period:
    """The next one of a recurring period, unless the sentence tells of the past."""
    span = place(period, replace(now, future=not now.past)) if period.cycle else None
    return fixed(span) if span else period
