"""Time expressions of a text, each with the interval that it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo

from memscope.dates.calendar import DAYS, Clock, Grain, Now, Period, Shape, Span, day_at, place
from memscope.dates.cascade import Token
from memscope.dates.clocks import on_day
from memscope.dates.figurative import is_figurative
from memscope.dates.parsing import parsed, parsed_sentence
from memscope.records import Interval

LONG_AGO = timedelta(days=300)  # who tells of a day of so long ago names its year
_MENTIONED = frozenset({"date", "period", "moment", "open", "time"})


@dataclass(frozen=True, slots=True)
class Mention:
    """A time expression: ``text[start:end]``, and the interval it names.

    ``grain`` is the unit named: "two weeks ago" is a day, named in weeks. ``shape`` tells a stretch between two named
    ends ("range", its grain that of the last) and an open one ("since", "after", "before", "until" for "not after"; it
    reaches to the end or the beginning of the calendar) from the rest. ``yearless`` if neither a year nor anything
    relative was named: "in May", "on the 5th"; see ``recurrences``. ``dayless`` for a time without a named day ("at 3
    pm"), which takes the reference's day.
    """

    text: str
    start: int
    end: int
    interval: Interval
    grain: Grain
    shape: Shape = "point"
    yearless: bool = False
    dayless: bool = False
    calendar_period: Period | None = field(default=None, repr=False, compare=False)
    _now: Now | None = field(default=None, repr=False, compare=False)


def mentions(text: str, reference: datetime) -> list[Mention]:
    """Returns the time expressions of ``text``, in order, none overlapping; ``reference``: when it was said
    (zone-aware).
    """
    return _named(text, parsed(text, reference))


def mentions_of_skeleton(skeleton: str, reference: datetime) -> list[Mention]:
    return _named(skeleton, parsed_sentence(skeleton, reference))


def _named(text: str, parts: Iterable[tuple[Sequence[Token], Now]]) -> list[Mention]:
    found = ((token, now) for part, now in parts for token in part if token.kind in _MENTIONED)
    named = (one for token, now in found if (one := mention(text, token, now)))
    return [one for one in named if not is_figurative(text, one.start, one.end)]


def resolve(text: str, reference: datetime) -> Interval | None:
    """Returns the one interval a text names: the span of its mentions. None when no day is named."""
    found = [mention.interval for mention in mentions(text, reference) if not mention.dayless]
    if not found:
        return None
    return Interval(min(one.start for one in found), max(one.end for one in found))


def readings(mention: Mention) -> list[Interval]:
    """Returns every interval that the words may name, the likelier first.

    "Last Friday", said on a Sunday, is that of the last week or two days ago; "Friday" is the last one or the next.
    """
    period, now = mention.calendar_period, mention._now
    if not period or not now:
        return [mention.interval]
    flipped = place(period, replace(now, future=not now.future)) if period.cycle else None
    others = [flipped, place(period.other, now) if period.other else None]
    zone = mention.interval.start.tzinfo
    return list(dict.fromkeys([mention.interval, *(interval(span, zone) for span in others if span)]))


def nearest(mention: Mention, said: datetime) -> Interval:
    """Returns the reading of the sentence's tense; without one, or with both, the one nearest to ``said``.

    A future one counts as half as far there, since it is more often meant. A day that the tense puts ``LONG_AGO`` is
    one soon to come: "I bought tickets for December 3", said in November.
    """
    long_ago = mention.grain in DAYS and said - mention.interval.end > LONG_AGO
    if mention._now and mention._now.decided and not long_ago:
        return mention.interval

    def distance(one: Interval) -> timedelta:
        return (one.start - said) / 2 if one.start > said else max(said - one.end, timedelta())

    return min(readings(mention), key=distance)


def is_undirected(mention: Mention) -> bool:
    """Returns whether it names a day of the week, and no word tells of the past or of what is to come."""
    period, now = mention.calendar_period, mention._now
    return bool(period and period.cycle == "week" and now and not (now.decided or now.past or now.future))


def mention(text: str, token: Token, now: Now) -> Mention | None:
    dayless = isinstance(token.value, Clock)
    period = on_reference(token.value, now) if isinstance(token.value, Clock) else token.value
    span = place(period, now)
    if not span:
        return None
    yearless = period.cycle in ("year", "month") and span.shape in ("point", "range")
    placed = interval(span, now.when.tzinfo)
    words = text[token.start : token.end]
    return Mention(words, token.start, token.end, placed, span.grain, span.shape, yearless, dayless, period, now)


def on_reference(time: Clock, now: Now) -> Period:
    return Period(lambda n: on_day(day_at(now.today), time), time.grain)


def interval(span: Span, zone: tzinfo | None) -> Interval:
    """Returns the span in its zone. A time that the clock skips in spring is as long, and lies after the gap."""
    start, end = span.start.replace(tzinfo=zone), span.end.replace(tzinfo=zone)
    if start.astimezone(UTC) < end.astimezone(UTC):
        return Interval(start, end)
    begin = start.astimezone(UTC)
    return Interval(begin.astimezone(zone), (begin + max(span.end - span.start, timedelta(seconds=1))).astimezone(zone))
