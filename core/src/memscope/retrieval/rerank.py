"""Reorder the best candidates by a rerank model, if one is configured; if it fails, the order of ``rank`` stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memscope.pipeline import altered, worker
from memscope.records import Candidates, Hit
from memscope.retrieval.context import line
from memscope.retrieval.hits import fetch, make_hit
from memscope.retrieval.query import Query
from memscope.services import Services

MAX_RERANKED_DOCUMENTS = 50  # per call, or k if that is more


@worker(
    reads=("written", "candidates", "order", "scores", "features", "values", "k", "list_k", "scope",
           "as_of", "now", "exclude"),
    writes=("candidates", "order", "scores", "reranked"),
)  # fmt: skip
async def rerank(query: Query, ctx: Services) -> Query:
    """Rerank the hits by the lines that ``context`` prints, and adopt the model's scores."""
    candidates = query.candidates
    if ctx.reranker is None or candidates is None or len(query.order) < 2:
        return query
    shown = await _shown(query, candidates, query.order[: max(MAX_RERANKED_DOCUMENTS, query.list_k or query.k)], ctx)
    relevance = await ctx.rerank(query.written, [line(hit) for _, hit in shown]) if shown else None
    if relevance is None:
        return query
    return _ordered(query, candidates, [row for row, _ in shown], relevance)


async def _shown(query: Query, candidates: Candidates, rows: Sequence[int], ctx: Services) -> list[tuple[int, Hit]]:
    fetched = await fetch(query, candidates, rows, ctx)
    return [(row, hit) for row in rows if (hit := make_hit(query, candidates, row, fetched)) is not None]


def _ordered(query: Query, candidates: Candidates, rows: Sequence[int], relevance: Sequence[float]) -> Query:
    """Order the candidates that the model saw by its scores, ties as before; the others follow."""
    assert query.scores is not None
    scores = query.scores.copy()
    scores[rows] = np.asarray(relevance, np.float32)
    best = sorted(rows, key=lambda row: -float(scores[row]))
    rest = [row for row in query.order if row not in set(rows)]
    return altered(
        query,
        candidates=replace(candidates, brought=None),  # records forgotten meanwhile must not be shown
        order=(*best, *rest),
        scores=scores,
        reranked=len(rows),
    )
