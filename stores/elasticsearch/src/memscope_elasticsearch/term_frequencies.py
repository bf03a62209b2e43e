"""Reconstruct term frequencies from the scores of single terms.

The ranking needs the frequency of each query term in a unit. Elasticsearch does not return term frequencies with hits;
term vectors would cost a request and another copy of the words. But every query has a named clause per term on a field
without length normalization, and the score of each named clause comes with the hit. There BM25 is

    score = top * tf / (tf + k1)

The factor ``top`` (idf times boost) is equal for all hits of a term in one shard, but not returned either. It is
inferred from the scores so far: the right one makes ``tf = k1 * score / (top - score)`` an integer for all of them.
The smallest score is tried as tf = 1, 2, ... until that holds, and taken as 1 if it never does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memscope.search.bm25 import BM25_K1

HEADER_PREFIX = "h"  # before the name of a clause on the header
MAX_FREQUENCY, MAX_TRIED_FREQUENCY = 1000.0, 40


class TermFrequencies:
    """Term frequencies of hits, by index of the query term."""

    def __init__(self) -> None:
        self._seen: dict[int, set[float]] = {}
        self._tops: dict[int, float] = {}

    def add(self, hits: Sequence[Mapping[str, Any]]) -> None:
        """Add the scores of hits; more scores make the factor more certain."""
        for hit in hits:
            for term, score in _scores_by_term(hit):
                self._seen.setdefault(term, set()).add(score)
        self._tops = {term: _top(np.array(sorted(scores))) for term, scores in self._seen.items()}

    def of(self, hit: Mapping[str, Any]) -> dict[int, float]:
        return {term: self._frequency(term, score) for term, score in _scores_by_term(hit)}

    def _frequency(self, term: int, score: float) -> float:
        return float(round(min(BM25_K1 * score / max(self._tops[term] - score, 1e-9), MAX_FREQUENCY)))


def _scores_by_term(hit: Mapping[str, Any]) -> list[tuple[int, float]]:
    scores = hit.get("matched_queries", {})
    return [(int(name), score) for name, score in scores.items() if not name.startswith(HEADER_PREFIX)]


def in_header(hit: Mapping[str, Any]) -> frozenset[int]:
    """Indices of the query terms in the header of a hit."""
    return frozenset(
        int(name.removeprefix(HEADER_PREFIX))
        for name in hit.get("matched_queries", ())
        if name.startswith(HEADER_PREFIX)
    )


def _top(scores: NDArray[np.float64]) -> float:
    """Find the factor that makes all frequencies integers. ``scores``: distinct, ascending."""
    for lowest in range(1, MAX_TRIED_FREQUENCY):
        top = scores[0] * (lowest + BM25_K1) / lowest
        if top <= scores[-1]:
            break
        tf = BM25_K1 * scores / (top - scores)
        if (np.abs(tf - np.round(tf)) < 0.01 + 0.001 * tf).all():
            return float(top)
    return float(scores[0] * (1 + BM25_K1))
