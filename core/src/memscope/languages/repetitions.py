"""Search terms of recurring days: "this week" finds "choir every Tuesday", and a day of any year finds a birthday.

A unit has one term per weekday or day of the year on which its text recurs, a query one per day it asks for, so that
one search in any store matches the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from memscope.dates import recurring
from memscope.dates.calendar import ONE_DAY
from memscope.dates.languages import words_of
from memscope.dates.lexer import sentences, skeleton
from memscope.languages.registry import of
from memscope.records import Interval
from memscope.text.terms import term

MAX_WEEKDAY_SPAN = timedelta(days=8)  # a longer time contains every weekday, so its weekdays select nothing
MAX_ASKED_SPAN = timedelta(days=31)


def repeated_days(text: str, reference: datetime) -> tuple[int, ...]:
    """Return the terms of the days on which a text recurs; none for "every day" or "every month"."""
    patterns = [one.words.repetition for one in of(text) if one.words.repetition]
    if not any(pattern.search(text) for pattern in patterns):
        return ()
    further = words_of(text)
    likely = (skeleton(part, further) for _, part in sentences(text) if any(one.search(part) for one in patterns))
    rules = (one.rule for sentence in likely for one in recurring(sentence, reference))
    return tuple(dict.fromkeys(term for rule in rules for term in _of_rule(rule.weekdays, rule.month, rule.day)))


def _of_rule(weekdays: Iterable[int], month: int | None, day: int | None) -> Iterator[int]:
    yield from map(_weekday, weekdays)
    if day:
        yield _day(month or 0, day)


def days_asked(times: Iterable[Interval]) -> tuple[int, ...]:
    """Return the terms of the days in the times of a query; a time of more than a month has none."""
    return tuple(
        dict.fromkeys(term for time in times if time.end - time.start <= MAX_ASKED_SPAN for term in _of_time(time))
    )


def _of_time(time: Interval) -> Iterator[int]:
    day, length = time.start, time.end - time.start
    while day < time.end:
        yield from (_day(day.month, day.day), _day(0, day.day))
        if length <= MAX_WEEKDAY_SPAN:
            yield _weekday(day.weekday())
        day += ONE_DAY


def _weekday(number: int) -> int:
    return term(f"\0weekday {number}")


def _day(month: int, day: int) -> int:
    """Return the term of a day of the year; with month 0, of that day in every month."""
    return term(f"\0day {month} {day}")
