"""What a row builds: from the values of the matched tokens to the value of the new one. None declines.

The first argument is always ``Now``. Values are numbers, units, ``Clock``, ``Length`` and ``Period``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memscope.dates.calendar import (
    DAY,
    EARLIEST,
    LATEST,
    MONTHS,
    SECONDS,
    Clock,
    Grain,
    Length,
    Now,
    Period,
    Shape,
    Span,
    date_of,
    day_at,
    fixed,
    from_now,
    later,
    look,
    month_of,
    move,
    nth_unit,
    nth_weekday,
    number_of,
    then,
    unit_at,
    wall,
    week_of,
    year_of,
)
from memscope.dates.written import clock

HALF_DAY = 12 * 3600


def words(kind: str, *tables: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Rows of a lexicon: ``{"monday|mon": 0}`` gives both words the kind and the value."""
    return {word: (kind, value) for table in tables for names, value in table.items() for word in names.split("|")}


def value(now: Now, *values: Any) -> Any:
    return values[0] if len(values) == 1 else None


def first_value(now: Now, *values: Any) -> Any:
    return values[0]


def last_value(now: Now, *values: Any) -> Any:
    return values[-1]


def nothing(now: Now, *values: Any) -> bool:
    """For what is recognised so that nothing else takes it for a date: "every Monday", "three weeks"."""
    return True


# ---------------------------------------------------------------------------------------------------------------- numbers


def compound(now: Now, tens: int, ones: int | str) -> int | None:
    small = ordinal(ones)
    return tens + small if tens in range(20, 100, 10) and small < 10 else None


def times(now: Now, count: int, factor: int, rest: int = 0) -> int:
    return count * factor + rest


def spoken_year(now: Now, high: int, low: int) -> int | None:
    """Nineteen seventy-two."""
    return high * 100 + low if 15 <= high <= 20 and 10 <= low <= 99 else None


def as_year(now: Now, number: int) -> int | None:
    return number if 1500 <= number <= 2100 else None


def ordinal(number: int | str) -> int:
    """"second" is an ordinal, too."""
    return 2 if number == "second" else int(number)


def length(now: Now, *values: Any) -> Length | None:
    """Numbers and units in turn; a number after a unit is a fraction of it ("one hour and a half")."""
    parts: list[tuple[float, str]] = []
    amount = 0.0
    for item in values:
        if isinstance(item, str) and not item[0].isdigit():
            parts.append((amount, item))
            amount = 0.0
        else:
            amount += float(item)
    if amount and parts:
        parts.append((amount, parts[-1][1]))
    return Length(tuple(parts)) if parts and all(0 < amount < 1e6 for amount, _ in parts) else None


def and_a_half(now: Now, count: float, *rest: Any) -> Length:
    """One and a half hours."""
    return Length(((count + 0.5, rest[-1]),))


def half_of(now: Now, *values: Any) -> Length:
    return Length(((0.5, values[-1]),))


def length_and_half(now: Now, count: float, unit: str, *_: float) -> Length:
    """An hour and a half."""
    return Length(((count + 0.5, unit),))


def joined_lengths(now: Now, *lengths: Length) -> Length:
    return Length(tuple(part for each in lengths for part in each.parts))


# ------------------------------------------------------------------------------------------------------------ time of day


def hours(start: int, end: int) -> Clock:
    return Clock(start * 3600, end * 3600, "part")


def o_clock(now: Now, *numbers: int | str) -> Clock | None:
    """Hour, minute and second; "2.30" counts as hour and minute."""
    parts = [int(part) for number in numbers for part in str(number).split(".")]
    return clock(*parts) if 1 <= len(parts) <= 3 else None


def clock_or_hour(item: Clock | int | str) -> Clock | None:
    return item if isinstance(item, Clock) else o_clock(Now(EARLIEST), item)


def clock_of(now: Now, item: Clock | int) -> Clock | None:
    return clock_or_hour(item)


def half_day(now: Now, date: Period, half: str) -> Period | None:
    """Today pm."""
    return join(now, date, hours(8, 12) if half == "a" else hours(12, 16))


def spoken_time(now: Now, date: Period, hour: int, minute: int) -> Period | None:
    """March eighteenth nine thirty."""
    return join(now, date, o_clock(now, hour, minute)) if minute >= 10 else None


def of_half(now: Now, *values: Any) -> Clock | None:
    """A time with am or pm."""
    *numbers, half = values
    time = numbers[0] if isinstance(numbers[0], Clock) else o_clock(now, *numbers)
    return sure(time, half == "p") if time and time.start < 13 * 3600 else time


def sure(time: Clock, afternoon: bool) -> Clock:
    shift = (HALF_DAY if afternoon else 0) - (HALF_DAY if time.start >= HALF_DAY else 0)
    return replace(time, start=time.start + shift, end=time.end + shift, sure=True)


