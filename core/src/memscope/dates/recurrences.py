"""Recurring times: a mention without a year in every year, and rules of repetition in a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.dates.calendar import ONE_DAY, Now, Period, Span, day_at, each, number_of, place, start_of, unit_at
from memscope.dates.cascade import Token
from memscope.dates.mentions import Mention, interval
from memscope.dates.parsing import parsed
from memscope.dates.repeated import Rule
from memscope.records import Interval


@dataclass(frozen=True, slots=True)
class Recurrence:
    """``text[start:end]``, and the rule that it names."""

    text: str
    start: int
    end: int
    rule: Rule


def recurrences(mention: Mention, first: datetime, last: datetime) -> list[Interval]:
    """Return a yearless mention's intervals in every year (for a day of the month: every month) of ``[first, last)``.

    For any other mention, its own interval. A question about "May" without a year is about every May in memory.
    """
    if not mention.yearless or not mention.calendar_period:
        return [mention.interval]
    zone = mention.interval.start.tzinfo
    begin, end = (when.astimezone(zone).replace(tzinfo=None) for when in (first, last))
    return [interval(span, zone) for span in each(mention.calendar_period, begin, end)]


def recurring(text: str, reference: datetime) -> list[Recurrence]:
    """Return the repetitions a text names, in order: "every other Friday", "her birthday is on May 5th", 每周二."""
    return [
        Recurrence(text[token.start : token.end], token.start, token.end, rule)
        for sentence in parsed(text, reference)
        for i, token in enumerate(sentence.tokens)
        if (rule := _rule(sentence.tokens, i, sentence.now))
    ]


def _rule(tokens: Sequence[Token], i: int, now: Now) -> Rule | None:
    """Return the rule of a token; for a birthday, or beside "every year", the rule of the day named."""
    kind, _, _, value = tokens[i]
    if kind == "jubilee":
        beside = (*tokens[i + 1 :], *tokens[:i][::-1])
        return next((rule for token in beside if (rule := _day_of_year(token, now))), None)
    if kind != "gone" or not isinstance(value, Rule):
        return None
    day = _day_of_year(tokens[i - 1], now) if i and value == Rule("year", value.interval) else None
    return replace(day, interval=value.interval) if day else value


def _day_of_year(token: Token, now: Now) -> Rule | None:
    """Return the rule of a day that has the same date every year: not of Easter, nor of a day of the lunar calendar."""
    span = place(token.value, now) if token.kind == "date" and isinstance(token.value, Period) else None
    if span is None or span.grain != "day":
        return None
    next_year = token.value.find(span.start.year + 1) if token.value.cycle == "year" else None
    month, day = span.start.month, span.start.day
    return Rule("year", month=month, day=day) if next_year is None or next_year.start.day == day else None


def occurrences(rule: Rule, first: datetime, last: datetime, anchor: datetime | None = None) -> list[Interval]:
    """Return a rule's days that touch ``[first, last)``, in order; without days, whole weeks, months or years.

    "Every other week" (day, month, year) is counted from the week of ``anchor``, by default of ``first``.
    """
    zone = first.tzinfo
    begin, end, origin = (when.astimezone(zone).replace(tzinfo=None) for when in (first, last, anchor or first))
    start = number_of(rule.freq, origin)
    numbers = range(number_of(rule.freq, begin), number_of(rule.freq, end) + 1)
    spans = [span for n in numbers if (n - start) % rule.interval == 0 for span in _named(rule, n)]
    within = (span for span in spans if span.start < end and begin < span.end)
    return [Interval(span.start.replace(tzinfo=zone), span.end.replace(tzinfo=zone)) for span in within]


def _named(rule: Rule, n: int) -> list[Span]:
    """Return the spans of a rule in the n-th of its units; none on a day that does not exist."""
    unit: str = rule.freq
    try:
        start = start_of(rule.freq, n)
        if unit == "week" and rule.weekdays:
            return [day_at(start + weekday * ONE_DAY) for weekday in rule.weekdays]
        if unit == "year" and rule.month:
            start, unit = start.replace(month=rule.month), "month"
        if unit == "month" and rule.day:
            start, unit = start.replace(day=rule.day), "day"
        span = unit_at(start, unit)
        return [span] if span else []
    except (ValueError, OverflowError):
        return []
