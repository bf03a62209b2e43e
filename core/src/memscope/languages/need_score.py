"""Score how likely a message needs facts about its user, by its words, pairs of neighbouring words and meaning.

The score is the log odds of a linear model, to which each language that has one brings the weights
(``Requests.need_score``). ``benchmarks/fit_need_score.py`` fits them on messages that need memory and others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memscope.text.vectors import sentence_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]+(?:'[^\W\d_]+)*|\d+|[?:]")
_EDGE, _ANY_NUMBER = "^", "#"
MAX_SCORED_WORDS = 80  # a little more than the longest message of the fit


class _Weights(NamedTuple):
    bias: float
    meaning: NDArray[np.float32]  # [DIMENSIONS]
    words: Mapping[str, float]  # of a word, or of two with a space between


def need_score(folded: str, weights: Path) -> float | None:
    """Return the log odds that a folded message needs facts about its user; None if no word of it is known.

    0 for a longer message than those of the fit, which would add up too many small odds.
    """
    bias, meaning, words = _load(weights)
    if len(_WORD.findall(folded)) > MAX_SCORED_WORDS:
        return 0.0
    vector, every = sentence_vector(folded), dict.fromkeys(words_and_pairs(folded))
    if vector is None and words.keys().isdisjoint(every.keys() - {_EDGE}):
        return None
    near = 0.0 if vector is None else float(vector @ meaning)
    return bias + near + sum(words.get(one, 0.0) for one in every)


def words_and_pairs(folded: str) -> Iterator[str]:
    """Yield the words of a message and each two that are neighbours; CJK characters count as words."""
    words = [_EDGE, *(_ANY_NUMBER if word[0].isdigit() else word for word in _WORD.findall(folded)), _EDGE]
    yield from words
    yield from map(" ".join, pairwise(words))


@lru_cache(maxsize=8)
def _load(path: Path) -> _Weights:
    import numpy as np

    stored = json.loads(path.read_text(encoding="utf-8"))
    return _Weights(stored["bias"], np.array(stored["meaning"], np.float32), stored["words"])
