"""Everyday topics of a text, in English and Chinese: "What should I cook?" and 我吃素 are both about food.

``data/topics.txt`` lists words per topic, one topic per line: ``name<broader,broader: words``. A word stands for its
topic and for the broader ones. English words are compared by stem, Chinese ones by the longest word at each character.
A topic is a text's subject, not its content: evidence for the ranking and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from memscope.text.language import has_cjk
from memscope.text.stemmer import stem
from memscope.text.tokens import content_stems, fold, pieces

Topics: TypeAlias = frozenset[int]

DATA = Path(__file__).parent / "data"

_NONE: Topics = frozenset()


class _Lexicon:
    """Chinese words by their first character, the longest first."""

    def __init__(self, meanings: Mapping[str, Topics]) -> None:
        self._words: dict[str, list[tuple[str, Topics]]] = {}
        for word in sorted(meanings, key=len, reverse=True):
            self._words.setdefault(word[0], []).append((word, meanings[word]))

    def find(self, text: str) -> Iterator[Topics]:
        """Yield the meaning of the longest word at each place, going on behind it."""
        at = 0
        while at < len(text):
            for word, meaning in self._words.get(text[at], ()):
                if text.startswith(word, at):
                    yield meaning
                    at += len(word)
                    break
            else:
                at += 1


class _Table(NamedTuple):
    names: tuple[str, ...]
    stems: dict[str, Topics]
    chinese: _Lexicon


def names() -> tuple[str, ...]:
    """The name of each topic, by its number."""
    return _table().names


def topics(text: str) -> Topics:
    """Returns the numbers of the text's topics; empty for none."""
    return _NONE.union(*map(_topics_of_piece, pieces(fold(text)))) | topics_of_phrases(text)


@lru_cache(maxsize=1 << 14)
def _topics_of_piece(piece: str) -> Topics:
    return topics_of_words(content_stems(piece))


def topics_of_phrases(text: str) -> Topics:
    """Returns the topics of Chinese words, which stand in a text without spaces."""
    return _NONE.union(*_table().chinese.find(text)) if has_cjk(text) else _NONE


def topics_of_words(found: Iterable[str]) -> Topics:
    """Returns the topics of English words as ``tokens.words`` gives them."""
    known = _table().stems
    return _NONE.union(*[known[word] for word in found if word in known])


@lru_cache(maxsize=1)
def _table() -> _Table:
    lines = (DATA / "topics.txt").read_text(encoding="utf-8").splitlines()
    heads, bodies = zip(*(line.split(": ", 1) for line in lines), strict=True)
    names = tuple(head.partition("<")[0] for head in heads)
    stems: dict[str, Topics] = {}
    chinese: dict[str, Topics] = {}
    for head, body in zip(heads, bodies, strict=True):
        name, _, broader = head.partition("<")
        meant = frozenset(names.index(one) for one in [name, *filter(None, broader.split(","))])
        for word in body.split():
            target, key = (stems, stem(word)) if word.isascii() else (chinese, word)
            target[key] = target.get(key, _NONE) | meant
    return _Table(names, stems, _Lexicon(chinese))
