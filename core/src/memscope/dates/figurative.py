"""Words of time that name no time: durations, titles, names of people and things; ``data/figurative.txt``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from memscope.dates.vocabulary import lines

_ROWS = tuple(lines("figurative.txt"))
_COLUMNS = re.compile(" ?<|> ?")
_NEAR = 60  # characters before and after that are looked at


@lru_cache(maxsize=1 << 10)
def _surroundings(words: str) -> Sequence[tuple[re.Pattern[str], re.Pattern[str]]]:
    """Returns what must stand before and after these words in the rows that are about them."""
    return [(ahead, behind) for inside, ahead, behind in _patterns() if inside.fullmatch(words)]


@lru_cache(maxsize=1)
def _patterns() -> Sequence[tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]]:
    """Compiled on first use: the words, and what must stand before and after them."""
    names: dict[str, str] = {}
    found = []
    for line in _ROWS:
        if name := re.fullmatch(r"([A-Z_]+) = (.+)", line):
            names[name[1]] = name[2]
            continue
        before, words, after = (
            re.sub(r"\{([A-Z_]+)\}", lambda name: names[name[1]], one) for one in _COLUMNS.split(line)
        )
        ahead = rf"(?:{before})\s*$" if before else ""
        found.append((re.compile(words, re.I), re.compile(ahead, re.I), re.compile(r"\s*" + after, re.I)))
    return found


def is_figurative(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]``, which reads as a time, is none where it stands."""
    before, words, after = text[max(0, start - _NEAR) : start], text[start:end], text[end : end + _NEAR]
    return any(ahead.search(before) and behind.match(after) for ahead, behind in _surroundings(words))
