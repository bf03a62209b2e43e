"""Periods that a statement names: "the dentist on June 12th" is found by "this week" without any model.

Runs for every turn that is written. A cheap test comes before the rules of ``dates``, and these read a sentence's
skeleton: its words of time and numbers, every run of other words as one. Sentences built alike are parsed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from memscope.dates import nearest
from memscope.dates.lexer import sentences, skeleton
from memscope.dates.mentions import mentions_of_skeleton
from memscope.imports import pattern
from memscope.records import Interval

BEHIND = 16  # characters: "12th, 2026", "days later"
LONGEST = timedelta(days=62)  # a year or "since 2019" is no date of an event
_WORDS = frozenset(
    """tomorrow weekend ago fortnight monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday
    fridays saturday saturdays sunday sundays january february march april june july august september october november
    december jan feb mar apr jun jul aug sep sept oct nov dec christmas easter thanksgiving halloween week weeks month
    may days today tonight yesterday fri tue tues thu thur thurs""".split()
)
TIMED = 1 << 128  # of a word's bits, above its topics'
_LETTERS = pattern(r"[A-Za-z]+")
_DIGITS = pattern(r"\d(?:st|nd|rd|th)\b|\d[/.-]\d")
_WORDS_ZH = pattern(  # begins with a set of characters, by which ``re`` looks for it
    r"[\d明后昨前今下上本这周期拜十一二三四五六七八九去春国中端元清除圣](?:(?<=[明后昨前今])天|(?<=[今昨])[晚早]"
    r"|(?<=[下上本这])个?(?:周|星期|礼拜|月)|(?<=[周期拜])[一二三四五六日末天]|(?<=[\d十一二三四五六七八九])[月号日]|(?<=[明去])年"
    r"|(?<=春)节|(?<=国)庆|(?<=中)秋|(?<=端)午|(?<=元)旦|(?<=清)明|(?<=除)夕|(?<=圣)诞)"
)


def named_periods(text: str, said: datetime, *, timed: bool = True) -> list[Interval]:
    """Returns the distinct periods of at most two months; a date without a year is the one nearest to ``said``.

    ``timed``: False if no piece of the text ``is_timed``.
    """
    if text.rstrip()[-1:] in "?？" or not (timed or _may_be_dated(text)):
        return []
    found = [
        one for _, sentence in sentences(text) if _may_name(sentence, timed) for one in _of_sentence(sentence, said)
    ]
    return list(dict.fromkeys(found)) if len(found) > 1 else found


def is_timed(piece: str) -> bool:
    """Returns whether a word of time with letters is in a folded piece of text."""
    return piece in _WORDS or not (piece.isalpha() or _WORDS.isdisjoint(_LETTERS.findall(piece)))


def _may_name(sentence: str, timed: bool) -> bool:
    """Returns whether a word of time or a number as in dates is in a sentence; of words only if ``timed``."""
    return (timed and not _WORDS.isdisjoint(_LETTERS.findall(sentence.lower()))) or _may_be_dated(sentence)


def _may_be_dated(text: str) -> bool:
    """Returns whether a text has Chinese words of time, or numbers as in dates."""
    return bool(_DIGITS.search(text) or (not text.isascii() and _WORDS_ZH.search(text)))


def _of_sentence(sentence: str, said: datetime) -> Iterator[Interval]:
    for mention in mentions_of_skeleton(_told(skeleton(sentence)), said):
        if mention.dayless or mention.shape in ("since", "after", "before", "until"):
            continue
        interval = nearest(mention, said) if mention.yearless else mention.interval
        if interval.end - interval.start <= LONGEST:
            yield interval


def _told(text: str) -> str:
    """Returns the text up to what stands behind its last word of time."""
    ends = [match.end() for match in _LETTERS.finditer(text) if match[0] in _WORDS]
    for numbers in (_DIGITS,) if text.isascii() else (_DIGITS, _WORDS_ZH):
        ends += [match.end() for match in numbers.finditer(text)]
    return text[: max(ends, default=0) + BEHIND]