def half_hour(now: Now, hour: int, _: float) -> Clock | None:
    return o_clock(now, hour, 30)


def past_hour(now: Now, minutes: int | float | str, hour: int) -> Clock | None:
    """Half past seven, ten past seven, quarter past seven."""
    return o_clock(now, hour, int({"quarter": 15, 0.5: 30}.get(minutes, minutes)))


def before_hour(now: Now, minutes: int | str, hour: int) -> Clock | None:
    return o_clock(now, (hour - 2) % 12 + 1, 60 - int({"quarter": 15}.get(str(minutes), minutes)))


def in_part(now: Now, *values: Any) -> Clock | None:
    """A time within a part of the day, which decides its half: 7 in the evening, 下午 5:00."""
    part = next(item for item in values if isinstance(item, Clock) and item.grain == "part")
    time = clock_or_hour(next(item for item in values if item is not part))
    if not time or time.grain == "part" or time.sure:
        return time if time and time.grain != "part" else None
    if inside := [each for each in (sure(time, False), sure(time, True)) if part.start <= each.start < part.end]:
        return inside[0]
    small = part.start >= 20 * 3600 and (time.start < 6 * 3600 or time.start >= HALF_DAY)  # 3 at night
    return sure(time, part.end > HALF_DAY + 3600 and not small)


def edge_of_part(now: Now, edge: str, part: Clock) -> Clock:
    quarter = (part.end - part.start) // 2
    return replace(part, end=part.start + quarter) if edge == "start" else replace(part, start=part.end - quarter)


def guessed(time: Clock) -> Clock:
    """Nobody says "at 3" of the night without saying so."""
    return time if time.sure else sure(time, time.start < 7 * 3600 or time.start >= HALF_DAY)


def time_range(now: Now, first: Any, last: Any, *_: Any) -> Clock | None:
    """From 1 to 3 pm: what one end leaves open the other decides, the shortest reading wins."""
    a, b = clock_or_hour(first), clock_or_hour(last)
    if not a or not b:
        return None
    starts = [a.start] if a.sure else [sure(a, half).start for half in (False, True)]
    ends = [b.start] if b.sure else [sure(b, half).start for half in (False, True)]
    if not a.sure and not b.sure:
        starts = [guessed(a).start]
    lengths = {(end - start) % (2 * HALF_DAY) or 2 * HALF_DAY: start for end in ends for start in starts}
    shortest = min(lengths)
    return Clock(lengths[shortest], lengths[shortest] + shortest, b.grain, a.sure or b.sure, "range")


def time_for(now: Now, *values: Any) -> Clock | None:
    """From 2 pm for 2 hours, in either order."""
    span = next(item for item in values if isinstance(item, Length))
    begin = clock_or_hour(next(item for item in values if item is not span))
    seconds = sum(amount * SECONDS.get(unit, 10**6) for amount, unit in span.parts)
    if not begin or seconds >= 2 * HALF_DAY:
        return None
    begin = replace(begin, end=begin.start + int(seconds), shape="range")
    return begin if begin.sure else replace(begin, sure=True) if begin.start >= 7 * 3600 else sure(begin, True)


def open_time(shape: Shape) -> Callable[..., Clock | None]:
    def build(now: Now, item: Any) -> Clock | None:
        time = clock_or_hour(item)
        return replace(time, shape=shape) if time and time.shape == "point" else None

    return build


def opened(span: Span, shape: Shape) -> Span | None:
    """Since, after, before or until (that is, not after) a span."""
    if span.shape != "point" and shape != "point":
        return None
    if shape in ("since", "after"):
        return replace(span, start=span.start if shape == "since" else span.end, end=LATEST, shape=shape)
    if shape in ("before", "until"):
        return replace(span, start=EARLIEST, end=span.start if shape == "before" else span.end, shape=shape)
    return replace(span, shape=shape)


def on_day(span: Span, time: Clock) -> Span | None:
    """The time on the day that a span starts on."""
    time = guessed(time)
    midnight = span.start.replace(hour=0, minute=0, second=0)
    start, end = midnight + timedelta(seconds=time.start), midnight + timedelta(seconds=time.end)
    return opened(Span(start, end, time.grain), time.shape)


def join(now: Now, *values: Any) -> Period | None:
    """A day and a time, in either order."""
    date = next(item for item in values if isinstance(item, Period))
    item = next((item for item in values if not isinstance(item, Period)), None)
    time = clock_or_hour(item) if item is not None else None
    return then(date, lambda span: on_day(span, time), time.grain) if time and date.grain == "day" else None


def join_range(now: Now, *values: Any) -> Period | None:
    """A day and two hours: Monday 3-8."""
    date = next(item for item in values if isinstance(item, Period))
    numbers = [item for item in values if not isinstance(item, Period)]
    time = time_range(now, *numbers)
    return join(now, date, time) if time else None


