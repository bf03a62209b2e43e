"""Score how likely an English sentence is to tell something lasting of its speaker, whatever its phrasing.

The score is a sum of weights, the log odds: of grammatical signs (who is the subject, whether it is left out as in
"Retired last Friday", durations, habits, words of the moment, opinions, names, numbers), of the kinds of
``text.lasting``, of a few groups of topics, and of the direction of the built-in vector. ``data/telling.json`` has the
words of each sign and the weights, which ``benchmarks/fit_telling.py`` fits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memscope.text.analysis import WORDS
from memscope.text.language import has_cjk
from memscope.text.lasting import LASTING, MARKS, TOLD, kinds, weight_of
from memscope.text.statements import is_question, sentences
from memscope.text.tokens import fold, pieces
from memscope.text.topics import names as topic_names
from memscope.text.vectors import normal_vector, summed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIKELY = 0.0  # log odds from which a sentence is marked when it is written
LONGEST = 30  # words; a longer sentence counts as so long

_COUNTED = ("bias", "long", "kind")  # signs of any sentence, with a value
_CLEAR = 1e-3  # log odds of the signs that rounding cannot outweigh
_NAME = re.compile(r"[A-Z](?<=[a-z,:] .)[a-z]")  # begins with a set of characters, by which ``re`` looks for it
_DATA = Path(__file__).parent / "data" / "telling.json"


class _Table(NamedTuple):
    bits: Mapping[str, int]  # of each sign
    listed: Mapping[str, int]  # bits of a word, wherever it stands
    openings: Mapping[str, int]  # bit of the first word
    fillers: frozenset[str]
    groups: tuple[tuple[int, int], ...]  # of topics: their bits, and that of the sign
    weights: Mapping[str, float]
    meaning: NDArray[np.float32]  # [DIMENSIONS]


@lru_cache(maxsize=1 << 10)
def telling(sentence: str) -> float:
    """Returns the log odds; -inf for a question and for a text in Chinese, Japanese or Korean."""
    if has_cjk(sentence) or is_question(sentence):
        return -math.inf
    words = pieces(fold(sentence))
    return _by_signs(sentence, words, kinds(sentence)) + _by_meaning(words)


def _is_likely(sentence: str, found: Sequence[str]) -> bool:
    """Returns whether the log odds of an English sentence of these kinds, which is no question, are ``LIKELY``.

    The vector is made only where its words lean the other way than the signs, and how far is in doubt.
    """
    words = pieces(fold(sentence))
    told = _by_signs(sentence, words, found) - LIKELY
    leanings = [_leaning(word) for word in words]
    leaning, longest = sum(one for one, _ in leanings), sum(length for _, length in leanings)
    if (abs(told) > _CLEAR and (leaning >= 0) == (told > 0)) or abs(leaning) > (abs(told) + _CLEAR) * longest:
        return leaning >= 0
    return told + _by_meaning(words) >= 0


def _by_meaning(words: Sequence[str]) -> float:
    vector = normal_vector([token for piece in words if (word := WORDS[piece]) for token in word.tokens])
    return 0.0 if vector is None else float(vector @ _table().meaning)


@lru_cache(maxsize=1 << 14)
def _leaning(piece: str) -> tuple[float, float]:
    """Returns what a word adds to the log odds before the vector is brought to length 1, and its own length."""
    if not (word := WORDS[piece]) or not word.tokens:
        return 0.0, 0.0
    vector = summed(word.tokens)
    return float(vector @ _table().meaning), math.sqrt(vector @ vector)


def _by_signs(sentence: str, words: Sequence[str], lasts: Sequence[str]) -> float:
    weights, words = _table().weights, _without_fillers(words)
    told = _weight(_signs(sentence, words)) + min(len(words), LONGEST) / 10 * weights["long"]
    return told + weight_of(lasts) * weights["kind"] if lasts else told


@lru_cache(maxsize=1 << 14)
def _weight(signs: int) -> float:
    table = _table()
    return table.weights["bias"] + sum(table.weights[name] for name, bit in table.bits.items() if signs & bit)


def signs(sentence: str) -> dict[str, float]:
    """Returns the value of each sign in a sentence; "bias" is 1 in any."""
    words = _without_fillers(pieces(fold(sentence)))
    had = _signs(sentence, words)
    values = {name: float(had & bit > 0) for name, bit in _table().bits.items()}
    return {**values, "bias": 1.0, "long": min(len(words), LONGEST) / 10, "kind": weight_of(kinds(sentence))}


def _without_fillers(words: Sequence[str]) -> Sequence[str]:
    """Returns the words from the first that is no filler, all if each is one."""
    fillers = _table().fillers
    if not words or words[0] not in fillers:
        return words
    return words[next((at for at, word in enumerate(words) if word not in fillers), 0) :]


def _signs(sentence: str, words: Sequence[str]) -> int:
    """Returns a bit per sign but for those that are counted."""
    bits, had = _table().bits, reduce(or_, map(_signs_of, words), 0)
    opening = _table().openings.get(words[0], bits["elided"]) if words else 0
    if opening == bits["elided"] and had & bits["own"]:
        opening = 0
    return had | opening | (bits["name"] if _NAME.search(sentence) else 0)


@lru_cache(maxsize=1 << 14)
def _signs_of(piece: str) -> int:
    """Returns the signs of a word's lists, else that of its form, and those of its topics."""
    table, word = _table(), WORDS[piece]
    had = table.listed.get(piece, 0)
    if not had:
        had = table.bits["past"] if piece.endswith("ed") else table.bits["number"] if piece[0].isdigit() else 0
    return reduce(or_, (bit for members, bit in table.groups if word and word.topics & members), had)


def marks(text: str) -> tuple[int, ...]:
    """Returns the terms under which a text's lasting statements are found: by their kinds, else as one told of."""
    said = [(sentence, kinds(sentence)) for sentence in sentences(text)]
    told = [MARKS[kind] for kind in dict.fromkeys(kind for _, found in said for kind in found)]
    if not (told or has_cjk(text)) and any(not is_question(one[0]) and _is_likely(*one) for one in said):
        told.append(TOLD)
    return (*told, LASTING) if told else ()


@lru_cache(maxsize=1)
def _table() -> _Table:
    import numpy as np

    stored = json.loads(_DATA.read_text(encoding="utf-8"))
    bits = {name: 1 << at for at, name in enumerate(stored["weights"]) if name not in _COUNTED}
    listed: dict[str, int] = {}
    for sign, words in stored["signs"].items():
        for word in words.split():
            listed[word] = listed.get(word, 0) | bits[sign]
    openings = {word: bits[sign] for sign, words in stored["openings"].items() for word in words.split()}
    number = {name: at for at, name in enumerate(topic_names())}
    groups = tuple(
        (sum(1 << number[one] for one in names.split()), bits[sign]) for sign, names in stored["groups"].items()
    )
    meaning = np.array(stored["meaning"], np.float32)
    fillers = frozenset(stored["fillers"].split())
    return _Table(bits, listed, openings, fillers, groups, stored["weights"], meaning)
