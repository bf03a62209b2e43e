"""Query expansion: "bike" finds "bicycle".

Each English word of a query is expanded by its nearest words in the built-in vectors. The store counts their terms like
the query's. A synonym's discounted count is then merged into the column of its word by maximum (the translation model
of Zuccon, Koopman, Bruza and Azzopardi, "Integrating and evaluating neural word embeddings in information retrieval",
ADCS 2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from memscope.records import Candidates
from memscope.text.language import WordRules, spaced_rules
from memscope.text.terms import piece_terms, word_terms
from memscope.text.tokens import fold, pieces
from memscope.text.vectors import synonyms

MAX_SYNONYM_TERMS = 96  # per query
SYNONYM_WEIGHT = 0.4  # relative to the word itself
FULL_WEIGHT_TERMS = 40  # longer texts contain a synonym of almost any word


def expansion(query: str, terms: tuple[int, ...]) -> Mapping[int, int]:
    """Map each additional term to the position in ``terms`` of the term that it stands for."""
    place = {term: at for at, term in enumerate(terms)}
    added: dict[int, int] = {}
    rules = spaced_rules(query)
    for piece in pieces(fold(query)) if rules.vectors else ():
        for at in [place[term] for term in piece_terms(piece, rules) if term in place]:
            for term in _synonym_terms(piece, rules):
                if term not in place and len(added) < MAX_SYNONYM_TERMS:
                    added.setdefault(term, at)
    return added


@lru_cache(maxsize=1 << 12)
def _synonym_terms(piece: str, rules: WordRules) -> tuple[int, ...]:
    return tuple(term for word in synonyms(piece, rules) for term in word_terms(word, rules))


def merge(candidates: Candidates, count: int, added: Mapping[int, int]) -> Candidates:
    """Merge the columns of synonyms into those of their words, the first ``count`` columns."""
    if not added:
        return candidates
    tf, near = candidates.tf[:, :count].copy(), candidates.tf_neighbours[:, :, :count].copy(order="K")
    frequency = candidates.document_frequency[:count].copy()
    share = (SYNONYM_WEIGHT * FULL_WEIGHT_TERMS / (FULL_WEIGHT_TERMS + candidates.length)).astype(np.float32)
    known = candidates.document_frequency > 0
    for column, at in [pair for pair in enumerate(added.values(), count) if known[pair[0]]]:
        np.maximum(tf[:, at], share * candidates.tf[:, column], out=tf[:, at])
        np.maximum(near[:, :, at], share[:, None] * candidates.tf_neighbours[:, :, column], out=near[:, :, at])
        frequency[at] = max(frequency[at], candidates.document_frequency[column])
    return replace(
        candidates, terms=candidates.terms[:count], tf=tf, tf_neighbours=near,
        tf_header=candidates.tf_header[:, :count], document_frequency=frequency,
    )  # fmt: skip
