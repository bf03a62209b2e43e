"""Periods that a statement mentions, so that "this week" finds "the dentist on June 12th" without a model.

Runs for every written turn. A cheap test precedes the rules of ``dates``, which read a sentence's skeleton: its words
of time and numbers, with every run of other words replaced by one. Equal skeletons are parsed once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache

from memscope.dates import event_time, is_undirected, readings
from memscope.dates.languages import FURTHER_CHARACTER, words_of
from memscope.dates.lexer import sentences, skeleton
from memscope.dates.mentions import mentions_of_skeleton
from memscope.imports import pattern
from memscope.records import Interval
from memscope.text.language import depends_on_languages, every_rules
from memscope.text.tokens import fold

MAX_CHARS_BEHIND = 30  # read after the last word of time, for "12th, 2026" or "days later"
MAX_EVENT_SPAN = timedelta(days=62)  # a year or "since 2019" does not date an event
TIMED_BIT = 1 << 128  # above the bits of topics
_LATIN_LETTERS = pattern(r"[A-Za-zÀ-ÖØ-öø-ɏ]+")
_DATE_DIGITS = pattern(r"\d[/.-]\d")


def named_periods(text: str, reference: datetime, *, timed: bool = True) -> list[Interval]:
    """Return the distinct periods of up to two months in a text, and the year of "three years ago".

    ``reference``: when it was said; a date without a year is the nearest one. ``timed``: some piece ``is_timed``.
    """
    if not (timed or _may_be_dated(text)):
        return []
    statements = [_statement(sentence) for _, sentence in sentences(text) if _may_name(sentence, timed)]
    further = words_of(text) if statements else None
    skeletons = (skeleton(statement, further) for statement in statements)
    periods = [period for one in skeletons for period in _of_skeleton(one, reference)]
    return list(dict.fromkeys(periods)) if len(periods) > 1 else periods


def is_timed(piece: str) -> bool:
    """Return whether a folded piece of text is a word of time such as "monday"."""
    known = _time_words()
    return piece in known or not (piece.isalpha() or known.isdisjoint(_LATIN_LETTERS.findall(piece)))


@depends_on_languages
@lru_cache(maxsize=1)
def _time_words() -> frozenset[str]:
    return frozenset(form for rules in every_rules() for word in rules.time_words for form in (word, fold(word)))


@depends_on_languages
@lru_cache(maxsize=2)
def _patterns(ascii_only: bool) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of date-like numbers, and of words of time in scripts without spaces."""
    known = [(rules.script, rules.time_pattern) for rules in every_rules()]
    return (_DATE_DIGITS, *(one for script, one in known if one and (script == "latin" or not ascii_only)))


def _may_name(sentence: str, timed: bool) -> bool:
    """Test whether a sentence has a date-like number or, if ``timed``, a word of time."""
    return (timed and not _time_words().isdisjoint(_LATIN_LETTERS.findall(sentence.lower()))) or _may_be_dated(sentence)


def _may_be_dated(text: str) -> bool:
    return any(pattern.search(text) for pattern in _patterns(text.isascii()))


def _statement(sentence: str) -> str:
    """Cut the question off a sentence: "it's on the 21st. ok?" is one sentence, as "ok" is not capitalised."""
    return sentence.rpartition(". ")[0] if sentence.rstrip()[-1:] in ("?", "？") else sentence


def _of_skeleton(skeleton: str, reference: datetime) -> Iterator[Interval]:
    """Yield the time of each event, both readings of an ambiguous one ("on Thursday": the last or the next)."""
    for mention in mentions_of_skeleton(_up_to_last_time_word(skeleton), reference):
        interval = event_time(mention, reference)
        if interval and min(one.end - one.start for one in (interval, mention.interval)) <= MAX_EVENT_SPAN:
            yield interval  # also the year of "three years ago", whose mention is a day
            yield from readings(mention) if is_undirected(mention) else ()


def _up_to_last_time_word(text: str) -> str:
    """Cut the text ``MAX_CHARS_BEHIND`` characters after its last word of time."""
    if len(text) <= MAX_CHARS_BEHIND:
        return text
    known = _time_words()
    ends = [match.end() for match in _LATIN_LETTERS.finditer(text) if match[0] in known]
    ends += [
        match.end() for pattern in (*_patterns(text.isascii()), FURTHER_CHARACTER) for match in pattern.finditer(text)
    ]
    return text[: max(ends, default=0) + MAX_CHARS_BEHIND]
