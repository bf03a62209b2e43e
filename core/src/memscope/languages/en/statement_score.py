"""Score how likely an English sentence says something lasting about its speaker, whatever its phrasing.

The score is a sum of log odds: of grammatical signs (first person, a missing subject as in "Retired last Friday",
durations, past tense, names, numbers, quotations), of the kinds of ``en.facts``, of two groups of topics, and of the
built-in vector along ``languages.statement_direction``. ``data/statement_score.json`` has the words and the weight of
each sign, which ``benchmarks/fit_statement_score.py`` fits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain
from operator import add, itemgetter, or_
from pathlib import Path
from typing import NamedTuple

from memscope.languages.durable_facts import weight_of
from memscope.languages.en import name_lists as lists
from memscope.languages.en.words import WORDS
from memscope.languages.statement_direction import statement_direction
from memscope.text.analysis import known_words
from memscope.text.tokens import fold, pieces
from memscope.text.topics import names as topic_names
from memscope.text.vectors import along

_MAX_CACHED_WORDS = 1 << 16
MAX_COUNTED_WORDS = 30  # a longer sentence counts as one of this length

MIN_WORDS = 2  # a shorter sentence without a kind says nothing lasting
_FORBIDS = frozenset(("don't", "dont", "not"))

_COUNTED = ("bias", "long", "kind")  # signs that every sentence has, with a number as their value
_NAMED = 1 << 60  # of a word that is a name though it has no capital
_UNSEEN_NAME = 0.25  # share of sentences that have a name, for one without capitals in which none is known
_INNER_NAME = re.compile(r"[A-Z](?<=[a-z,:] .)[a-z]")  # begins with a character set, which ``re`` finds quickly
_QUOTATION_MARK = re.compile(r"[\"“”]")
_COEFFICIENTS_FILE = Path(__file__).parent / "data" / "statement_score.json"


class _Table(NamedTuple):
    bits: Mapping[str, int]  # one per sign
    listed: Mapping[str, int]  # the signs of listed words, as bits
    openings: frozenset[str]  # first words of sentences that have a subject
    fillers: frozenset[str]
    groups: tuple[tuple[int, int], ...]  # bits of the topics in a group, and bit of its sign
    weights: Mapping[str, float]


def statement_scores(sentences: Sequence[str], kinds: Sequence[Sequence[str]]) -> list[float]:
    """Return the log odds of sentences; ``kinds``: the kinds of lasting statement that each makes."""
    words = [pieces(fold(sentence)) for sentence in sentences]
    by_signs = map(_by_signs, sentences, words, kinds)
    known = _words().__getitem__
    tokens = [list(chain.from_iterable(map(_tokens, map(known, parts)))) for parts in words]
    return list(map(add, by_signs, along(tokens, statement_direction())))


def _by_signs(sentence: str, words: Sequence[str], lasts: Sequence[str]) -> float:
    weights, words = _table().weights, _without_fillers(words)
    if not lasts and (len(words) < MIN_WORDS or (words[0] in _FORBIDS and words[-1] == "me")):
        return -math.inf  # "Boo", "Don't start me"
    had = _signs(sentence, words)
    score = _weight(had) + min(len(words), MAX_COUNTED_WORDS) / 10 * weights["long"]
    if sentence.islower() and not had & _table().bits["name"]:
        score += _UNSEEN_NAME * weights["name"]
    return score + weight_of(lasts) * weights["kind"] if lasts else score


@lru_cache(maxsize=1 << 14)
def _weight(signs: int) -> float:
    table = _table()
    return table.weights["bias"] + sum(table.weights[name] for name, bit in table.bits.items() if signs & bit)


def signs(sentence: str, kinds: Sequence[str]) -> dict[str, float]:
    """Return the value of each sign in a sentence with these kinds of lasting statement; "bias" is always 1."""
    words = _without_fillers(pieces(fold(sentence)))
    had = _signs(sentence, words)
    values = {name: float(had & bit > 0) for name, bit in _table().bits.items()}
    return {**values, "bias": 1.0, "long": min(len(words), MAX_COUNTED_WORDS) / 10, "kind": weight_of(kinds)}


def _without_fillers(words: Sequence[str]) -> Sequence[str]:
    """Drop the fillers at the beginning, unless all words are fillers."""
    fillers = _table().fillers
    if not words or words[0] not in fillers:
        return words
    return words[next((at for at, word in enumerate(words) if word not in fillers), 0) :]


def _signs(sentence: str, words: Sequence[str]) -> int:
    """Return the signs of a sentence as bits, without those of ``_COUNTED``."""
    table, had = _table(), reduce(or_, map(_bits, map(_words().__getitem__, words)), 0)
    bits = table.bits
    if words and words[0].partition("'")[0] not in table.openings and not had & bits["own"]:
        had |= bits["elided"]
    if _QUOTATION_MARK.search(sentence):
        had |= bits["quote"]
    named = _INNER_NAME.search(sentence) or (had & _NAMED and sentence.islower())
    return had & ~_NAMED | (bits["name"] if named else 0)


class _SignedWords(dict[str, tuple[int, Sequence[int]]]):
    """A cache of the signs and vector tokens of words, emptied when full."""

    def __missing__(self, piece: str) -> tuple[int, Sequence[int]]:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        word = known_words(WORDS)[piece]
        self[piece] = entry = (_signs_of(piece, word.topics), word.tokens) if word else (_signs_of(piece, 0), ())
        return entry


@lru_cache(maxsize=1)
def _words() -> _SignedWords:
    return _SignedWords()


_bits, _tokens = itemgetter(0), itemgetter(1)


def _signs_of(piece: str, topics: int) -> int:
    """Return the signs of a word by its lists, or else by its form ("-ed", digits), and by its topics."""
    table, named = _table(), _NAMED * (piece.removesuffix("'s") in _names_without_capitals())
    had = table.listed.get(piece, 0)
    if not had:
        had = table.bits["past"] if piece.endswith("ed") else table.bits["number"] if piece[0].isdigit() else 0
    return reduce(or_, (bit for members, bit in table.groups if topics & members), had | named)


@lru_cache(maxsize=1)
def _names_without_capitals() -> frozenset[str]:
    """Return the names of people and places, peoples, languages and days that are no other words: "kim", not "mark"."""
    return lists.UNMISTAKABLE_NAMES | lists.OTHERS


@lru_cache(maxsize=1)
def _table() -> _Table:
    stored = json.loads(_COEFFICIENTS_FILE.read_text(encoding="utf-8"))
    bits = {name: 1 << at for at, name in enumerate(stored["weights"]) if name not in _COUNTED}
    listed: dict[str, int] = {}
    for sign, words in stored["signs"].items():
        for word in words.split():
            listed[word] = listed.get(word, 0) | bits[sign]
    openings = frozenset(stored["openings"].split())
    number = {name: at for at, name in enumerate(topic_names())}
    groups = tuple(
        (sum(1 << number[one] for one in names.split()), bits[sign]) for sign, names in stored["groups"].items()
    )
    fillers = frozenset(stored["fillers"].split())
    return _Table(bits, listed, openings, fillers, groups, stored["weights"])
