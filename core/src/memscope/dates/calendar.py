"""Periods of the calendar: the value of a time expression before it is placed.

A ``Span`` is a stretch of local time. A ``Period`` is a span that may recur: ``find(n)`` gives it in the n-th year
(month, week, day) of its ``cycle``; without a cycle it happens once. So "May" is a period with the cycle "year",
"Friday" one with the cycle "week", "yesterday" one without, and every period derived from another ("the last week of
May", "Friday at 5") keeps its cycle through ``then``.

Local times are naive here; a mention gets the time zone of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

Grain = Literal["second", "minute", "hour", "part", "day", "weekend", "week", "month", "quarter", "season", "year",
                "decade", "century"]  # fmt: skip
Shape = Literal["point", "range", "since", "after", "before", "until"]
Cycle = Literal["", "day", "week", "month", "year"]


def wall(year: int, month: int, day: int) -> datetime:
    """Return the midnight of a day as a naive local time."""
    return datetime(year, month, day)  # noqa: DTZ001


FIRST_DAY, LAST_DAY = wall(1, 1, 2), wall(9999, 12, 30)  # a day of margin for any time zone
ONE_DAY = timedelta(days=1)
SECONDS = {"second": 1, "minute": 60, "hour": 3600}
DAYS = {"day": 1, "week": 7, "weekend": 7, "workweek": 7, "fortnight": 14}
MONTHS_PER_UNIT = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120, "century": 1200}
_MAX_CYCLES = 48  # cycles searched for a period that not every cycle has (29 February, Friday the 13th)


@dataclass(frozen=True, slots=True)
class Now:
    """The reference time, and the tense of the sentence or clause, if any; ``due``: it states a duty."""

    when: datetime
    future: bool = False
    past: bool = False
    due: bool = False

    @property
    def local(self) -> datetime:
        return self.when.replace(tzinfo=None, fold=0)

    @property
    def today(self) -> datetime:
        return midnight(self.local)


@dataclass(frozen=True, slots=True)
class Span:
    start: datetime
    end: datetime
    grain: Grain
    shape: Shape = "point"


@dataclass(frozen=True, slots=True)
class Period:
    """A span that may recur.

    ``other``: the second reading of ambiguous words, such as "last Friday" said on a Sunday. ``coming``: the next one
    is meant, unless the clause is in the past tense. ``counted``: counts it from another time, which the sentence may
    name before it ("the talk is on Friday, dinner a day later"); ``relative``: without one, it names no time.
    """

    find: Callable[[int], Span | None]
    grain: Grain
    cycle: Cycle = ""
    other: Period | None = None
    coming: bool = False
    counted: Callable[[Now], Period | None] | None = None
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day, in seconds. ``sure``: am or pm is known; ``grain``: "part" for a morning or a night."""

    start: int
    end: int
    grain: Grain
    sure: bool = True
    shape: Shape = "point"


@dataclass(frozen=True, slots=True)
class Length:
    """A duration: whole or half amounts with their units, such as (1.5, "hour")."""

    parts: tuple[tuple[float, str], ...]


# ------------------------------------------------------------------------------------------------------------- placing


def fixed(span: Span) -> Period:
    return Period(lambda _: span, span.grain)


def once(span: Span | None) -> Period | None:
    return fixed(span) if span else None


def then(period: Period, change: Callable[[Span], Span | None], grain: Grain | None = None) -> Period:
    """Map each span of a period to another one."""

    def find(n: int) -> Span | None:
        span = period.find(n)
        return change(span) if span else None

    def counted(named: Now) -> Period | None:
        from_named = period.counted(named) if period.counted else None
        return then(from_named, change, grain) if from_named else None

    other = then(period.other, change, grain) if period.other else None
    return replace(
        period, find=find, grain=grain or period.grain, other=other, counted=counted if period.counted else None
    )


def number_of(cycle: Cycle, when: datetime) -> int:
    """Return the number of the year, month, week or day that ``when`` is in."""
    if cycle == "year":
        return when.year
    if cycle == "month":
        return when.year * 12 + when.month - 1
    return (when.toordinal() - 1) // 7 if cycle == "week" else when.toordinal()


