"""Fetch the candidates from the store. This is the only step of a retrieve that may call an embedder.

Query expansion: "bike" finds "bicycle". Each English word of a query is expanded by its nearest words in the built-in
vectors. The store counts their terms like the query's. A synonym's discounted count is then merged into the column of
its word by maximum (the translation model of Zuccon, Koopman, Bruza and Azzopardi, "Integrating and evaluating neural
word embeddings in information retrieval", ADCS 2015).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from memscope.languages.questions import instance_terms
from memscope.pipeline import altered, worker
from memscope.records import Candidates, Search
from memscope.retrieval.query import Query
from memscope.retrieval.understand import searched
from memscope.services import Services
from memscope.text.language import LANGUAGE_OF_HAN, WordRules, language, spaced_rules
from memscope.text.terms import piece_terms, word_terms
from memscope.text.tokens import fold, pieces
from memscope.text.vectors import synonyms

MAX_SYNONYM_TERMS = 96  # per query
SYNONYM_WEIGHT = 0.4  # relative to the word itself
FULL_WEIGHT_TERMS = 40  # longer texts contain a synonym of almost any word


@worker(
    reads=("text", "written", "vector", "scope", "terms", "about_user", "periods", "topics", "meaning",
           "as_of", "now", "kinds", "exclude", "filter", "k", "list_k", "reason"),
    writes=("vector", "space", "cjk_vectors", "candidates", "reason"),
)  # fmt: skip
async def search(query: Query, ctx: Services) -> Query:
    if not query.terms:
        return altered(
            query, reason=query.reason or ("the query has no words" if query.text.strip() else "empty query")
        )
    embedder, vector = ctx.embedder, query.vector
    if embedder is not None and vector is None and knows(embedder.languages, query.written):
        vector = await ctx.embed_query(searched(query.written))
    space = embedder.space if embedder is not None and vector is not None else None
    cjk = embedder is None or knows_han(embedder.languages)
    query = altered(query, vector=vector, space=space, cjk_vectors=cjk)
    return altered(query, candidates=await find(query, ctx))


async def find(query: Query, ctx: Services, names: Sequence[tuple[int, ...]] = ()) -> Candidates:
    """Search the store. With ``names``, only for units with all terms of a name, whose terms are added as columns."""
    terms = (*query.terms, *dict.fromkeys(term for name in names for term in name))
    builtin = ctx.settings.builtin_vectors
    added = expansion(query.text, terms) if builtin and not query.about_user else {}
    asked = Search(
        scope=query.scope, terms=(*terms, *added), periods=query.periods, vector=query.vector,
        space=query.space, meaning=query.meaning if builtin else None, topics=query.topics,
        as_of=query.as_of, now=query.now, kinds=query.kinds, exclude=query.exclude,
        filter=query.filter, k=query.list_k or query.k, required=tuple(names),
        instances=instance_terms(query.text) if query.list_k and not names else (),
    )  # fmt: skip
    return merge(await ctx.store.search(asked), len(terms), added)


def knows_han(languages: frozenset[str] | None) -> bool:
    """Return whether an embedder of these languages (None: any) understands Chinese characters."""
    return languages is None or LANGUAGE_OF_HAN in languages


def knows(languages: frozenset[str] | None, text: str) -> bool:
    """Return whether an embedder of these languages (None: any) understands a text."""
    return languages is None or language(text) in languages


# --------------------------------------------------------------------------------------------------- query expansion


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
