"""Row builders for the edges of a period: its start, middle and end, its rest, its last instant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memscope.dates.calendar import ONE_DAY, Grain, Now, Period, Span, fixed, later, once, place, then, unit_at
from memscope.dates.relative import day_from_today, stepped_unit

_SHARES_OF_SPAN: dict[Grain, dict[str, tuple[float, float]]] = {
    "year": {"start": (0, 4), "early": (0, 6), "mid": (3, 9), "late": (6, 12), "end": (8, 12)},
    "decade": {"start": (0, 3), "early": (0, 3), "mid": (4, 7), "late": (7, 10), "end": (7, 10)},
    "month": {"start": (0, 15), "early": (0, 15), "mid": (9, 20), "late": (15, 31), "end": (15, 31)},
    "week": {"start": (0, 3), "early": (0, 3), "mid": (2, 4), "late": (3, 7), "end": (3, 7)},
    "day": {"mid": (10, 14)},
}
_EDGE_UNITS: dict[Grain, str] = {"decade": "year", "year": "month", "month": "day", "week": "day", "day": "hour"}


def edge(now: Now, name: str, period: Period) -> Period | None:
    """The start, middle or end of a year (in months), a month, a week (in days) or a day (in hours)."""
    if period.grain == "day" and name == "end":
        return day_end(now, period)
    if name not in _SHARES_OF_SPAN.get(period.grain, {}):
        return None

    def change(span: Span) -> Span | None:
        bounds = _SHARES_OF_SPAN.get(span.grain, {}).get(name)
        if not bounds:
            return None
        unit, (first, last) = _EDGE_UNITS[span.grain], bounds
        return Span(later(span.start, first, unit), min(span.end, later(span.start, last, unit)), span.grain)

    return then(period, change, "hour" if period.grain == "day" else "week")


def middle_of_day(now: Now, name: str, period: Period) -> Period | None:
    return edge(now, name, period) if name == "mid" else None


def this(now: Now, unit: str) -> Period | None:
    """The week, as "the end of the week" names it."""
    return once(unit_at(now.today, unit))


def later_in(now: Now, step: int, unit: str) -> Period | None:
    """Later this year: its second half, from today on; later next year: its second half."""
    span = stepped_unit(now, step, unit)
    here = edge(now, "late", span) if span else None
    return then(here, lambda span: replace(span, start=max(span.start, now.today))) if here else None


def earlier_in(now: Now, step: int, unit: str) -> Period | None:
    """Earlier this year: up to today; earlier last year: its first half."""
    here = stepped_unit(now, step, unit)
    if step or not here:
        return edge(now, "early", here) if here else None
    return then(here, lambda span: replace(span, end=now.today) if span.start < now.today else None)


def limit(now: Now, name: str, period: Period) -> Period | None:
    """The end of 2008 as the end of a stretch: its last instant."""
    if name == "mid":
        return None
    return then(period, lambda span: Span(at := span.end if name == "end" else span.start, at, "second"), "second")


def day_end(now: Now, *values: Any) -> Period | None:
    period = next((item for item in values if isinstance(item, Period)), day_from_today(now, 0))
    if period.grain != "day":
        return None
    return then(period, lambda span: Span(span.end - ONE_DAY / 86400, span.end, "second"), "second")


def same_edge(now: Now, unit: str, period: Period, name: str) -> Period | None:
    """去年年底: the unit only repeats the period's."""
    return edge(now, name, period) if period.grain == unit else None


def rest_of(now: Now, *values: Any) -> Period | None:
    """The rest of the week, or of July: from today; of the day: from now."""
    here = values[0] if isinstance(values[0], Period) else None
    span = place(here, now) if here else unit_at(now.today, values[0])
    if span and span.grain == "day":
        return fixed(Span(now.local, span.end, "part")) if span.start == now.today else None
    return fixed(Span(now.today, span.end, "day", "range")) if span and span.start <= now.today < span.end else None
