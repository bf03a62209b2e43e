"""Let a rerank model, where one is configured, order the best. If it fails, the order of ``rank`` stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memscope.pipeline import WorkerContext, worker
from memscope.records import Candidates, Hit
from memscope.retrieval.context import line
from memscope.retrieval.hits import fetch, make_hit
from memscope.retrieval.query import Query

MOST = 50  # documents of one call, or k if that is more


@worker(
    reads=("query", "candidates", "order", "scores", "values", "k", "scope", "as_of", "now"),
    writes=("candidates", "order", "scores", "reranked"),
)
async def rerank(question: Query, ctx: WorkerContext) -> Query:
    """Rerank the hits by the lines that ``context`` prints; the model's scores become theirs."""
    found = question.candidates
    if ctx.reranker is None or found is None or len(question.order) < 2:
        return question
    shown = await _shown(question, found, question.order[: max(MOST, question.k)], ctx)
    relevance = await ctx.rerank(question.query, [line(hit) for _, hit in shown]) if shown else None
    if relevance is None:
        return question
    return _ordered(question, found, [row for row, _ in shown], relevance)


async def _shown(question: Query, found: Candidates, rows: Sequence[int], ctx: WorkerContext) -> list[tuple[int, Hit]]:
    fetched = await fetch(question, found, rows, ctx)
    return [(row, hit) for row in rows if (hit := make_hit(question, found, row, fetched)) is not None]


def _ordered(question: Query, found: Candidates, rows: Sequence[int], relevance: Sequence[float]) -> Query:
    """Order the candidates the model saw by its scores, ties as before; the others follow."""
    assert question.scores is not None
    scores = question.scores.copy()
    scores[rows] = np.asarray(relevance, np.float32)
    best = sorted(rows, key=lambda row: -float(scores[row]))
    rest = [row for row in question.order if row not in set(rows)]
    return replace(
        question,
        candidates=replace(found, brought=None),  # records forgotten meanwhile must not be shown
        order=(*best, *rest),
        scores=scores,
        reranked=len(rows),
    )