def join_part(now: Now, *values: Any) -> Period | None:
    """A day, a part of it and a time in that part, in any order."""
    date = next(item for item in values if isinstance(item, Period))
    time = in_part(now, *(item for item in values if item is not date))
    return join(now, date, time) if time else None


# ------------------------------------------------------------------------------------------------------- days and months


def yearly(find: Callable[[int], Span | None], grain: Grain) -> Period:
    return Period(find, grain, "year")


def month(now: Now, number: int) -> Period | None:
    return yearly(lambda year: month_of(year, number), "month") if 1 <= number <= 12 else None


def season(now: Now, first_month: int) -> Period:
    """The meteorological season of the northern half; a winter has the year it begins in."""
    return yearly(lambda year: month_of(year, first_month, 3, "season"), "season")


def stepped_month(now: Now, step: int, number: int) -> Period | None:
    """Last May; "this may" is more often a verb."""
    found = month(now, number)
    return stepped_period(now, step, found) if step and found else None


def quarter(now: Now, number: int, *_: str) -> Period | None:
    return yearly(lambda year: month_of(year, number * 3 - 2, 3, "quarter"), "quarter") if 1 <= number <= 4 else None


def half_year(now: Now, number: int) -> Period:
    return yearly(lambda year: month_of(year, number * 6 - 5, 6, "season"), "season")


def month_day(now: Now, month_number: int, day: int | str) -> Period | None:
    number = ordinal(day)
    wall(2000, month_number, number)  # raises where there is no such day in any year
    return yearly(lambda year: date_of(year, month_number, number), "day")


def day_month(now: Now, day: int | str, month_number: int) -> Period | None:
    return month_day(now, month_number, day)


def full_date(now: Now, month_number: int, day: int | str, year: int) -> Period:
    return fixed(date_of(year, month_number, ordinal(day)))


def day_first(now: Now, day: int | str, month_number: int, year: int) -> Period:
    return full_date(now, month_number, day, year)


def year_first(now: Now, year: int, month_number: int, day: int | str) -> Period:
    return full_date(now, month_number, day, year)


def year_day_month(now: Now, year: int, day: int | str, month_number: int) -> Period:
    return full_date(now, month_number, day, year)


def month_of_year(now: Now, month_number: int, year: int) -> Period:
    return fixed(month_of(year, month_number))


def pair(now: Now, numbers: tuple[int, int]) -> Period | None:
    return month_day(now, *numbers)


def day_range(now: Now, month_number: int, first: int | str, last: int | str) -> Period | None:
    a, b = ordinal(first), ordinal(last)
    wall(2000, month_number, b)
    if a >= b:
        return None
    return yearly(lambda year: Span(wall(year, month_number, a), wall(year, month_number, b) + DAY, "day", "range"), "day")


def days_of_month(now: Now, first: int | str, last: int | str, month_number: int) -> Period | None:
    return day_range(now, month_number, first, last)


