"""Time expressions in English and Chinese, by rules, as intervals.

    text ──lexer──▶ tokens ──rules (a cascade of rows)──▶ periods ──place──▶ mentions

Rules and not a model: the same answer every time, in microseconds, and silence for what names no date ("recently",
"the other day", 最近). A language is a table of words and rows (``en.py``, ``zh.py``). Conventions:

- a week begins on Monday; "last week" is the calendar's, "the last 3 weeks" end yesterday;
- 5/8/2023 is May 8th, unless the first number can only be a day; 2023-05-08 and 20230508 are what they look like;
- "from May to July" ends with July, "3 to 5 pm" at 5;
- without a direction the last one is meant ("Friday", "in May"), with a future tense the next;
- "at 3" is at 15:00 unless a part of the day is named; 03:30, with its zero, is of the morning;
- a day that does not exist (June 31st), a lunar one and what is repeated ("every second Tuesday") are silent;
- a morning is 8-12, an afternoon 12-16, an evening 16-20, a night 20-24; seasons are those of the northern half.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from memscope.dates.calendar import EARLIEST, LATEST, Clock, Grain, Now, Period, Shape, Span, each, place
from memscope.dates.cascade import Token, run
from memscope.dates.clocks import on_day
from memscope.dates.lexer import fold, sentences, tokens
from memscope.dates.relative import day_from_today
from memscope.dates.rules import NAMES, ROWS
from memscope.errors import InputError
from memscope.records import Interval

__all__ = ["EARLIEST", "LATEST", "Mention", "mentions", "recurrences", "resolve", "weekday"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A time expression: ``text[start:end]`` of what was said, and the interval it names.

    ``grain`` is what was named: "two weeks ago" is a day, named in weeks. ``shape`` tells a stretch between two named
    ends ("range", its grain that of the last), an open one ("since", "after", "before", "until" for "not after"; it
    reaches to the end or the beginning of the calendar) from the rest. ``yearless`` when neither year nor anything
    relative was named: "in May", "on the 5th"; see ``recurrences``. ``dayless`` for a time of no named day ("at 3 pm"),
    for which the reference's day stands.
    """

    text: str
    start: int
    end: int
    interval: Interval
    grain: Grain
    shape: Shape = "point"
    yearless: bool = False
    dayless: bool = False
    _period: Period | None = field(default=None, repr=False, compare=False)


def mentions(text: str, reference: datetime) -> list[Mention]:
    """Every time expression in ``text``, in order, none overlapping; ``reference`` is when it was said (zone-aware)."""
    if reference.tzinfo is None:
        raise InputError("reference has no time zone", hint="give an aware datetime")
    folded = fold(text)
    found = (mention(text, token, now) for at, part in sentences(folded) for token, now in parse(part, at, reference))
    return [one for one in found if one]


def resolve(text: str, reference: datetime) -> Interval | None:
    """The one interval a text names: the span of its mentions. None when no day is named."""
    found = [mention.interval for mention in mentions(text, reference) if not mention.dayless]
    if not found:
        return None
    return Interval(min(one.start for one in found), max(one.end for one in found))


def recurrences(mention: Mention, first: datetime, last: datetime) -> list[Interval]:
    """A yearless mention in every year (a day of the month: in every month) that ``[first, last)`` touches, in order.

    For any other mention, its own interval. A question about "May" without a year is about every May of the data.
    """
    if not mention.yearless or not mention._period:
        return [mention.interval]
    zone = mention.interval.start.tzinfo
    begin, end = (when.astimezone(zone).replace(tzinfo=None) for when in (first, last))
    return [interval(span, zone) for span in each(mention._period, begin, end)]


def weekday(when: datetime, language: str) -> str:
    """ "Monday" or "星期一", for printed lines; English for a language without a table."""
    return NAMES.get(language, NAMES["en"])[when.weekday()]


# -------------------------------------------------------------------------------------------------------------- within

_MENTIONED = frozenset({"date", "period", "moment", "open", "time"})
# What names no time alone: a sentence of nothing else is not looked at further.
_CONNECTORS = frozenset(
    "word stop comma hyphen slash dot paren colon equals func the of in and or to article at on for from by before"
    " after since till between around every other during past later prior ago future pasttense step edge beginning"
    " rest more less within couple times half halfword second now hence coming onward ge di fen miao sharp ban"
    " inside amid upto whose lunar lunarcal cha".split()
)


def parse(sentence: str, offset: int, reference: datetime) -> list[tuple[Token, Now]]:
    """The tokens of a sentence that mean a time, and the direction the sentence speaks in."""
    found = tokens(sentence, offset)
    kinds = {token.kind for token in found}
    if kinds <= _CONNECTORS:
        return []
    now = Now(reference, "future" in kinds and "pasttense" not in kinds, "pasttense" in kinds)
    return [(token, now) for token in run(ROWS, found, now) if token.kind in _MENTIONED]


def mention(text: str, token: Token, now: Now) -> Mention | None:
    dayless = isinstance(token.value, Clock)
    period = on_reference(token.value, now) if isinstance(token.value, Clock) else token.value
    span = place(period, now)
    if not span:
        return None
    yearless = period.cycle in ("year", "month") and span.shape in ("point", "range")
    placed = interval(span, now.when.tzinfo)
    words = text[token.start : token.end]
    return Mention(words, token.start, token.end, placed, span.grain, span.shape, yearless, dayless, period)


def on_reference(time: Clock, now: Now) -> Period:
    today = day_from_today(now, 0)
    return Period(lambda n: on_day(span, time) if (span := today.find(n)) else None, time.grain)


def interval(span: Span, zone: tzinfo | None) -> Interval:
    """The span in its zone. A time that the clock skips in spring is as long, and lies after the gap."""
    start, end = span.start.replace(tzinfo=zone), span.end.replace(tzinfo=zone)
    if start.astimezone(UTC) < end.astimezone(UTC):
        return Interval(start, end)
    begin = start.astimezone(UTC)
    return Interval(begin.astimezone(zone), (begin + max(span.end - span.start, timedelta(seconds=1))).astimezone(zone))
