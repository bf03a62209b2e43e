"""Print the date of an event whose words do not name it to a reader of another day."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from memscope import dates
from memscope.records import Interval
from memscope.text.language import language

MOST = 3  # dates printed behind a turn
_YEAR = re.compile(r"\d{4}|[〇零一二三四五六七八九]{4}年")
_BORN = re.compile(r"(?i)\bborn\b|出生|生于|生於")
_END = re.compile(r"\s*([.!?。！？…]*)$")
_TOLD = re.compile(r"(?i)[a-z]{2}ed\b")  # a past tense that the dates do not know: "Kim called on Friday"
_LONGEST = timedelta(days=400)


def with_event(words: str, happened: Interval | None, said: datetime) -> str:
    """``The user has a dentist appointment (2026-06-12).``: the event's date before the full stop, if it is missing."""
    if happened is None:
        return words
    when = written(happened, said.tzinfo)
    known = when == f"{said:%Y-%m-%d}" or when in words or _names(words, happened, said)
    return words if known else _before_stop(words, when)


def with_dates(words: str, said: datetime) -> str:
    """``I see the dentist tomorrow (2026-06-12).``: the days that the words name by the day they were said.

    "Dentist on Thursday" says none: it may be the last one or the next.
    """
    if _BORN.search(words):  # the year is hardly that of the saying
        return words
    found = [one for one in dates.mentions(words, said) if not one.dayless and one.shape in ("point", "range")]
    if not _TOLD.search(words):
        found = [one for one in found if not dates.is_undirected(one)]
    relative = (
        dates.nearest(one, said) if one.yearless else one.interval for one in found if not _YEAR.search(one.text)
    )
    named = dict.fromkeys(written(one, said.tzinfo) for one in relative if one.end - one.start <= _LONGEST)
    told = [when for when in named if when != f"{said:%Y-%m-%d}"][:MOST]
    return _before_stop(words, ", ".join(told)) if told else words


def written(interval: Interval, zone: tzinfo | None) -> str:
    """A day, month or year as far as the interval is one, else its first and last day; an instant with its time."""
    start, end = interval.start.astimezone(zone), interval.end.astimezone(zone)
    last = end - timedelta(microseconds=1)
    if start.date() == last.date():
        return f"{start:%Y-%m-%d}"
    if (start.month, start.day, end.month, end.day) == (1, 1, 1, 1) and end.year == start.year + 1:
        return f"{start:%Y}"
    if start.day == end.day == 1 and (end.year - start.year) * 12 + end.month - start.month == 1:
        return f"{start:%Y-%m}"
    return f"{start:%Y-%m-%d} to {last:%Y-%m-%d}"


def _names(words: str, happened: Interval, said: datetime) -> bool:
    """Returns whether the words name the same time, with its year."""
    mentions = (one for one in dates.mentions(words, said) if _YEAR.search(one.text))
    return any(one.interval.start >= happened.start and one.interval.end <= happened.end for one in mentions)


def _before_stop(words: str, when: str) -> str:
    stop = _END.search(words)
    at = stop.start() if stop else len(words)
    if language(words) == "zh":
        return f"{words[:at]}（{when.replace(' to ', '至').replace(', ', '、')}）{words[at:].strip()}"
    return f"{words[:at]} ({when}){words[at:].strip()}"
