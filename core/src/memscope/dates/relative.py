"""Row builders relative to the reference: last week, 3 days ago, the next 5 years."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memscope.dates.calendar import (
    DAYS,
    MONTHS_PER_UNIT,
    ONE_DAY,
    SECONDS,
    Clock,
    Length,
    Now,
    Period,
    Span,
    day_at,
    fixed,
    from_now,
    instant,
    later,
    look,
    month_of,
    once,
    start_of,
    unit_at,
    week_of,
    weekend_of,
)
from memscope.dates.clocks import join
from memscope.dates.days import month

A_FEW = 5  # units in "the next few days"


def day_from_today(now: Now, days: int) -> Period:
    return fixed(day_at(now.today + days * ONE_DAY))


def part_of_day(now: Now, days: int, part: Clock) -> Period | None:
    return join(now, day_from_today(now, days), part)


def named_part(now: Now, both: tuple[int, Clock]) -> Period | None:
    """昨晚."""
    return part_of_day(now, *both)


def stepped_unit(now: Now, step: int, unit: str) -> Period | None:
    """Last month, this week, the next hour, 上上周."""
    if unit in SECONDS:
        return rolling(now, step, Length(((1, unit),))) if step else None
    here = unit_at(now.today, unit)
    if not here or (unit == "day" and not (step > 0 and now.future)):
        return None  # in a story, "the next day" does not count from today
    return once(unit_at(later(here.start, step, unit), unit) if step else here)


def beyond(now: Now, named: int | str | Period, step: int) -> Period | None:
    """The week before last, the Monday after next, the summer before last."""
    if isinstance(named, Period):
        return stepped_period(now, 2 * step, named)
    return stepped_unit(now, 2 * step, named) if isinstance(named, str) else stepped_weekday(now, 2 * step, named)


def counted_weekday(now: Now, sign: int, count: int, number: int) -> Period:
    """Two Fridays ago (sign -1), the coming Wednesday: never today."""
    days = (sign * (number - now.today.weekday()) - 1) % 7 + 1 + 7 * (count - 1)
    return day_from_today(now, sign * days)


def this_instant(now: Now, _: str) -> Period:
    return fixed(instant(now.local, "second"))


class CalendarStep(int):
    """A step to a week of the calendar: 上周五 has one reading, "last Friday" two."""


def stepped_weekday(now: Now, step: int, number: int) -> Period:
    """Last Friday: that of last week; or the last one before today, which is another one late in a week."""
    weekday = fixed(day_at(week_of(now.today).start + (7 * step + number) * ONE_DAY))
    several = abs(step) < 2 and not isinstance(step, CalendarStep)
    other = counted_weekday(now, step or 1, 1, number) if several else None
    return replace(weekday, other=other) if other and other.find(0) != weekday.find(0) else weekday


def coming_unit(now: Now, unit: str) -> Period | None:
    """The coming weekend is this one until it begins."""
    begun = unit != "weekend" or weekend_of(now.today).start <= now.today
    return stepped_unit(now, 1 if begun else 0, unit)


def weekday_of_step(now: Now, step: int, unit: str, number: int) -> Period | None:
    """Next week Wednesday."""
    return stepped_weekday(now, step, number) if unit == "week" else None


def week_on(now: Now, unit: str, number: int) -> Period | None:
    """A week on Thursday: a week after the coming one."""
    return counted_weekday(now, 1, 2, number) if unit == "week" else None


def seasons_ago(now: Now, count: int, season: Period) -> Period | None:
    """Two summers ago: of the year before the last."""
    return once(season.find(now.local.year - count))


def this_month(now: Now, years: int) -> Period:
    """This time last year (-1): the same month."""
    return fixed(month_of(now.local.year + years, now.local.month))


def stepped_period(now: Now, step: int, period: Period) -> Period | None:
    """Last May is the last one that is over, next May the next to begin, this May the one of this year. The May before
    last has step -2.
    """
    if period.cycle != "year":
        return None
    if not step:
        return once(look(period, now.local.year))
    years = (now.local.year + (n - 1 if step > 0 else 1 - n) for n in range(2 + abs(step)))
    spans = [span for year in years if (span := look(period, year))]
    over = [span for span in spans if (span.start > now.local if step > 0 else span.end <= now.local)]
    return fixed(over[abs(step) - 1]) if len(over) >= abs(step) else None


def away(now: Now, sign: int, span: Length) -> Period:
    """3 days ago (sign -1), 3 days from now."""
    (amount, unit), *rest = span.parts
    if unit == "weekend" and not rest:
        return fixed(weekend_of(now.today + sign * amount * 7 * ONE_DAY))
    return fixed(from_now(now, span, sign))


def inside(now: Now, span: Length) -> Period | None:
    """ "in 3 days" is a future day, unless the sentence is in the past tense ("done in 3 days")."""
    return away(now, 1, span) if now.future or not now.past else None


def from_named(now: Now, sign: int, span: Length) -> Period:
    """A week later (1), two days before (-1): counted from a time that the sentence names before it."""
    return replace(away(now, sign, span), counted=lambda named: away(named, sign, span), relative=True)


def beside_day(now: Now, sign: int, unit: str) -> Period | None:
    """The day after (1) or before (-1), the next day, 第二天."""
    return from_named(now, sign, Length(((1, "day"),))) if unit == "day" and sign in (1, -1) else None


def beside_part(now: Now, sign: int, part: Clock) -> Period | None:
    """The night before (-1), the next morning (1), 头天晚上."""
    day = beside_day(now, sign, "day")
    return join(now, day, part) if day else None


def from_named_or_now(now: Now, span: Length) -> Period | None:
    """三天后: after a time that the sentence names, or else from now on."""
    period = inside(now, span)
    return replace(period, counted=lambda named: away(named, 1, span)) if period else None


def before_named(now: Now, span: Length) -> Period | None:
    """前两天: before a time that the sentence names, or else before today; 前一天 only the former."""
    period, single = rolling(now, -1, span), span.parts == ((1, "day"),)
    return replace(period, counted=lambda named: rolling(named, -1, span), relative=single) if period else None


def inside_of(now: Now, span: Length) -> Period | None:
    return within(now, span) if now.future or not now.past else None


def within_next(now: Now, step: int, span: Length) -> Period | None:
    return within(now, span) if step > 0 else rolling(now, step, span)


def within(now: Now, span: Length) -> Period:
    seconds = span.parts[-1][1] in SECONDS
    start = now.local if seconds else now.today
    return fixed(Span(start, far(start, span, 1), "hour" if seconds else "day"))


def far(when: datetime, span: Length, sign: int) -> datetime:
    for amount, unit in span.parts:
        when = later(when, sign * amount, unit)
    return when


def rolling(now: Now, step: int, span: Length) -> Period | None:
    """The last 3 months end yesterday, the next 3 days begin tomorrow; quarters and decades follow the calendar."""
    amount, unit = span.parts[0]
    if not step or unit == "weekend" or (amount < 1 and unit in ("day", "week")):
        return None
    if unit in ("quarter", "decade", "century") and amount == int(amount):
        return aligned(now, step * int(amount), unit)
    seconds = span.parts[-1][1] in SECONDS
    start = now.local if seconds else now.today + ONE_DAY if step > 0 else now.today
    end = far(start, span, 1 if step > 0 else -1)
    return fixed(Span(min(start, end), max(start, end), "hour" if seconds else "day"))


def rolling_units(now: Now, amount: float, step: int, unit: str) -> Period | None:
    """5 past years."""
    return rolling(now, step, Length(((amount, unit),))) if amount > 1 else None


def aligned(now: Now, count: int, unit: str) -> Period | None:
    here = unit_at(now.today, unit)
    if not here:
        return None
    near = here.end if count > 0 else here.start
    far_ = later(near, count, unit)
    return fixed(Span(min(near, far_), max(near, far_), here.grain))


def any_weekend(now: Now, unit: str) -> Period | None:
    """The weekend, without a word that tells which."""
    if unit != "weekend":
        return None
    return Period(lambda n: weekend_of(start_of("week", n)), "weekend", "week")


def few(now: Now, step: int, unit: str) -> Period | None:
    """The last few days end yesterday, the next few weeks begin today; 这几天: the days around today."""
    return _about_today(now, step, Length(((A_FEW, unit),))) if unit in DAYS or unit in MONTHS_PER_UNIT else None


def around(now: Now, step: int, length: Length) -> Period | None:
    """这两天."""
    return None if step or length.parts[-1][1] in SECONDS else _about_today(now, 0, length)


def _about_today(now: Now, step: int, length: Length) -> Period:
    start = now.today if step > 0 else far(now.today, length, -1)
    end = now.today if step < 0 else far(now.today, length, 1) + ONE_DAY
    return fixed(Span(start, end, "day", "range"))


def this_day(now: Now, unit: str) -> Period | None:
    """ "For the day" is for today."""
    return day_from_today(now, 0) if unit == "day" else None


def this_unit(now: Now, unit: str) -> Period | None:
    """The month, in "for the month"; "the weekend" only with a future tense, as otherwise it may be the last one."""
    if unit == "day" or (unit == "weekend" and not now.future):
        return None
    return stepped_unit(now, 0, unit)


def stepped_month(now: Now, step: int, number: int) -> Period | None:
    """Last May; "this may" is more often a verb."""
    named = month(now, number)
    return stepped_period(now, step, named) if named and step else None
