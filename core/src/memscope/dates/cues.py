"""Tense cues in a clause: words that show whether an event is past or ahead, and the surroundings of a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from memscope.dates.cascade import Token

Direction = Literal["past", "ahead", "lean", "moved", ""]

ARRANGING_KINDS = frozenset(("get", "bought", "book", "enrol", "agree"))  # their past tense leaves the event ahead
DECISIVE_KINDS = ARRANGING_KINDS | {"past", "ahead", "be", "report", "shift", "give"}
NEUTRAL_KINDS = frozenset(  # kinds beside a time that say nothing about tense
    "the article of step whose for at in on from by to till since comma stop dot colon paren hyphen around and".split()
)
_HINTS: dict[str, Direction] = {"hint": "ahead", "lean": "lean", "told": "past"}


class Cue(NamedTuple):
    start: int
    end: int
    sign: str
    done: bool = False  # a booking that was made


class Surroundings(NamedTuple):
    """A time within its clauses: tokens and cues before and after it, and its own tokens."""

    before: Sequence[Token]
    behind: Sequence[Token]
    cues_before: Sequence[Cue]
    cues_behind: Sequence[Cue]
    inside: Sequence[Token]


def sign_of(token: Token) -> str:
    """Return the sign of a word in the tables; in English its neighbours may change it."""
    if token.kind in ("word", "func", "have"):
        return token.value or ""
    if token.kind == "pasttense":
        return "past" if token.value in (None, "verb") else str(token.value)
    if token.kind == "future":
        return token.value if token.value in ("noun", "motion") else "ahead"
    return {"duty": token.value or "ahead", "whose": "whose"}.get(token.kind, "")


def is_determiner(token: Token) -> bool:
    return token.kind in ("the", "article") or token.value == "own"


def is_thing_ahead(tokens: Sequence[Token], i: int) -> bool:
    """Detect a word of the future that is a noun here: "my will"."""
    return i > 0 and is_determiner(tokens[i - 1]) and sign_of(tokens[i]) == "ahead"


def first_strong(cues: Sequence[Cue]) -> str:
    return next((cue.sign for cue in cues if cue.sign in DECISIVE_KINDS), "")


def last_strong(cues: Sequence[Cue]) -> str:
    return first_strong(cues[::-1])


def hinted(place: Surroundings) -> Direction | None:
    """Return the direction of the weak cues: "rent is due", 那天."""
    hints = [_HINTS[cue.sign] for cue in (*place.cues_before, *place.cues_behind) if cue.sign in _HINTS]
    return hints[0] if hints else None
