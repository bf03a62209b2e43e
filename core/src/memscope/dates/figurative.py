"""Detect words of time that name no time, by ``data/figurative.txt``: durations, titles, names of people and things."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from memscope.dates.vocabulary import lines

_ROWS = tuple(lines("figurative.txt"))
_COLUMNS = re.compile(" ?<|> ?")
_CONTEXT_CHARS = 60  # before and after the words


@lru_cache(maxsize=1 << 10)
def _surroundings(words: str) -> Sequence[tuple[re.Pattern[str], re.Pattern[str]]]:
    return [(ahead, behind) for inside, ahead, behind in _patterns() if inside.fullmatch(words)]


@lru_cache(maxsize=1)
def _patterns() -> Sequence[tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]]:
    """Compile the patterns of the words, and of the text that must precede and follow them, on first use."""
    patterns = []
    for line in _ROWS:
        before, words, after = _COLUMNS.split(line)
        ahead = rf"(?:{before})\s*$" if before else ""
        patterns.append((re.compile(words, re.I), re.compile(ahead, re.I), re.compile(r"\s*" + after, re.I)))
    return patterns


def is_figurative(text: str, start: int, end: int) -> bool:
    """Test whether ``text[start:end]``, which looks like a time, is a figure of speech in its context."""
    before, words, after = (
        text[max(0, start - _CONTEXT_CHARS) : start],
        text[start:end],
        text[end : end + _CONTEXT_CHARS],
    )
    return any(ahead.search(before) and behind.match(after) for ahead, behind in _surroundings(words))
