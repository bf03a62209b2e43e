"""Decide for each time in a sentence whether its event is past or future.

The cues are words of ``data/en.txt`` and ``data/zh.txt``: tenses, plans, and verbs of booking, buying or agreeing,
whose past tense leaves the event ahead ("booked a table for the 28th", 订了28号的酒店). The cue nearest to the time
within its clause decides: in English the one before it; in Chinese, where a day precedes its verb, the one after it,
unless the day belongs to a noun (28号的) or ends the clause (定在28号). A clause without a cue follows its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from memscope.dates import tense_en, tense_zh
from memscope.dates.cascade import Token
from memscope.dates.cues import (
    ARRANGING_KINDS,
    DECISIVE_KINDS,
    NEUTRAL_KINDS,
    Cue,
    Direction,
    Surroundings,
    first_strong,
    last_strong,
)
from memscope.dates.lexer import IDEOGRAPH
from memscope.imports import pattern

_MOVED = frozenset(("agree", "shift"))  # verbs in "moved it from the 10th to the 12th"
_BREAKS = frozenset(("comma", "stop", "colon", "paren"))
_BEGINNINGS = frozenset(("from", "since", "onward"))  # words before a beginning, which may lie ahead of its arrangement
_PERSON_TITLE = pattern(r"\b(?:dr|mr|mrs|ms|st|prof|vs)$")


class Clause(NamedTuple):
    tokens: Sequence[Token]
    cues: Sequence[Cue]


class Tenses:
    """The clauses of a sentence, read when first asked for."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self._tokens, self._text = tokens, text
        chinese = not text.isascii() and IDEOGRAPH.search(text) is not None
        self._read = tense_zh.read_cues if chinese else tense_en.read_cues
        self._own = tense_zh.direction if chinese else tense_en.direction

    @cached_property
    def clauses(self) -> Sequence[Clause]:
        return [Clause(part, list(self._read(part, self._text))) for part in _clauses(self._tokens, self._text)]

    @cached_property
    def past(self) -> bool:
        """The sentence has a verb in the past tense that is not a booking: "done in 3 days"."""
        past = (token for token in self._tokens if token.kind == "pasttense" and token.value in (None, "get", "verb"))
        verbs = {token.start for token in past}
        cues = (cue for clause in self.clauses for cue in clause.cues) if verbs else ()
        return any(cue.sign == "past" and cue.start in verbs for cue in cues)

    def direction(self, start: int, end: int, *, timed: bool) -> Direction:
        """Return whether the event at the time ``[start, end)`` is "past" or "ahead"; "" if no word tells.

        A time with a time of day (``timed``) is more likely an appointment than the date of a past clause before it:
        "the letter came, 17 June at 9.15".

        "lean": probably ahead, if the day is soon. "moved": the event was moved from this time, or to a range's end.
        """
        first = self._clause_at(start)
        last = max(first, self._clause_at(end - 1))
        place = _place(self.clauses[first], self.clauses[last], start, end)
        if _is_moved(place):
            return "moved"
        if any(token.value == "past" for token in place.inside):  # "since March"
            return "past"
        direction = self._own(place)
        if direction is not None:
            return direction
        bare = all(token.kind in NEUTRAL_KINDS for token in (*place.before, *place.behind))
        of_neighbours = self._of_neighbours(first, last, bare, timed)
        begins = any(token.kind in _BEGINNINGS for token in (*place.before[-1:], *place.inside))
        return "lean" if begins and of_neighbours == "past" else of_neighbours  # "got the job, from January"

    def _clause_at(self, position: int) -> int:
        return max((i for i, clause in enumerate(self.clauses) if clause.tokens[0].start <= position), default=0)

    def _of_neighbours(self, first: int, last: int, bare: bool, timed: bool) -> Direction:
        """Return the direction of the nearest clause before that has one, else of the next clause.

        A ``bare`` time ("We met in Rome, March 5") follows the clause beside it; any other follows only a booking.
        """
        for at in range(first - 1, -1, -1):
            if sign := last_strong(self.clauses[at].cues):
                if sign == "past" and timed:
                    return ""
                return self._carried(sign, bare) if at + 1 == first or sign in ARRANGING_KINDS else ""
        behind = self.clauses[last + 1].cues if last + 1 < len(self.clauses) else ()
        cue = next((cue for cue in behind if cue.sign in DECISIVE_KINDS), None)
        if not cue or cue.sign in ARRANGING_KINDS:
            return "ahead" if cue and cue.done and not bare else ""
        return self._carried(cue.sign, bare) if bare or not first else ""

    def _carried(self, sign: str, bare: bool) -> Direction:
        if sign == "ahead" or sign in ARRANGING_KINDS or (sign == "be" and bare):
            return "ahead"
        return "past" if sign == "past" and bare else ""


# ------------------------------------------------------------------------------------------------------------- clauses


def _clauses(tokens: Sequence[Token], text: str) -> Iterator[Sequence[Token]]:
    first = 0
    for i in range(len(tokens)):
        if i > first and _parts(tokens, i, text):
            yield tokens[first:i]
            first = i
    yield tokens[first:]


def _parts(tokens: Sequence[Token], i: int, text: str) -> bool:
    """Test whether a clause ends before this token: a comma, "but", a full stop before a lower-case letter."""
    kind, start, end, value = tokens[i]
    if kind in _BREAKS or value == "break":
        return True
    if kind in ("after", "before", "since", "till"):  # "after we met Anna", not "after May 5"
        behind = next((token for token in tokens[i + 1 :] if token.kind not in ("the", "article")), None)
        return behind is not None and behind.kind in ("word", "func", "pasttense")
    if kind == "and":  # "and I ..."
        return i + 1 < len(tokens) and tokens[i + 1].value in ("subject", "own", "be", "have")
    if kind == "hyphen":
        return text[start - 1 : start].isspace() and text[end : end + 1].isspace()
    names = tokens[i - 1].kind in ("month", "may", "weekday") or _PERSON_TITLE.search(text[max(0, start - 5) : start])
    return kind == "dot" and text[end : end + 1].isspace() and not names


def _place(first: Clause, last: Clause, start: int, end: int) -> Surroundings:
    return Surroundings(
        [token for token in first.tokens if token.end <= start],
        [token for token in last.tokens if token.start >= end],
        [cue for cue in first.cues if cue.end <= start],
        [cue for cue in last.cues if cue.start >= end],
        [token for token in (*first.tokens, *last.tokens) if start <= token.start < end],
    )


def _is_moved(place: Surroundings) -> bool:
    """Test whether the event was moved from this time: "pushed from Monday to Friday", 从26号改到2号."""
    if place.inside and place.inside[0].kind in ("from", "between"):
        return any(cue.sign in _MOVED for cue in place.cues_before)
    from_ = bool(place.before) and place.before[-1].kind == "from"
    return from_ and first_strong(place.cues_behind or place.cues_before) in _MOVED
