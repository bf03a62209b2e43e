"""Row builders for times of day, alone and on a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from memscope.dates.calendar import FIRST_DAY, LAST_DAY, SECONDS, Clock, Length, Now, Period, Shape, Span, then
from memscope.dates.figure_readers import clock

HALF_DAY = 12 * 3600


def hours(start: int, end: int) -> Clock:
    return Clock(start * 3600, end * 3600, "part")


def o_clock(now: Now, *items: Clock | int | str) -> Clock | None:
    """Hour, minute and second, where "2.30" is hour and minute; or a time, which is returned as it is."""
    if isinstance(items[0], Clock):
        return items[0]
    parts = [int(part) for item in items for part in str(item).split(".")]
    return clock(*parts) if 1 <= len(parts) <= 3 else None


def of_half(now: Now, *values: Any) -> Clock | None:
    """A time with am or pm."""
    *numbers, half = values
    if len(numbers) == 2 and numbers[1] < 10 and numbers[1] != 5:
        return None
    if isinstance(numbers[0], int) and numbers[0] >= 100:
        numbers = list(divmod(numbers[0], 100))  # 340 pm
    time = o_clock(now, *numbers)
    return sure(time, half == "p") if time and time.start < 13 * 3600 else time


def quarter_of(now: Now, *values: Any) -> Length | None:
    """A quarter of an hour."""
    return Length(((15, "minute"),)) if values[-1] == "hour" else None


def past_hour(now: Now, minutes: int | float | str, *rest: Any) -> Clock | None:
    """Half past seven, ten past seven, quarter past seven, three quarters past seven."""
    whole = int({"quarter": 15, 0.5: 30}.get(minutes, minutes))
    return o_clock(now, rest[-1], whole * 15 if rest[0] == "quarter" else whole)


def before_hour(now: Now, *values: int | str) -> Clock | None:
    """A quarter to eight, ten minutes to eight."""
    minutes, hour = values[0], int(values[-1])
    return o_clock(now, (hour - 2) % 12 + 1, 60 - int({"quarter": 15}.get(str(minutes), minutes)))


def twenty_to(now: Now, minutes: int, hour: int) -> Clock | None:
    """Twenty to eight; "ten to eight" could be two hours."""
    return before_hour(now, minutes, hour) if minutes in (20, 25) else None


def minutes_to(now: Now, minutes: int, hour: int) -> Clock | None:
    """At ten to six; "at 9 to 5" gives two hours."""
    return before_hour(now, minutes, hour) if minutes in (5, 10, 20, 25) else None


def spoken_clock(now: Now, hour: int, minute: int) -> Clock | None:
    """Seven thirty."""
    return o_clock(now, hour, minute) if minute >= 10 else None


def sure(time: Clock, afternoon: bool) -> Clock:
    shift = (HALF_DAY if afternoon else 0) - (HALF_DAY if time.start >= HALF_DAY else 0)
    return replace(time, start=time.start + shift, end=time.end + shift, sure=True)


def in_part(now: Now, item: Clock | int | str, part: Clock) -> Clock | None:
    """A time within a part of the day, which decides its half: 7 in the evening, 下午 5:00."""
    time = o_clock(now, item)
    if not time or time.grain == "part":
        return None
    if time.sure and not 3600 <= time.start < 13 * 3600:
        return time
    if part.start <= (as_told := sure(time, False)).start < part.end:  # 11 at lunchtime
        return as_told
    if part.start == 16 * 3600 and time.start >= HALF_DAY:  # 12 in the evening
        return replace(time, start=time.start + HALF_DAY, end=time.end + HALF_DAY, sure=True)
    small = part.start >= 20 * 3600 and (time.start < 5 * 3600 or time.start >= HALF_DAY)  # 3 at night
    return sure(time, part.end > HALF_DAY and not small)


def hour_of_part(now: Now, hour: int, date: Period, part: Clock) -> Period | None:
    """7 tomorrow evening, but not "one Tuesday night"."""
    inside = part.start <= hour * 3600 % HALF_DAY + (HALF_DAY if part.start >= HALF_DAY else 0) < part.end
    return join(now, date, in_part(now, hour, part)) if inside else None


def half_day(now: Now, half: str) -> Clock:
    """Today pm."""
    return hours(8, 12) if half == "a" else hours(12, 16)


def edge_of_part(now: Now, edge: str, part: Clock) -> Clock | None:
    if edge not in ("start", "early", "end", "late"):
        return None
    half = (part.end - part.start) // 2
    return replace(part, end=part.start + half) if edge in ("start", "early") else replace(part, start=part.end - half)


def guessed(time: Clock) -> Clock:
    """Assume the afternoon for a time before 7 without am, pm or a part of the day."""
    return time if time.sure else sure(time, time.start < 7 * 3600 or time.start >= HALF_DAY)


def time_range(now: Now, first: Any, last: Any, *_: Any) -> Clock | None:
    """From 1 to 3 pm: one end completes the other, the shortest reading wins."""
    a, b = o_clock(now, first), o_clock(now, last)
    if not a or not b:
        return None
    starts = [a.start] if a.sure else [sure(a, half).start for half in (False, True)]
    ends = [b.start] if b.sure else [sure(b, half).start for half in (False, True)]
    if not a.sure and not b.sure:
        starts = [guessed(a).start]
    lengths = {(end - start) % (2 * HALF_DAY) or 2 * HALF_DAY: start for end in ends for start in starts}
    shortest = min(lengths)
    return Clock(lengths[shortest], lengths[shortest] + shortest, b.grain, a.sure or b.sure, "range")


def beside(now: Now, sign: int, span: Length, time: Clock) -> Clock | None:
    """An hour after (1) or five minutes before (-1) noon."""
    if any(unit not in SECONDS for _, unit in span.parts) or time.shape != "point":
        return None
    start = time.start + sign * int(sum(amount * SECONDS[unit] for amount, unit in span.parts))
    start %= 2 * HALF_DAY
    return replace(time, start=start, end=start + 60, grain="minute")


def parts_of_day(now: Now, first: Clock, last: Clock) -> Clock | None:
    """上午到下午."""
    return Clock(first.start, last.end, "part") if first.start < last.start else None


def time_for(now: Now, *values: Any) -> Clock | None:
    """From 2 pm for 2 hours, in either order."""
    span = next(item for item in values if isinstance(item, Length))
    begin = o_clock(now, next(item for item in values if item is not span))
    seconds = sum(amount * SECONDS.get(unit, 10**6) for amount, unit in span.parts)
    if not begin or seconds >= 2 * HALF_DAY:
        return None
    begin = replace(begin, end=begin.start + int(seconds), shape="range")
    return begin if begin.sure else replace(begin, sure=True) if begin.start >= 7 * 3600 else sure(begin, True)


def open_time(now: Now, shape: Shape, time: Clock) -> Clock | None:
    """Since, after, before or by a time; after a part of the day is after its end."""
    if time.shape != "point":
        return None
    if shape == "until":
        return replace(time, end=time.start, shape=shape)
    if shape != "after":
        return replace(time, shape=shape)
    return replace(time, start=time.end if time.grain == "part" else time.start, end=time.end + 1, shape="since")


def opened(span: Span, shape: Shape) -> Span | None:
    """Since, after, before or until (that is, not after) a span."""
    if span.shape != "point" and shape != "point":
        return None
    if shape in ("since", "after"):
        return replace(span, start=span.start if shape == "since" else span.end, end=LAST_DAY, shape=shape)
    if shape in ("before", "until"):
        return replace(span, start=FIRST_DAY, end=span.start if shape == "before" else span.end, shape=shape)
    return replace(span, shape=shape)


def on_day(span: Span, time: Clock) -> Span | None:
    """The time on the first day of a span."""
    time = guessed(time)
    midnight = span.start.replace(hour=0, minute=0, second=0)
    start, end = midnight + timedelta(seconds=time.start), midnight + timedelta(seconds=time.end)
    return opened(Span(start, end, time.grain), time.shape)


def join(now: Now, *values: Any) -> Period | None:
    """A day and a time, in either order."""
    date = next(item for item in values if isinstance(item, Period))
    item = next((item for item in values if not isinstance(item, Period)), None)
    time = o_clock(now, item) if item is not None else None
    return then(date, lambda span: on_day(span, time), time.grain) if time and date.grain == "day" else None
