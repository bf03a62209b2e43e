"""Classes of things and their instances, so that "Which vegetables did I plant?" finds "the leeks are in"."""

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
    """Instances of a class: single ``words`` in all their forms, and ``phrases`` (several words, or CJK).

    ``terms``: one search term per instance; for several words the last one, such as "pudding" for "rice pudding".
    """

    words: frozenset[str]
    phrases: re.Pattern[str]
    terms: tuple[int, ...]

    def are_in(self, text: str) -> bool:
        """Test whether a text names an instance.

        Args:
            text: A line that may answer a list question.

        Returns:
            True if an instance occurs in it.
        """
        folded = fold(text)
        return not self.words.isdisjoint(pieces(folded)) or bool(self.phrases.search(folded))


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The classes that a language knows.

    Args:
        file: one line per class, "names of the class: instances"; "+class" includes the instances of another class.
        asking: words that precede the class in a question ("which").
        forms: gives all forms of a word ("berry", "berries").
    """

    file: Path
    asking: re.Pattern[str]
    forms: Callable[[str], Sequence[str]] = lambda word: (word,)

    def __post_init__(self) -> None:
        _lists(self)  # load with the language: the first question may be asked on an event loop

    def asked(self, question: str) -> Instances | None:
        """Find the class that a list question asks for.

        Args:
            question: The question.

        Returns:
            The instances of the first class after an ``asking`` word, else of the first class at all; None without one.
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
    """Build a pattern with one group per class, in which its names match."""
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
    searched = {_last_term(word) for word in words if terms(word)}  # "got a" consists of stop words
    return Instances(frozenset(words - phrases), pattern("|".join(bordered) or "(?!)"), tuple(sorted(searched)))


def _last_term(word: str) -> int:
    its_terms = terms(word)
    return its_terms[-2] if has_cjk(word) and len(its_terms) > 1 else its_terms[-1]  # CJK: the last pair of characters


def _members(words: Sequence[str], of: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the words of a line; "+class" yields the class's name and then its words."""
    for word in words:
        yield word.removeprefix("+")
        if word.startswith("+"):
            yield from _members(of[word[1:]], of)
