"""Words of time of plugins' languages, kept apart from the shared ones: "mars" is a month in French text only.

Before the lexer runs, a word is replaced by the private-use character of its meaning, repeated to the word's length. So
the lexer needs to know no language, and the character in a sentence tells which rules run before the shared ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from memscope.dates.cascade import Cascade
from memscope.dates.rules import row, rows
from memscope.dates.vocabulary import ARROW, lines, words

FURTHER_CHARACTER = re.compile("[\U000f0000-\U000ffffd]")
FIRST_CHARACTER, MEANINGS = 0xF0000, 0x400  # start of a private-use plane; characters per language
_LETTER, _GAP = r"[^\W\d_\u2e80-\ud7ff]", r"[\s'’-]{1,3}"
_FIGURES = re.compile(r"(?<![\d/.-])(\d{1,2})([/-])(\d{1,2})(?=\2\d{2,4}(?!\d)|(?:(?<=/\d)|(?<=/\d\d))(?![\d/.-]))")


@dataclass(frozen=True, eq=False)
class Further:
    """The words of one language: the lines of its file, and the arguments of ``register``."""

    lines: Sequence[str]
    day_first: bool
    reads: Callable[[str], bool]
    first: int  # the character of the first meaning

    @cached_property
    def cascade(self) -> Cascade:
        return Cascade([*(row(line) for line in self.lines if ARROW in line), *rows()])

    @cached_property
    def vocabulary(self) -> Mapping[str, tuple[str, Any]]:
        return dict(words(self.lines))

    @cached_property
    def meanings(self) -> Sequence[tuple[str, Any]]:
        return list(dict.fromkeys(self.vocabulary.values()))

    @cached_property
    def characters(self) -> Mapping[str, str]:
        numbers = {meaning: number for number, meaning in enumerate(self.meanings)}
        return {word: chr(self.first + numbers[meaning]) for word, meaning in self.vocabulary.items()}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        known = sorted(self.vocabulary, key=len, reverse=True)
        phrases = "|".join(_GAP.join(map(re.escape, word.split())) for word in known)
        return re.compile(rf"(?<!{_LETTER})(?:(?P<known>{phrases})|{_LETTER}+)(?!{_LETTER})", re.I)

    def blanked(self, sentence: str) -> str:
        text = _FIGURES.sub(r"\3\2\1", sentence) if self.day_first else sentence
        return self.pattern.sub(self._blank, text)

    def _blank(self, match: re.Match[str]) -> str:
        if not match["known"]:
            return "z" * len(match[0])
        return self.characters[" ".join(re.split(_GAP, match[0].lower()))] * len(match[0])


_further: list[Further] = []  # by the number that their characters encode
_further_of: dict[str, Further] = {}  # the current one of each language code


def register(code: str, file: Path, day_first: bool, reads: Callable[[str], bool]) -> None:
    """Register the words and rules of a file, in place of earlier ones of the language.

    ``day_first``: 3/5 is in May; ``reads``: tests whether a text is in the language.
    """
    further = Further(tuple(lines(file)), day_first, reads, FIRST_CHARACTER + len(_further) * MEANINGS)
    former = _further_of.get(code)
    if former is None or (former.lines, former.day_first) != (further.lines, day_first):
        _further_of[code] = further
        _further.append(further)


def words_of(text: str) -> Further | None:
    """Return the words of a text's language; None if the shared ones apply."""
    return next((one for one in _further_of.values() if one.reads(text)), None) if _further else None


def meaning(run: str) -> tuple[str, Any]:
    language, number = divmod(ord(run[0]) - FIRST_CHARACTER, MEANINGS)
    known = _further[language].meanings if language < len(_further) else ()
    return known[number] if number < len(known) else ("word", None)


@cache
def _shared_cascade() -> Cascade:
    return Cascade(rows())


def cascade_for(blank: str) -> Cascade:
    """Return the cascade for a blanked sentence."""
    match = FURTHER_CHARACTER.search(blank) if _further and not blank.isascii() else None
    number = (ord(match[0]) - FIRST_CHARACTER) // MEANINGS if match else len(_further)
    return _further[number].cascade if number < len(_further) else _shared_cascade()
