"""Time expressions of a text, each with the interval that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from memscope.dates.calendar import (
    ONE_DAY,
    Clock,
    Grain,
    Now,
    Period,
    Shape,
    Span,
    day_at,
    look,
    number_of,
    place,
    unit_at,
)
from memscope.dates.cascade import Token
from memscope.dates.clocks import on_day
from memscope.dates.cues import Direction
from memscope.dates.parsing import Parsed, parsed, parsed_sentence
from memscope.dates.vocabulary import lines
from memscope.imports import pattern
from memscope.records import Interval

_LONG_UNITS: tuple[Grain, ...] = ("month", "year")
_ENDED: tuple[Shape, ...] = ("before", "until")
_TIMES_OF_DAY = frozenset({"second", "minute", "hour", "part"})
_SINGLE_DAYS = frozenset({"minute", "hour", "part", "day"})
_DAYS = _SINGLE_DAYS | {"weekend", "week"}
MIN_NAMED_YEAR_GAP = timedelta(days=300)  # speakers name the year of a day so far away,
MAX_OTHER_YEAR_GAP = timedelta(days=65)  # if the same day of another year is so near
MAX_AMBIGUOUS_WEEKDAY = timedelta(days=10)  # beside an older time, a weekday is neither the last one nor the next
_NAMED_YEAR = pattern(r"\d{4}")
_MENTIONED = frozenset({"date", "period", "moment", "open", "time"})
_ASKED = _MENTIONED | {"asked"}


@dataclass(frozen=True, slots=True)
class Mention:
    """A time expression: ``text[start:end]``, and the interval it names.

    ``grain`` is the unit named: "two weeks ago" is a day, named in weeks. ``shape`` is "range" for a stretch between
    two named ends (with the grain of the last), "since", "after", "before" or "until" ("not after") for an open one,
    which extends to the first or last day of the calendar, and "point" otherwise. ``yearless`` if neither a year nor
    anything relative was named: "in May", "on the 5th"; see ``recurrences``. ``dayless`` for a time without a named day
    ("at 3 pm"), which is on the reference's day. ``vague`` for a time that only a question can name ("the weekend",
    "the next few days"); only ``asked`` returns these. ``direction``: whether its clause is past or ahead; ``interval``
    follows the tense of the whole sentence, see ``nearest``.
    """

    text: str
    start: int
    end: int
    interval: Interval
    grain: Grain
    shape: Shape = "point"
    yearless: bool = False
    dayless: bool = False
    vague: bool = False
    direction: Direction = ""
    calendar_period: Period | None = field(default=None, repr=False, compare=False)
    _now: Now = field(kw_only=True, repr=False, compare=False)


def mentions(text: str, reference: datetime) -> list[Mention]:
    """Return the time expressions of ``text``, in order, without overlaps; ``reference``: when it was said (zoned)."""
    return _named(text, parsed(text, reference))


def asked(text: str, reference: datetime, *, past: bool, ahead: bool) -> list[Mention]:
    """Return the time expressions of a question, including ``vague`` ones.

    ``ahead``: its words look ahead, ``past``: they look back. With both or neither, "on Thursday" gives two mentions,
    the last Thursday and the next. So does any time with two readings: "last Friday" on a Sunday, or "Thursday" on a
    Thursday, which may be today or a week away. Beside a date ("Fridays in August", 8月的周五), each has one reading.
    "Before Christmas" ends ahead unless the question looks back. "Two weeks ago" is that week, not a day.
    """
    one_way = ahead and not past
    mentioned = _named(text, parsed(text, reference, ahead=one_way), _ASKED)
    dated = any(one.yearless or reference - one.interval.end > MAX_AMBIGUOUS_WEEKDAY for one in mentioned)
    if not (past or ahead) and any(one.shape in _ENDED for one in mentioned):
        mentioned = _named(text, parsed(text, reference, ahead=True), _ASKED)
    elif dated and not one_way:
        mentioned = [mention for mention in mentioned if not mention.vague]
    else:
        if mentioned and past == ahead:
            coming = _named(text, parsed(text, reference, ahead=True), _ASKED)
            mentioned += [one for one in coming if one.calendar_period and one.calendar_period.cycle in ("", "week")]
        weeks = [-1] * (past or not ahead) + [1] * (ahead or not past)
        mentioned += [other for mention in mentioned for other in _other_readings(mention, reference, weeks)]
    every = {(mention.start, mention.interval): mention for mention in mentioned}.values()
    return [replace(one, interval=unit_named(one, "week", *_LONG_UNITS) or one.interval) for one in every]


def _other_readings(mention: Mention, reference: datetime, weeks: Sequence[int]) -> Iterator[Mention]:
    period, now = mention.calendar_period, mention._now
    if not period:
        return
    spans = [place(period.other, now)] if period.other else []
    if period.cycle == "week" and mention.shape == "point" and reference in mention.interval:
        spans += [look(period, number_of("week", now.local) + step) for step in weeks]
    yield from (replace(mention, interval=interval(span, reference.tzinfo)) for span in spans if span)


def mentions_of_skeleton(skeleton: str, reference: datetime) -> list[Mention]:
    return _named(skeleton, parsed_sentence(skeleton, reference))


def _named(text: str, parts: Iterable[Parsed], kinds: frozenset[str] = _MENTIONED) -> list[Mention]:
    named: list[Mention] = []
    for part in parts:
        read = (mention(text, token, part) for token in part.tokens if token.kind in kinds)
        named += _beside_others(one for one in read if one and not is_figurative(text, one.start, one.end))
    return named


def _beside_others(sentence: Iterable[Mention]) -> Iterator[Mention]:
    """Yield a sentence's mentions. A day without a month is the one nearest to the date with a month before it: "We fly
    out on 3 March and are home on the 10th."; a day counted from another is counted from the one before it: "The exam
    is on Friday, results a week later."
    """
    dated: Mention | None = None
    named: Mention | None = None
    for one in sentence:
        period, is_day = one.calendar_period, one.grain in _SINGLE_DAYS and not one.dayless
        if period and period.counted and (named or period.relative):
            counted = _counted_from(named, one, period.counted) if named else None
            if counted:
                yield counted
            continue
        named = one if is_day and one.shape in ("point", "range") else named
        if dated and period and period.cycle == "month" and one.shape == "point":
            beside = nearest(dated, one._now.when).start
            spans = filter(None, (place(period, replace(one._now, when=beside, future=way)) for way in (True, False)))
            days = [interval(span, beside.tzinfo) for span in spans]
            day = min(days, key=lambda reading: abs(reading.start - beside), default=one.interval)
            one = replace(one, interval=day, calendar_period=None, direction="")
        yield one
        if period and (one.grain, one.shape) == ("day", "point"):
            dated = one if period.cycle == "year" or _NAMED_YEAR.search(one.text) else dated


def _counted_from(named: Mention, one: Mention, count: Callable[[Now], Period | None]) -> Mention | None:
    """Count a mention from the time that another one names; None if that may as well be another day."""
    now = replace(one._now, when=nearest(named, one._now.when).start)
    period = None if is_undirected(named) else count(now)
    span = place(period, now) if period else None
    return replace(one, interval=interval(span, now.when.tzinfo), calendar_period=None, direction="") if span else None


def resolve(text: str, reference: datetime) -> Interval | None:
    """Return the interval that spans all mentions of a text; None if it names no day."""
    intervals = [mention.interval for mention in mentions(text, reference) if not mention.dayless]
    if not intervals:
        return None
    return Interval(min(interval.start for interval in intervals), max(interval.end for interval in intervals))


def readings(mention: Mention) -> list[Interval]:
    """Return every interval that a mention may name, the likeliest first.

    "Last Friday", said on a Sunday, is the one of last week or of two days ago; "Friday" is the last one or the next.
    """
    period, now = mention.calendar_period, mention._now
    if not period:
        return [mention.interval]
    flipped = place(period, replace(now, future=not now.future)) if period.cycle else None
    others = [flipped, place(period.other, now) if period.other else None]
    zone = mention.interval.start.tzinfo
    return list(dict.fromkeys([mention.interval, *(interval(span, zone) for span in others if span)]))


def nearest(mention: Mention, reference: datetime) -> Interval:
    """Choose the reading before or after ``reference``, by the tense of the clause; without a tense, the nearest one.

    The distance to a future reading counts half, since it is more often meant. "Last Friday" is its nearer reading;
    "this Monday", said on a Friday, is the coming one, unless the clause is in the past tense.
    """

    def distance(candidate: Interval) -> timedelta:
        if candidate.start > reference:
            return (candidate.start - reference) / 2
        return max(reference - candidate.end, timedelta())

    period, now = mention.calendar_period, mention._now
    if not period or not (period.cycle or period.other):
        return mention.interval
    if mention.direction in ("past", "ahead") and not period.other:
        is_ahead = mention.direction == "ahead"  # the past includes all of today: "at noon", said at 11:59
        when = now.when if is_ahead else now.when.replace(hour=23, minute=59, second=59)
        span = place(period, replace(now, when=when, future=is_ahead))
        return interval(span, mention.interval.start.tzinfo) if span else mention.interval
    candidates = readings(mention)
    ahead = [candidate for candidate in candidates if candidate.end > reference]
    if period.other and len(ahead) == len(candidates):
        return mention.interval
    if period.other and ahead:
        past = [candidate for candidate in candidates if candidate not in ahead]
        candidates = past if mention.direction == "past" else ahead
    return min(candidates, key=distance)


def unit_named(mention: Mention, *units: Grain) -> Interval | None:
    """Return the unit of a counted date: the month of "two months ago", the year of "two years ago"; else None.

    ``units``: those to return; by default months and years.
    """
    day = mention.interval
    if mention.shape != "point" or mention.grain not in (units or _LONG_UNITS) or day.end - day.start > ONE_DAY:
        return None
    unit = unit_at(day.start.replace(tzinfo=None), mention.grain)
    return interval(unit, day.start.tzinfo) if unit else None


def event_time(mention: Mention, reference: datetime) -> Interval | None:
    """Return the time of the event that a mention dates; for a future open one ("by May 5", "from June on") its day.

    None for a past open one ("since May", but not "till eleven last night"), a time without a day, "now", and a day
    from which the event was moved away.
    """
    if mention.dayless or (mention.grain == "second" and reference in mention.interval and mention.shape == "point"):
        return None
    if mention.direction == "moved":
        return _edge(mention, reference, last=True) if mention.shape == "range" else None
    if mention.shape in ("point", "range"):
        return unit_named(mention) or nearest(mention, reference)
    return _edge(mention, reference, last=mention.shape in _ENDED)


def _edge(mention: Mention, reference: datetime, *, last: bool) -> Interval | None:
    """Return the first or last day (week, month) of a future stretch; "before May 5" names May 5."""
    period, now, zone = mention.calendar_period, mention._now, mention.interval.start.tzinfo
    span = place(period, replace(now, future=_is_ahead(mention, reference, last))) if period else None
    if not span:
        return None
    timed = mention.grain in _TIMES_OF_DAY
    at = span.end - timedelta(seconds=mention.shape != "before" or timed)
    unit = "day" if timed else mention.grain if mention.grain in ("day", "week", "weekend", "month") else ""
    named = unit_at(at if last else span.start - timedelta(seconds=mention.shape == "after"), unit)
    edge = interval(named, zone) if named else None
    if not edge or (period and period.cycle == "year" and edge.start - reference > MIN_NAMED_YEAR_GAP):
        return None
    until_hour = timed and mention.grain != "second" and mention.shape == "before"  # "worked till eleven last night"
    return edge if until_hour or (edge.end if last else edge.start) > reference else None


def _is_ahead(mention: Mention, reference: datetime, last: bool) -> bool:
    """Test whether a future stretch is meant; without a tense, assume so for an end, and decide by the nearer start."""
    if mention.direction or last:
        return mention.direction != "past"
    starts = (reading.start for reading in readings(mention))
    return min(starts, key=lambda start: abs(start - reference) / (2 if start > reference else 1)) > reference


def is_undirected(mention: Mention) -> bool:
    """Test whether a mention may as well mean another day: "on Thursday" or "on the 15th", a few days ago, in a clause
    that is neither past nor future; "next Friday", said on a Monday; December 3 of last year or of the next, if one of
    them is within weeks.
    """
    period, now = mention.calendar_period, mention._now
    if not period or mention.shape not in ("point", "range"):
        return False
    if period.other:
        return all(reading.start > now.when for reading in readings(mention))
    if not period.cycle or (mention.direction and period.cycle != "year"):
        return False
    meant = nearest(mention, now.when)
    if period.cycle == "year":
        near = [time for time in readings(mention) if time != meant and _distance(time, now.when) < MAX_OTHER_YEAR_GAP]
        return bool(near) and mention.grain in _DAYS and _distance(meant, now.when) > MIN_NAMED_YEAR_GAP
    return period.cycle == "week" or (period.cycle == "month" and meant.end <= now.when)


def _distance(reading: Interval, reference: datetime) -> timedelta:
    return max(reading.start - reference, reference - reading.end, timedelta())


def mention(text: str, token: Token, part: Parsed) -> Mention | None:
    now, time = part.now, token.value
    dayless = isinstance(time, Clock)
    period = Period(lambda _: on_day(day_at(now.today), time), time.grain) if dayless else time
    span = place(period, now)
    if not span:
        return None
    yearless = period.cycle in ("year", "month") and span.shape in ("point", "range")
    timed = span.grain in _TIMES_OF_DAY
    direction = part.direction(token, timed=timed) if period.cycle or period.other else ""
    if direction == "lean":
        direction = "ahead" if period.cycle == "week" else ""
    return Mention(
        text[token.start : token.end], token.start, token.end, interval(span, now.when.tzinfo), span.grain, span.shape,
        yearless, dayless, vague=token.kind not in _MENTIONED, direction=direction, calendar_period=period, _now=now,
    )  # fmt: skip


def interval(span: Span, zone: tzinfo | None) -> Interval:
    """Return the span in its zone. A time that the clock skips in spring keeps its length, after the gap."""
    start, end = span.start.replace(tzinfo=zone), span.end.replace(tzinfo=zone)
    if start.astimezone(UTC) < end.astimezone(UTC):
        return Interval(start, end)
    begin = start.astimezone(UTC)
    return Interval(begin.astimezone(zone), (begin + max(span.end - span.start, timedelta(seconds=1))).astimezone(zone))


# ------------------------------------------------------------------------------------------------- figures of speech

_ROWS = tuple(lines("figurative.txt"))
_COLUMNS = re.compile(" ?<|> ?")
_CONTEXT_CHARS = 60  # before and after the words


@lru_cache(maxsize=1 << 10)
def _surroundings(words: str) -> Sequence[tuple[re.Pattern[str], re.Pattern[str]]]:
    return [(ahead, behind) for inside, ahead, behind in _patterns() if inside.fullmatch(words)]


@lru_cache(maxsize=1)
def _patterns() -> Sequence[tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]]:
    """Compile the patterns of the words, and of the text that must precede and follow them, on first use."""
    patterns = []
    for line in _ROWS:
        before, words, after = _COLUMNS.split(line)
        ahead = rf"(?:{before})\s*$" if before else ""
        patterns.append((re.compile(words, re.I), re.compile(ahead, re.I), re.compile(r"\s*" + after, re.I)))
    return patterns


def is_figurative(text: str, start: int, end: int) -> bool:
    """Test by ``data/figurative.txt`` whether the words name no time: a duration, a title, a name, "like yesterday"."""
    before, after = text[max(0, start - _CONTEXT_CHARS) : start], text[end : end + _CONTEXT_CHARS]
    return any(ahead.search(before) and behind.match(after) for ahead, behind in _surroundings(text[start:end]))
