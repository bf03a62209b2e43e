"""Classes of things and their instances: "Which vegetables did I plant?" asks for "the leeks are in"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memscope.imports import pattern
from memscope.languages.word_lists import entries, read_lists
from memscope.text.language import has_cjk
from memscope.text.terms import terms
from memscope.text.tokens import fold, pieces


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of a class: words in all their forms, and what is more than a word, or stands in words.

    ``terms``: a search term of each; of a longer one its last, such as "pudding" of "rice pudding".
    """

    words: frozenset[str]
    phrases: re.Pattern[str]
    terms: tuple[int, ...]

    def are_in(self, text: str) -> bool:
        """Say whether a text names one of them.

        Args:
            text: a line that may be an item of a list.

        Returns:
            True if it does.
        """
        folded = fold(text)
        return not self.words.isdisjoint(pieces(folded)) or bool(self.phrases.search(folded))


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The classes that a language knows.

    Args:
        file: a line "names of the class: instances" each; "+class" among them stands for the instances of that class.
        asking: the words before a class that is asked for ("which").
        forms: yields a word in all its forms ("berry", "berries").
    """

    file: Path
    asking: re.Pattern[str]
    forms: Callable[[str], Sequence[str]] = lambda word: (word,)

    def __post_init__(self) -> None:
        _lists(self)  # read with the language, not on the event loop of the first question

    def asked(self, question: str) -> Instances | None:
        """Find the class that a question for a list asks for.

        Args:
            question: the question.

        Returns:
            The instances of the first class behind a word that asks, else of the first in the question; None without.
        """
        names, folded = _names(self), fold(question)
        asking = self.asking.search(folded)
        named = names.search(folded, asking.end() if asking else 0) or names.search(folded)
        return _instances(self, named.lastindex - 1) if named and named.lastindex else None


@lru_cache(maxsize=1 << 4)
def _lists(classes: Classes) -> Mapping[tuple[str, ...], Sequence[str]]:
    return {entries(names): words for names, words in read_lists(classes.file).items()}


@lru_cache(maxsize=1 << 4)
def _names(classes: Classes) -> re.Pattern[str]:
    """Return a pattern with one group per class, which matches its names."""
    return pattern("|".join(f"({'|'.join(_bordered(classes, names))})" for names in _lists(classes)))


def _bordered(classes: Classes, names: Sequence[str]) -> Iterator[str]:
    for form in (form for name in names for form in classes.forms(name)):
        yield form if has_cjk(form) else rf"\b{re.escape(form)}\b"


@lru_cache(maxsize=1 << 8)
def _instances(classes: Classes, number: int) -> Instances:
    of = {name: words for names, words in _lists(classes).items() for name in names}
    words = {fold(form) for word in _members([*_lists(classes).values()][number], of) for form in classes.forms(word)}
    phrases = {word for word in words if has_cjk(word) or pieces(word) != [word]}
    bordered = (word if has_cjk(word) else rf"\b{re.escape(word)}\b" for word in sorted(phrases))
    searched = {_last_term(word) for word in words if terms(word)}  # "got a" has none
    return Instances(frozenset(words - phrases), pattern("|".join(bordered) or "(?!)"), tuple(sorted(searched)))


def _last_term(word: str) -> int:
    its_terms = terms(word)
    return its_terms[-2] if has_cjk(word) and len(its_terms) > 1 else its_terms[-1]  # in CJK the last pair


def _members(words: Sequence[str], of: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the words of a line; those of a class in the place of "+class"."""
    for word in words:
        yield word.removeprefix("+")
        if word.startswith("+"):
            yield from _members(of[word[1:]], of)