def day_of_month(now: Now, day: int | str) -> Period | None:
    """The 18th, of any month that has one."""
    number = ordinal(day)
    return Period(lambda n: date_of(n // 12, n % 12 + 1, number), "day", "month") if 1 <= number <= 31 else None


def weekday_and_day(now: Now, weekday: int, day: int | str) -> Period | None:
    """Friday the 13th; the one of this month when there is one."""
    date = day_of_month(now, day)
    if not date:
        return None
    matching = then(date, lambda span: span if span.start.weekday() == weekday else None)
    here = look(matching, number_of("month", now.local))
    return fixed(here) if here else matching


def weekday(now: Now, number: int) -> Period:
    return Period(lambda n: day_at(datetime.fromordinal(n * 7 + number + 1)), "day", "week")


def year(now: Now, number: int) -> Period | None:
    return fixed(year_of(number)) if 1000 <= number <= 2999 else None


def decade(now: Now, first: int) -> Period:
    return fixed(year_of(first, 10, "decade"))


def century(now: Now, number: int | str, *_: str) -> Period:
    return fixed(year_of(max(1, ordinal(number) * 100 - 100), 100, "century"))


def year_week(now: Now, number: int) -> Period | None:
    return yearly(lambda each: nth_unit(number, "week", year_of(each)), "week") if 1 <= number <= 53 else None


def this_years(now: Now, period: Period) -> Period | None:
    """A week by its number is one of this year's."""
    span = look(period, now.local.year)
    return fixed(span) if span else None


# ------------------------------------------------------------------------------------------------------ seen from the reference


def day_from_today(now: Now, days: int) -> Period:
    return fixed(day_at(now.today + days * DAY))


def part_of_day(now: Now, days: int, part: Clock) -> Period | None:
    return join(now, day_from_today(now, days), part)


def stepped_unit(now: Now, step: int, unit: str) -> Period | None:
    """Last month, this week, the next hour, 上上周."""
    if unit in SECONDS:
        return rolling(now, step, Length(((1, unit),))) if step else None
    here = unit_at(now.today, unit)
    if not here or unit == "day":
        return None
    found = unit_at(later(here.start, step, unit), unit) if step else here
    return fixed(found) if found else None


def stepped_year(now: Now, step: int) -> Period | None:
    return stepped_unit(now, step, "year")


def day_and_part(now: Now, value: tuple[int, Clock]) -> Period | None:
    return part_of_day(now, *value)


def two_steps(now: Now, unit: str, step: int) -> Period | None:
    """The week before last, the week after next."""
    return stepped_unit(now, 2 * step, unit)


def stepped_weekday(now: Now, step: int, number: int) -> Period:
    return fixed(day_at(week_of(now.today).start + (7 * step + number) * DAY))


def past_weekday(now: Now, number: int) -> Period:
    """Past Wednesday: the last one before today."""
    return fixed(day_at(now.today - ((now.today.weekday() - number - 1) % 7 + 1) * DAY))


def weekday_of_step(now: Now, step: int, unit: str, number: int) -> Period | None:
    """Next week Wednesday."""
    return stepped_weekday(now, step, number) if unit == "week" else None


def stepped_part(now: Now, step: int, part: Clock) -> Period | None:
    """Last night, this morning, next evening."""
    return part_of_day(now, step, part)


def stepped_period(now: Now, step: int, period: Period) -> Period | None:
    """Last May is the last one that is over, next May the next to begin, this May the one of this year."""
    if period.cycle != "year":
        return None
    if not step:
        span = look(period, now.local.year)
        return fixed(span) if span else None
    for n in range(3):
        span = look(period, now.local.year + (n - 1 if step > 0 else 1 - n))
        if span and (span.start > now.local if step > 0 else span.end <= now.local):
            return fixed(span)
    return None


def ago(now: Now, span: Length) -> Period:
    return fixed(from_now(now, span, -1))


def ahead(now: Now, span: Length) -> Period:
    return fixed(from_now(now, span, 1))


def inside(now: Now, span: Length) -> Period | None:
    """ "in 3 days" is a day to come, unless the sentence tells of the past ("done in 3 days")."""
    return ahead(now, span) if now.future or not now.past else None


def in_one(now: Now, count: int, unit: str) -> Period | None:
    return inside(now, Length(((count, unit),)))


def within_next(now: Now, step: int, span: Length) -> Period | None:
    return within(now, span) if step > 0 else rolling(now, step, span)


def within(now: Now, span: Length) -> Period:
    start = now.local if span.parts[-1][1] in SECONDS else now.today
    return fixed(Span(start, far(start, span, 1), "day"))


def far(when: datetime, span: Length, sign: int) -> datetime:
    for amount, unit in span.parts:
        when = later(when, sign * amount, unit)
    return when


def rolling(now: Now, step: int, span: Length) -> Period | None:
    """The last 3 months end yesterday, the next 3 days begin tomorrow; quarters and decades are those of the calendar."""
    amount, unit = span.parts[0]
    if not step or unit == "weekend":
        return None
    if unit in ("quarter", "decade", "century") and amount == int(amount):
        return aligned(now, step * int(amount), unit)
    seconds = span.parts[-1][1] in SECONDS
    start = now.local if seconds else now.today + DAY if step > 0 else now.today
    end = far(start, span, 1 if step > 0 else -1)
    return fixed(Span(min(start, end), max(start, end), "hour" if seconds else "day"))


def rolling_units(now: Now, amount: float, step: int, unit: str) -> Period | None:
    """5 past years."""
    return rolling(now, step, Length(((amount, unit),)))


def aligned(now: Now, count: int, unit: str) -> Period | None:
    here = unit_at(now.today, unit)
    if not here:
        return None
    first, last = (here.end, later(here.end, count, unit)) if count > 0 else (later(here.start, count, unit), here.start)
    return fixed(Span(first, last, here.grain))


def rolling_back(now: Now, span: Length) -> Period | None:
    return rolling(now, -1, span)


def this_unit(now: Now, unit: str) -> Period | None:
    return stepped_unit(now, 0, unit)


def this_part(now: Now, part: Clock) -> Period | None:
    return part_of_day(now, 0, part)


def named_year(now: Now, unit: str, number: int) -> Period | None:
    """The year 2008."""
    return year(now, number) if unit == "year" else None


def week_number(now: Now, unit: str, number: int) -> Period | None:
    """Week 10, of this year."""
    return fixed(week) if unit == "week" and (week := nth_unit(number, "week", year_of(now.local.year))) and number > 0 else None
