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
from itertools import chain
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memscope.text.analysis import WORDS, analyse
from memscope.text.language import has_cjk
from memscope.text.lasting import LASTING, MARKS, TOLD, kinds, weight_of
from memscope.text.statements import is_question, sentences
from memscope.text.tokens import fold, pieces
from memscope.text.topics import names as topic_names
from memscope.text.vectors import normal_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIKELY = 0.0  # log odds from which a sentence is marked when it is written
LONGEST = 30  # words; a longer sentence counts as so long

_NAME = re.compile(r"(?<=[a-z,:] )[A-Z][a-z]+")
_DATA = Path(__file__).parent / "data" / "telling.json"


class _Table(NamedTuple):
    signs: Mapping[str, tuple[str, ...]]  # of a word, wherever it stands
    openings: Mapping[str, str]  # sign of the first word
    fillers: frozenset[str]
    groups: tuple[tuple[str, int], ...]  # of topics, a bit each
    weights: Mapping[str, float]
    meaning: NDArray[np.float32]  # [DIMENSIONS]


@lru_cache(maxsize=1 << 10)
def telling(sentence: str) -> float:
    """Returns the log odds; -inf for a question and for a text in Chinese, Japanese or Korean."""
    return -math.inf if has_cjk(sentence) or is_question(sentence) else _told(sentence, kinds(sentence))


def _told(sentence: str, found: Sequence[str]) -> float:
    """Returns the log odds of an English sentence of these kinds that is no question."""
    table, words = _table(), pieces(fold(sentence))
    known = [word for piece in words if (word := WORDS[piece])]
    about = reduce(or_, (word.topics for word in known), 0)
    told = sum(table.weights[name] * value for name, value in _signs(sentence, words, about, found).items())
    vector = normal_vector([token for word in known for token in word.tokens])
    return told + (0.0 if vector is None else float(vector @ table.meaning))


def signs(sentence: str) -> dict[str, float]:
    """Returns the value of each sign that a sentence has; "bias" is 1 in any."""
    read = analyse(sentence)
    return _signs(sentence, read.pieces, read.topics, kinds(sentence))


def _signs(sentence: str, found: Sequence[str], about: int, lasts: Sequence[str]) -> dict[str, float]:
    table = _table()
    start = next((at for at, word in enumerate(found) if word not in table.fillers), 0)
    words = found[start:]
    had = dict.fromkeys(chain.from_iterable(map(_signs_of, words)), 1.0)
    had["bias"], had["long"] = 1.0, min(len(words), LONGEST) / 10
    if words:
        opening = table.openings.get(words[0], "elided")
        had[opening] = float(opening != "elided" or "own" not in had)
    if _NAME.search(sentence):
        had["name"] = 1.0
    for group, members in table.groups if about else ():
        if about & members:
            had[group] = 1.0
    if lasts:
        had["kind"] = weight_of(lasts)
    return had


@lru_cache(maxsize=1 << 14)
def _signs_of(word: str) -> tuple[str, ...]:
    """Returns the signs of a word's lists, else that of its form."""
    if listed := _table().signs.get(word):
        return listed
    return ("past",) if word.endswith("ed") else ("number",) if word[0].isdigit() else ()


def marks(text: str) -> tuple[int, ...]:
    """Returns the terms under which a text's lasting statements are found: by their kinds, else as one told of."""
    said = [(sentence, kinds(sentence)) for sentence in sentences(text)]
    told = [MARKS[kind] for kind in dict.fromkeys(kind for _, found in said for kind in found)]
    if not (told or has_cjk(text)) and any(_told(*one) >= LIKELY and not is_question(one[0]) for one in said):
        told.append(TOLD)
    return (*told, LASTING) if told else ()


@lru_cache(maxsize=1)
def _table() -> _Table:
    import numpy as np

    stored = json.loads(_DATA.read_text(encoding="utf-8"))
    words: dict[str, tuple[str, ...]] = {}
    for sign, listed in stored["signs"].items():
        for word in listed.split():
            words[word] = (*words.get(word, ()), sign)
    openings = {word: sign for sign, listed in stored["openings"].items() for word in listed.split()}
    number = {name: at for at, name in enumerate(topic_names())}
    groups = tuple((name, sum(1 << number[one] for one in listed.split())) for name, listed in stored["groups"].items())
    meaning = np.array(stored["meaning"], np.float32)
    return _Table(words, openings, frozenset(stored["fillers"].split()), groups, stored["weights"], meaning)
