"""Print the date of an event whose words do not tell it to a reader on another day."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import pairwise

from memscope import dates, languages
from memscope.languages.insight_text import told_as_ahead
from memscope.languages.statement_rules import Statements
from memscope.records import Interval, in_zone

MAX_DATES_PER_TURN = 3  # per turn
NOTHING_NOTED: Mapping[str, Interval] = {}
_FINAL_MARKS = re.compile(r"\s*([.!?。！？…]*)$")
_ONE_DAY, _MAX_DATED_SPAN, _MAX_SHOWN_SPAN = timedelta(days=1), timedelta(days=62), timedelta(days=400)


def with_event(words: str, happened: Interval | None, said_at: datetime) -> str:
    """Add the event's date if it is missing: ``The user has a dentist appointment (2026-06-12).``"""
    if happened is None:
        return words
    when = written(happened, said_at.tzinfo)
    known = when == f"{said_at:%Y-%m-%d}" or when in words or _names(words, happened, said_at)
    return words if known else _before_stop(words, when)


def with_dates(words: str, said_at: datetime, noted: Mapping[str, Interval] = NOTHING_NOTED) -> str:
    """Add the dates that relative words mean: ``I see the dentist tomorrow (2026-06-12).``

    Ambiguous words get none: "on Thursday" may be the last or the next one. ``noted``: known times by quote; they
    override the rules' reading of the quoted words.
    """
    mentions = dates.mentions(words, said_at)
    rules = _rules_on(words) if mentions else ()
    if not mentions or any(one.birth.search(words) for one in rules):
        return words
    mentions = [one for one in _definite_times(words, mentions, rules) if not _has_year(one, rules)]
    places = [(start, start + len(quote), time) for quote, time in noted.items() if (start := words.find(quote)) >= 0]
    meant = [time for start, end, time in places if any(start <= mention.start < end for mention in mentions)]
    mentions = [mention for mention in mentions if not any(start <= mention.start < end for start, end, _ in places)]
    times = [
        time
        for mention in mentions
        if (time := dates.event_time(mention, said_at)) and time.end - time.start <= _MAX_SHOWN_SPAN
    ]
    times = sorted([*meant, *times], key=lambda time: time.start)
    if any(time.end - time.start <= _ONE_DAY for time in times):  # "the proposal for Q4 by December 4"
        times = [time for time in times if time.end - time.start <= _MAX_DATED_SPAN]
    named = dict.fromkeys(written(time, said_at.tzinfo) for time in times)
    dates_shown = [when for when in named if when != f"{said_at:%Y-%m-%d}"][:MAX_DATES_PER_TURN]
    return _before_stop(words, ", ".join(dates_shown)) if dates_shown else words


def may_mean(words: str, reference: datetime, time: Interval) -> bool:
    """Return whether a time named in the words, said at ``reference``, may be this one."""
    named = [one for mention in dates.mentions(words, reference) for one in dates.readings(mention)]
    return any(map(time.overlaps, named))


def plan_is_past(words: str, since: datetime, when: datetime) -> bool:
    """Return whether the words tell a plan and every time they name is over by ``when``."""
    if not told_as_ahead(words):
        return False
    times = [time for mention in dates.mentions(words, since) if (time := dates.event_time(mention, since))]
    return bool(times) and all(time.end <= when for time in times)


def _rules_on(words: str) -> Sequence[Statements]:
    return [one.statements for one in languages.of(words) or (languages.NEUTRAL,)]


def _has_year(mention: dates.Mention, rules: Sequence[Statements]) -> bool:
    return any(one.year.search(mention.text) for one in rules)


def _definite_times(words: str, mentions: Sequence[dates.Mention], rules: Sequence[Statements]) -> list[dates.Mention]:
    """Return the definite times, without alternatives and ambiguous ones: "on Thursday", "in March or May"."""
    pairs = ((a, b) for a, b in pairwise(mentions) if any(r.either.fullmatch(words[a.end : b.start]) for r in rules))
    either = {one.start for pair in pairs for one in pair}
    return [mention for mention in mentions if mention.start not in either and not dates.is_undirected(mention)]


def written(interval: Interval, zone: tzinfo | None) -> str:
    """Print the interval as a day, month or year if it is one, else as its first and last day."""
    start, end = in_zone(interval.start, zone), in_zone(interval.end, zone)
    last = end - timedelta(microseconds=1)
    if start.date() == last.date():
        return f"{start:%Y-%m-%d}"
    if (start.month, start.day, end.month, end.day) == (1, 1, 1, 1) and end.year == start.year + 1:
        return f"{start:%Y}"
    if start.day == end.day == 1 and (end.year - start.year) * 12 + end.month - start.month == 1:
        return f"{start:%Y-%m}"
    return f"{start:%Y-%m-%d} to {last:%Y-%m-%d}"


def _names(words: str, happened: Interval, said_at: datetime) -> bool:
    """Return whether the words name the same time, with its year."""
    rules = _rules_on(words)
    mentions = (mention for mention in dates.mentions(words, said_at) if _has_year(mention, rules))
    return any(one.interval.start >= happened.start and one.interval.end <= happened.end for one in mentions)


def _before_stop(words: str, when: str) -> str:
    stop = _FINAL_MARKS.search(words)
    at = stop.start() if stop else len(words)
    phrases = languages.main(words).phrases
    dates = when.replace(" to ", phrases.until).replace(", ", phrases.separator)
    return f"{words[:at]}{phrases.event.format(dates=dates)}{words[at:].strip()}"
