"""Terms of repeated days: "choir every Tuesday" is found by "this week", a birthday by its day of any year.

A unit has a term per weekday or day of the year that its text repeats, a query one per day it asks for, so that one
search in any store brings the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from memscope.dates import recurring
from memscope.dates.lexer import sentences, skeleton
from memscope.imports import pattern
from memscope.records import Interval
from memscope.text.terms import term

DAY = timedelta(days=1)
WEEKLY = timedelta(days=8)  # a longer time has every day of the week
LONGEST = timedelta(days=31)
_LIKELY = pattern(  # begins with a set of characters, by which ``re`` looks for it
    r"[EeMTWFSBbAaw每逢生纪紀](?:(?<=[Ee])(?:very|ach) (?:[\w.]+ ){0,2}(?:[A-Z]|[mtwfs]\w+day|week|month|year)"
    r"|(?<=M)ondays\b|(?<=T)(?:ues|hurs)days\b"
    r"|(?<=W)ednesdays\b|(?<=F)ridays\b|(?<=S)(?:atur|un)days\b|(?<=[Ww])eek(?:end|day)s\b|(?<=[Bb])irthday"
    r"|(?<=[Aa])nniversary|(?<=[每逢])|(?<=生)日|(?<=[纪紀])念日)"
)


def repeated_days(text: str, said: datetime) -> tuple[int, ...]:
    """Returns the terms of the days that a text repeats; none for what happens every day, or every month."""
    if not _LIKELY.search(text):
        return ()
    likely = (skeleton(one) for _, one in sentences(text) if _LIKELY.search(one))  # built alike they are parsed once
    rules = (one.rule for sentence in likely for one in recurring(sentence, said))
    return tuple(dict.fromkeys(term for rule in rules for term in _of_rule(rule.weekdays, rule.month, rule.day)))


def _of_rule(weekdays: Iterable[int], month: int | None, day: int | None) -> Iterator[int]:
    yield from map(_weekday, weekdays)
    if day:
        yield _day(month or 0, day)


def days_asked(times: Iterable[Interval]) -> tuple[int, ...]:
    """Returns the terms of the days in times of at most a month."""
    return tuple(dict.fromkeys(term for time in times if time.end - time.start <= LONGEST for term in _of_time(time)))


def _of_time(time: Interval) -> Iterator[int]:
    day, length = time.start, time.end - time.start
    while day < time.end:
        yield from (_day(day.month, day.day), _day(0, day.day))
        if length <= WEEKLY:
            yield _weekday(day.weekday())
        day += DAY


def _weekday(number: int) -> int:
    return term(f"\0weekday {number}")


def _day(month: int, day: int) -> int:
    """Returns the term of a day of the year, or with month 0 of every month."""
    return term(f"\0day {month} {day}")
