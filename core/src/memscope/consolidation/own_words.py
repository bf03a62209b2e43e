"""Which words of a turn are its speaker's own, and which they only show: quoted, pasted, forwarded, brought along."""

from __future__ import annotations

from dataclasses import dataclass

from memscope.records import Turn

PEOPLE_ROLES = frozenset({"user", "person"})
MIN_STATED_SHARE = 0.5  # share of a fact's words that people have to say where it rests on the words of others too


@dataclass(frozen=True, slots=True)
class Citation:
    """Words of a turn, as they stand in it; ``place``: of the turn among the lines."""

    turn: Turn
    words: str
    context: bool
    place: int