def start_of(cycle: Cycle, n: int) -> datetime:
    """Return the start of the n-th year, month, week or day, as ``number_of`` counts them."""
    if cycle == "year":
        return wall(n, 1, 1)
    if cycle == "month":
        return wall(n // 12, n % 12 + 1, 1)
    return datetime.fromordinal(n * 7 + 1 if cycle == "week" else n)


def look(period: Period, n: int) -> Span | None:
    """Return ``find``'s span, None for a date that does not exist or lies outside the calendar."""
    try:
        span = period.find(n)
    except (ValueError, OverflowError):
        return None
    return span if span and FIRST_DAY <= span.start < span.end <= LAST_DAY else None


def place(period: Period, now: Now) -> Span | None:
    """Choose the last span that has begun or, with a future tense, the next one that is not over."""
    if not period.cycle:
        return look(period, 0)
    n = number_of(period.cycle, now.local)
    future = now.future or (period.coming and not now.past)
    for step in range(-1 if future else 1, _MAX_CYCLES):
        span = look(period, n + step if future else n - step + 1)
        if span and (not is_over(span, now) if future else has_begun(span, now)):
            return span
    return None


def has_begun(span: Span, now: Now) -> bool:
    """Test whether a span has begun; for "before May", whether May has."""
    return (span.end if span.shape in ("before", "until") else span.start) <= now.local


def is_over(span: Span, now: Now) -> bool:
    """Test whether a span is over; for "since May", whether the beginning of May is."""
    return (span.start if span.shape in ("since", "after") else span.end) <= now.local


def each(period: Period, first: datetime, last: datetime) -> Iterator[Span]:
    """Yield every span of a recurring period that touches ``[first, last)``, in order."""
    for n in range(number_of(period.cycle, first) - 1, number_of(period.cycle, last) + 1):
        span = look(period, n)
        if span and span.start < last and first < span.end:
            yield span


# ---------------------------------------------------------------------------------------------------------- arithmetic


def midnight(when: datetime) -> datetime:
    return when.replace(hour=0, minute=0, second=0, microsecond=0)


def months_later(when: datetime, months: int) -> datetime:
    """Return the same day ``months`` later, or the last day of that month."""
    year, month = divmod(when.year * 12 + when.month - 1 + months, 12)
    return when.replace(year=year, month=month + 1, day=min(when.day, month_length(year, month + 1)))


def month_length(year: int, month: int) -> int:
    return ((wall(year, month, 28) + 4 * ONE_DAY).replace(day=1) - ONE_DAY).day


def later(when: datetime, amount: float, unit: str) -> datetime:
    """Return ``when`` moved by an amount of units; half a year is six months, half a month fifteen days."""
    if unit in MONTHS_PER_UNIT:
        whole, rest = divmod(amount * MONTHS_PER_UNIT[unit], 1)
        return months_later(when, int(whole)) + timedelta(days=round(rest * 30))
    if unit == "workday":
        return workdays_later(when, int(amount))
    return when + timedelta(days=amount * DAYS.get(unit, 0), seconds=amount * SECONDS.get(unit, 0))


def workdays_later(when: datetime, count: int) -> datetime:
    """Count workdays from the start of a day: ahead to the end of the last one, or back to the earliest one's start."""
    if abs(count) > 10_000:
        raise OverflowError
    step = ONE_DAY if count > 0 else -ONE_DAY
    while count:
        passed = when if count > 0 else when + step
        when += step
        if passed.weekday() < 5:
            count -= 1 if step > timedelta() else -1
    return when


def move(span: Span, length: Length, sign: int) -> Span:
    """Return the day (or, for hours, the instant) at this distance from the start of ``span``."""
    start = span.start
    for amount, unit in length.parts:
        start = later(start, sign * amount, unit)
        while unit == "workday" and start.weekday() > 4:
            start += sign * ONE_DAY
    grain = length.parts[-1][1]
    return Span(start, start + ONE_DAY, "day") if grain not in SECONDS else instant(start, grain)


def instant(when: datetime, grain: str) -> Span:
    """Return the second, minute or hour that begins at ``when``, for an event "3 hours ago"."""
    when = when.replace(microsecond=0)
    names: dict[str, Grain] = {"second": "second", "minute": "minute"}
    return Span(when, when + timedelta(seconds=SECONDS[grain]), names.get(grain, "hour"))


def from_now(now: Now, length: Length, sign: int) -> Span:
    """Move back (sign -1) or ahead from now. Hours are elapsed time, days are counted on the calendar."""
    if length.parts[-1][1] not in SECONDS:
        span = move(day_at(now.today), length, sign)
        return replace(span, grain=named(length))
    local = now.local
    for amount, unit in length.parts:
        local = world_later(now, local, sign * amount, unit)
    return instant(local, length.parts[-1][1])


def world_later(now: Now, local: datetime, amount: float, unit: str) -> datetime:
    if unit not in SECONDS:
        return later(local, amount, unit)
    when = (now.when if local == now.local else local.replace(tzinfo=now.when.tzinfo)).astimezone(UTC)
    return later(when, amount, unit).astimezone(now.when.tzinfo).replace(tzinfo=None, fold=0)


def named(length: Length) -> Grain:
    names: dict[str, Grain] = {"week": "week", "fortnight": "week", "month": "month", "half": "month"}
    names |= {"quarter": "month", "year": "year"}
    amount, unit = length.parts[-1]
    unit = "month" if unit == "year" and amount % 1 else "week" if unit == "month" and amount < 1 else unit
    return names.get(unit, "day")


# ----------------------------------------------------------------------------------------------- units of the calendar


def day_at(when: datetime) -> Span:
    return Span(when, when + ONE_DAY, "day")


def date_of(year: int, month: int, day: int) -> Span:
    return day_at(wall(year, month, day))


def month_of(year: int, month: int, count: int = 1, grain: Grain = "month") -> Span:
    start = wall(year, month, 1)
    return Span(start, months_later(start, count), grain)


def year_of(year: int, count: int = 1, grain: Grain = "year") -> Span:
    return month_of(year, 1, 12 * count, grain)


def week_of(when: datetime) -> Span:
    monday = midnight(when) - when.weekday() * ONE_DAY
    return Span(monday, monday + 7 * ONE_DAY, "week")


def weekend_of(when: datetime) -> Span:
    saturday = week_of(when).start + 5 * ONE_DAY
    return Span(saturday, saturday + 2 * ONE_DAY, "weekend")


def unit_at(when: datetime, unit: str) -> Span | None:
    """Return the unit of the calendar that ``when`` is in."""
    if unit in _SPAN_OF_UNIT:
        return _SPAN_OF_UNIT[unit](when)
    if unit in SECONDS:
        start = when.replace(microsecond=0, second=0, minute=0 if unit == "hour" else when.minute)
        return Span(start, start + timedelta(seconds=SECONDS[unit]), "hour" if unit == "hour" else "minute")
    return None


_SPAN_OF_UNIT: dict[str, Callable[[datetime], Span]] = {
    "day": lambda when: day_at(midnight(when)),
    "week": week_of,
    "weekend": weekend_of,
    "workweek": lambda when: replace(week_of(when), end=week_of(when).start + 5 * ONE_DAY),
    "fortnight": lambda when: replace(week_of(when), end=week_of(when).start + 14 * ONE_DAY),
    "month": lambda when: month_of(when.year, when.month),
    "quarter": lambda when: month_of(when.year, (when.month - 1) // 3 * 3 + 1, 3, "quarter"),
    "half": lambda when: month_of(when.year, (when.month - 1) // 6 * 6 + 1, 6, "season"),
    "year": lambda when: year_of(when.year),
    "decade": lambda when: year_of(when.year // 10 * 10, 10, "decade"),
    "century": lambda when: year_of(max(1, when.year // 100 * 100), 100, "century"),
}


def nth_unit(n: int, unit: str, span: Span) -> Span | None:
    """Return the n-th unit of ``span``, from its end if negative; a week belongs where its Thursday is (ISO 8601)."""
    if unit == "week":
        first = week_of(span.start + 3 * ONE_DAY if span.start.weekday() > 3 else span.start).start
        last = week_of(span.end - 4 * ONE_DAY).start
        start = first + (n - 1) * 7 * ONE_DAY if n > 0 else last + (n + 1) * 7 * ONE_DAY
        nth: Span | None = week_of(start)
    elif unit == "weekend":
        first = span.start + (5 - span.start.weekday()) % 7 * ONE_DAY
        last = weekend_of(span.end - 6 * ONE_DAY).start
        nth = weekend_of(first + (n - 1) * 7 * ONE_DAY if n > 0 else last + (n + 1) * 7 * ONE_DAY)
    else:
        nth = unit_at(later(span.start, n - 1, unit) if n > 0 else later(span.end, n, unit), unit)
    return nth if nth and span.start - 4 * ONE_DAY <= nth.start < span.end else None


def nth_weekday(n: int, weekday: int, span: Span) -> Span | None:
    if n > 0:
        start = span.start + (weekday - span.start.weekday()) % 7 * ONE_DAY + (n - 1) * 7 * ONE_DAY
    else:
        last = span.end - ONE_DAY
        start = last - (last.weekday() - weekday) % 7 * ONE_DAY + (n + 1) * 7 * ONE_DAY
    return day_at(start) if span.start <= start < span.end else None


def easter(year: int) -> Span:
    """Return Gregorian Easter Sunday (Meeus/Jones/Butcher)."""
    a, (b, c) = year % 19, divmod(year, 100)
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    month, day = divmod(h + k - 7 * ((a + 11 * h + 22 * k) // 451) + 114, 31)
    return date_of(year, month, day + 1)
