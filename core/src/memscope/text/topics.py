"""Everyday topics of a text, in English and Chinese: "What should I cook?" and 我吃素 are both about food.

``data/topics.txt`` lists words per topic, one topic per line: ``name<broader,broader: words``. A word stands for its
topic and for the broader ones. English words are compared by stem, Chinese ones by the longest word at each character.
A topic is a text's subject, not its content: evidence for the ranking and nothing else. Sets of topics are integers
with a bit per topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memscope.text.language import has_cjk
from memscope.text.stemmer import stem
from memscope.text.tokens import content_stems, fold, pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DATA = Path(__file__).parent / "data"


class _Table(NamedTuple):
    names: tuple[str, ...]
    stems: dict[str, int]
    chinese: dict[str, list[tuple[str, int]]]  # by the first two characters or the only one; the longest first


def names() -> tuple[str, ...]:
    """The name of each topic, by its number."""
    return _table().names


def topics(text: str) -> frozenset[int]:
    """Returns the numbers of the text's topics; empty for none."""
    found = reduce(or_, map(_topics_of_piece, pieces(fold(text))), topics_of_phrases(text))
    return frozenset(number for number in range(found.bit_length()) if found >> number & 1)


@lru_cache(maxsize=1 << 14)
def _topics_of_piece(piece: str) -> int:
    return topics_of_words(content_stems(piece))


def topics_of_phrases(text: str) -> int:
    """Returns the topics of Chinese words, which stand in a text without spaces: the longest word at each place."""
    if not has_cjk(text):
        return 0
    known, found, end = _table().chinese, 0, 0
    for at in _beginnings(text):
        if at >= end:
            for word, meaning in (*known.get(text[at : at + 2], ()), *known.get(text[at], ())):
                if text.startswith(word, at):
                    found |= meaning
                    end = at + len(word)
                    break
    return found


def _beginnings(text: str) -> list[int]:
    """Returns where a Chinese word may begin; one place in some fifty is none."""
    import numpy as np

    singles, pairs = _filters()
    codes = np.frombuffer(f"{text}\0".encode("utf-32-le", "surrogatepass"), "<u4")
    found = pairs.take(_slots(codes[:-1], codes[1:]))
    found |= singles.take(codes[:-1], mode="clip")
    begin: list[int] = found.nonzero()[0].tolist()
    return begin


@lru_cache(maxsize=1)
def _filters() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """[65536] by the words of one character, [131072] by the slot of the first two of the others."""
    import numpy as np

    singles, pairs = np.zeros(1 << 16, np.bool_), np.zeros(1 << 17, np.bool_)
    for word in _table().chinese:
        codes = np.array(list(map(ord, word)), np.uint32)
        if len(word) == 1:
            singles[codes] = True
        else:
            pairs[_slots(codes[:1], codes[1:])] = True
    return singles, pairs


def _slots(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Returns a hash of 17 bits of each pair of characters."""
    import numpy as np

    return (first * np.uint32(0x9E3779B1) ^ second * np.uint32(0x85EBCA6B)) >> np.uint32(15)


def name_in(language: str, name: str) -> str:
    """Returns the name of a topic in English or Chinese, ``zh``."""
    return _chinese_names()[name] if language == "zh" else name


@lru_cache(maxsize=1)
def _chinese_names() -> Mapping[str, str]:
    lines = (DATA / "topic_names_zh.txt").read_text(encoding="utf-8").splitlines()
    return {(pair := line.split())[0]: pair[1] for line in lines}


def topics_of_words(found: Iterable[str]) -> int:
    """Returns the topics of English words as ``tokens.words`` gives them."""
    known = _table().stems
    return reduce(or_, (known[word] for word in found if word in known), 0)


@lru_cache(maxsize=1)
def _table() -> _Table:
    lines = (DATA / "topics.txt").read_text(encoding="utf-8").splitlines()
    heads, bodies = zip(*(line.split(": ", 1) for line in lines), strict=True)
    names = tuple(head.partition("<")[0] for head in heads)
    stems: dict[str, int] = {}
    chinese: dict[str, int] = {}
    for head, body in zip(heads, bodies, strict=True):
        name, _, broader = head.partition("<")
        meant = reduce(or_, (1 << names.index(one) for one in [name, *filter(None, broader.split(","))]))
        for word in body.split():
            target, key = (stems, stem(word)) if word.isascii() else (chinese, word)
            target[key] = target.get(key, 0) | meant
    return _Table(names, stems, _by_beginning(chinese))


def _by_beginning(meanings: Mapping[str, int]) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for word in sorted(meanings, key=len, reverse=True):
        found.setdefault(word[:2], []).append((word, meanings[word]))
    return found
