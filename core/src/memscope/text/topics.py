"""Everyday topics of a text: "What should I cook?" and "I'm vegetarian", in any language, are both about food.

``data/topics.txt`` lists the topics, one per line: ``name<broader,broader``. Each language has a file of words per
topic (``WordRules.topics``). A word stands for its topic and for the broader ones. Words are compared by stem; in
scripts without spaces the longest word at each character counts, so that a word of the line "none" hides the words in
it, as "everybody" would hide "body". A topic is weak evidence: it counts in the ranking and nowhere else. Sets of
topics are integers with a bit per topic.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, reduce
from itertools import accumulate, compress, count, filterfalse, repeat
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from memscope.text.language import WordRules, depends_on_languages, every_rules, has_cjk, spaced_rules
from memscope.text.tokens import ALL_UNSPACED, content_stems, fold, fold_variants, is_unspaced, pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOPIC_FOLDER = Path(__file__).parent / "data"
WITHOUT_TOPIC = "none"  # names the line of words without a topic
CODING = "coding"
# Topics of what people say about themselves.
LIFE_TOPICS = (
    "diet smoking allergy illness medicine injury pregnancy family parents siblings children partner friends job"
    " professions jobhunt study subjects languages residence origin garden pets dogs cats travel running watersports"
    " ballgames mountains bodywork instruments arts coding goals religion"
).split()


@lru_cache(maxsize=1)
def _broader() -> Mapping[str, tuple[str, ...]]:
    """Map topics, in the order of their numbers, to the broader ones."""
    heads = [line.partition("<") for line in (TOPIC_FOLDER / "topics.txt").read_text(encoding="utf-8").splitlines()]
    return {name: tuple(filter(None, broader.split(","))) for name, _, broader in heads}


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Return the names of the topics by number."""
    return tuple(_broader())


@cache
def topic_numbers(*chosen: str) -> frozenset[int]:
    return frozenset(map(names().index, chosen))


def topics(text: str) -> frozenset[int]:
    """Return the numbers of the text's topics."""
    lowest_first = reversed(f"{topic_bits([text])[0]:b}")
    return frozenset(compress(count(), map(int, lowest_first)))


def topic_bits(texts: Sequence[str]) -> list[int]:
    """Return the topics of each text, as sets of bits."""
    topics = topics_of_phrases(texts)
    for at, text in enumerate(texts):
        if not ALL_UNSPACED.fullmatch(text):
            words = filterfalse(is_unspaced, pieces(fold(text)))
            topics[at] = reduce(or_, map(_topics_of_piece, words, repeat(spaced_rules(text))), topics[at])
    return topics


@lru_cache(maxsize=1 << 14)
def _topics_of_piece(piece: str, rules: WordRules) -> int:
    return topics_of_words(content_stems(piece, rules), rules)


def topics_of_phrases(texts: Sequence[str]) -> list[int]:
    """Return the topics of texts by their CJK words, the longest at each position; reads all texts in one pass."""
    text, bits = fold_variants("\n".join(texts)), [0] * len(texts)
    if not has_cjk(text):
        return bits
    ends = list(accumulate(len(one) + 1 for one in texts))
    known, end = _phrases(), 0
    for at in _beginnings(text):
        if at >= end:
            for word, meaning in (*known.get(text[at : at + 2], ()), *known.get(text[at], ())):
                if text.startswith(word, at):
                    bits[bisect(ends, at)] |= meaning
                    end = at + len(word)
                    break
    return bits


def _beginnings(text: str) -> list[int]:
    """Return the places where a known word may begin; about 2 % are false."""
    import numpy as np

    singles, pairs = _filters()
    codes = np.frombuffer(f"{text}\0".encode("utf-32-le", "surrogatepass"), "<u4")
    mask = pairs.take(_slots(codes[:-1], codes[1:]))
    mask |= singles.take(codes[:-1], mode="clip")
    begin: list[int] = mask.nonzero()[0].tolist()
    return begin


@depends_on_languages
@lru_cache(maxsize=1)
def _filters() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the words of one character, [65536], and the slots of the first two characters of the others, [131072]."""
    import numpy as np

    singles, pairs = np.zeros(1 << 16, np.bool_), np.zeros(1 << 17, np.bool_)
    for word in _phrases():
        codes = np.array(list(map(ord, word)), np.uint32)
        if len(word) == 1:
            singles[codes] = True
        else:
            pairs[_slots(codes[:1], codes[1:])] = True
    return singles, pairs


def _slots(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Hash pairs of characters to 17 bits."""
    import numpy as np

    return (first * np.uint32(0x9E3779B1) ^ second * np.uint32(0x85EBCA6B)) >> np.uint32(15)


def topics_of_words(stems: Iterable[str], rules: WordRules) -> int:
    """Return the topics of stems (``tokens.words``) as bits."""
    known = _stems(rules)
    return reduce(or_, (known[word] for word in stems if word in known), 0)


@lru_cache(maxsize=8)
def _stems(rules: WordRules) -> Mapping[str, int]:
    known: dict[str, int] = {}
    for word, meaning in _meanings(rules).items():
        stem = rules.stem(word)
        known[stem] = known.get(stem, 0) | meaning
    return known


@depends_on_languages
@lru_cache(maxsize=1)
def _phrases() -> Mapping[str, list[tuple[str, int]]]:
    """Map the first two characters, or the only one, to words, the longest first."""
    meanings = {word: meaning for rules in every_rules() if rules.script == "han"
                for word, meaning in _meanings(rules).items()}  # fmt: skip
    phrases: dict[str, list[tuple[str, int]]] = {}
    for word in sorted(meanings, key=len, reverse=True):
        phrases.setdefault(word[:2], []).append((word, meanings[word]))
    return phrases


@lru_cache(maxsize=8)
def _meanings(rules: WordRules) -> Mapping[str, int]:
    """Map the words of a language to their topics, broader ones included."""
    meanings: dict[str, int] = {}
    lines = rules.topics.read_text(encoding="utf-8").splitlines() if rules.topics else []
    for name, _, words in (line.partition(": ") for line in lines):
        its_topics = (name, *_broader()[name]) if name != WITHOUT_TOPIC else ()
        meant = reduce(or_, (1 << names().index(topic) for topic in its_topics), 0)
        for word in words.split():
            meanings[word] = meanings.get(word, 0) | meant
    return meanings
