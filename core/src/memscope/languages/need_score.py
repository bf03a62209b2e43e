"""Score how likely a message needs facts about its user, by its words, pairs of neighbouring words and meaning.

The score is the log odds of a linear model, to which each language that has one brings the weights
(``Requests.need_score``). ``benchmarks/fit_need_score.py`` fits them on messages that need memory and others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memscope.text.vectors import sentence_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]+(?:'[^\W\d_]+)*|\d+|[?:]")
_END_OF_SENTENCE = re.compile(r"[.!?…]+\s+|[\u3002\uff01\uff1f…]+|\n+")
EDGE, _ANY_NUMBER = "^", "#"
MAX_SCORED_WORDS = 80  # a little more than the longest message of the fit
MIN_LAST_WORDS, MAX_LAST_WORDS = 10, 30  # of the last sentences, whose score counts beside that of the whole


class _Weights(NamedTuple):
    bias: float
    meaning: NDArray[np.float32]  # [DIMENSIONS]
    words: Mapping[str, float]  # of a word, or of two with a space between


def need_score(folded: str, weights: Path) -> float | None:
    """Return the log odds that a folded message needs facts about its user; None if no word of it is known.

    The mean of the odds of the whole and of its last sentences, which usually say what a story was told for; of the
    last alone if the message is longer than those of the fit, which would add up too many small odds.
    """
    words = [*_WORD.finditer(folded)]
    ending = _last_sentences(folded, [word.start() for word in words])
    whole = None if len(words) > MAX_SCORED_WORDS else _score(folded, weights)
    last = whole if ending == folded else _score(ending, weights)
    known = [score for score in (whole, last) if score is not None]
    return sum(known) / len(known) if known else None


def _score(text: str, weights: Path) -> float | None:
    bias, meaning, words = _load(weights)
    vector, every = sentence_vector(text), dict.fromkeys(words_and_pairs(text))
    if vector is None and words.keys().isdisjoint(every.keys() - {EDGE}):
        return None
    near = 0.0 if vector is None else float(vector @ meaning)
    return bias + near + sum(words.get(one, 0.0) for one in every)


def _last_sentences(text: str, starts: Sequence[int]) -> str:
    """Return the fewest last sentences that have ``MIN_LAST_WORDS`` words, or the whole; from the words' places."""
    if len(starts) <= MIN_LAST_WORDS:
        return text
    first = max(0, len(starts) - MAX_LAST_WORDS)
    ends = [end.end() for end in _END_OF_SENTENCE.finditer(text, starts[first], starts[-MIN_LAST_WORDS] + 1)]
    return text[ends[-1] if ends else starts[first] if first else 0 :]


def words_and_pairs(folded: str) -> Iterator[str]:
    """Yield the words of a message and each two that are neighbours; CJK characters count as words."""
    words = [EDGE, *(_ANY_NUMBER if word[0].isdigit() else word for word in _WORD.findall(folded)), EDGE]
    yield from words
    yield from map(" ".join, pairwise(words))


@lru_cache(maxsize=8)
def _load(path: Path) -> _Weights:
    import numpy as np

    stored = json.loads(path.read_text(encoding="utf-8"))
    return _Weights(stored["bias"], np.array(stored["meaning"], np.float32), stored["words"])
