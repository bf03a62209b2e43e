"""Query expansion: what says "bicycle" is found by "bike".

Each English word of a query brings the words closest to it in the built-in vectors. The store counts their terms like
the query's own; then a synonym counts in the column of the word it stands for, by a share, and a unit has the greater
of the two (the translation model of Zuccon, Koopman, Bruza and Azzopardi, "Integrating and evaluating neural word
embeddings in information retrieval", ADCS 2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from memscope.records import Candidates
from memscope.text.terms import piece_terms, word_terms
from memscope.text.tokens import fold, pieces
from memscope.text.vectors import synonyms

MOST = 96  # terms that one query brings along
SHARE = 0.4  # of an occurrence of the word itself
LEAN = 40  # terms: a long text has some synonym of any word


def expansion(query: str, terms: tuple[int, ...]) -> Mapping[int, int]:
    """Returns further terms, each with the place of the term in ``terms`` that it stands for."""
    place = {term: at for at, term in enumerate(terms)}
    added: dict[int, int] = {}
    for piece in pieces(fold(query)):
        for at in [place[term] for term in piece_terms(piece) if term in place]:
            for term in _synonym_terms(piece):
                if term not in place and len(added) < MOST:
                    added.setdefault(term, at)
    return added


@lru_cache(maxsize=1 << 12)
def _synonym_terms(piece: str) -> tuple[int, ...]:
    return tuple(term for word in synonyms(piece) for term in word_terms(word))


def merge(found: Candidates, own: int, added: Mapping[int, int]) -> Candidates:
    """Returns candidates of the first ``own`` terms; the columns of the others go into those they stand for."""
    if not added:
        return found
    tf, near = found.tf[:, :own].copy(), found.tf_neighbours[:, :, :own].copy(order="K")
    frequency = found.document_frequency[:own].copy()
    share = (SHARE * LEAN / (LEAN + found.length)).astype(np.float32)
    known = found.document_frequency > 0
    for column, at in [pair for pair in enumerate(added.values(), own) if known[pair[0]]]:
        np.maximum(tf[:, at], share * found.tf[:, column], out=tf[:, at])
        np.maximum(near[:, :, at], share[:, None] * found.tf_neighbours[:, :, column], out=near[:, :, at])
        frequency[at] = max(frequency[at], found.document_frequency[column])
    return replace(
        found, terms=found.terms[:own], tf=tf, tf_neighbours=near, tf_header=found.tf_header[:, :own],
        document_frequency=frequency,
    )  # fmt: skip
