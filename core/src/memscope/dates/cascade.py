"""A cascade of rewriting rules over tokens: the engine, which knows no language.

Every kind of token has one character, so a sentence is a string of kinds, and the left side of a row is a regular
expression over that string: ``"month the? ordinal"``. Rows apply one after the other, each once over the sentence from
left to right; a match becomes one token, whose value the row builds from the values of the matched tokens
(connectors have none). A row that builds None leaves its match as it was.

Finite-state cascades: S. Abney, "Partial parsing via finite-state cascades", 1996.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from memscope.dates.calendar import Now

Build = Callable[..., Any]  # (now, *values of the matched tokens) -> the new token's value, or None
_GROUP = re.compile(r"\([^()]*\)[?*]?|\[[^\[\]]*\][?*]?")
_REQUIRED = re.compile(r"[a-z_]+(?![a-z_?*])")


class _Codes(dict[str, str]):
    """Map kinds to characters of the private use area, assigned on first use."""

    def __missing__(self, kind: str) -> str:
        return self.setdefault(kind, chr(0xE000 + len(self)))


_CODES = _Codes()


class Token(NamedTuple):
    kind: str
    start: int
    end: int
    value: Any = None


class Row(NamedTuple):
    """``kind <- pattern``.

    In a pattern names stand for kinds; ``? * | [ ] ( )`` and look-arounds mean the same as in ``re``.
    """

    pattern: str
    kind: str
    build: Build


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"[a-z_]+", lambda name: _CODES[name[0]], pattern).replace(" ", ""))


@cache
def needed(pattern: str) -> Sequence[frozenset[str]]:
    """Return the kinds that each alternative requires, for a cheap test before the search."""
    bare, dropped = pattern, 1
    while dropped:
        bare, dropped = _GROUP.subn(" ", bare)
    return [frozenset(map(_CODES.__getitem__, _REQUIRED.findall(alternative))) for alternative in bare.split("|")]


def spell(tokens: Sequence[Token]) -> str:
    return "".join([_CODES[token.kind] for token in tokens])


class Cascade:
    """Apply rows in order, with a cache of the matching rows per string of kinds, since many sentences share one."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        alternatives = [(kinds, at) for at, row in enumerate(rows) for kinds in needed(row.pattern)]
        often = Counter(kind for kinds, _ in alternatives for kind in kinds)
        self._by_kind: dict[str, list[tuple[frozenset[str], int]]] = {}  # by the rarest kind needed, "" for none
        for kinds, at in alternatives:
            self._by_kind.setdefault(min(kinds, key=often.__getitem__, default=""), []).append((kinds, at))
        self._possible = lru_cache(maxsize=1 << 10)(self._rows_of)
        self._next = lru_cache(maxsize=1 << 14)(self._next_match)

    def run(self, tokens: Sequence[Token], now: Now) -> Sequence[Token]:
        kinds = spell(tokens)
        at = self._next(kinds, 0)
        while at is not None:
            tokens = rewrite(self._rows[at], tokens, kinds, now)
            kinds = spell(tokens)
            at = self._next(kinds, at + 1)
        return tokens

    def _next_match(self, kinds: str, first: int) -> int | None:
        possible = self._possible(frozenset(kinds))
        for at in possible[bisect_left(possible, first) :]:
            if compiled(self._rows[at].pattern).search(kinds):
                return at
        return None

    def _rows_of(self, present: frozenset[str]) -> list[int]:
        indexed = (self._by_kind.get(kind, ()) for kind in ("", *present))
        return sorted({at for rows in indexed for kinds, at in rows if kinds <= present})


def rewrite(row: Row, tokens: Sequence[Token], kinds: str, now: Now) -> list[Token]:
    result: list[Token] = []
    search = compiled(row.pattern).search
    done, match = 0, search(kinds)
    while match:
        matched = tokens[match.start() : match.end()]
        value = attempt(row, now, [token.value for token in matched if token.value is not None])
        if value is not None:
            result += tokens[done : match.start()]
            result.append(Token(row.kind, matched[0].start, matched[-1].end, value))
            done = match.end()
        match = search(kinds, match.start() + 1 if value is None else done)
    return [*result, *tokens[done:]]


def attempt(row: Row, now: Now, values: list[Any]) -> Any:
    """Build a value; None for a date that does not exist, or that lies outside the calendar."""
    try:
        return row.build(now, *values)
    except (ValueError, OverflowError):
        return None
