"""query → hits → context. No chat model; at most one embedding and two calls to the store.

understand ──▶ search ──▶ rank ──▶ (rerank) ──▶ gather          the steps, each from Question to Question
terms, periods,  the store's  one table   a model,   records of the
what is asked    candidates   of features if one     best, hits       ──▶ context: dated lines within a budget
                                          is set
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from memscope.errors import DeadlineExceeded
from memscope.pipeline import Worker, WorkerContext, run
from memscope.records import Retrieval
from memscope.retrieval.context import context
from memscope.retrieval.explain import explanation
from memscope.retrieval.hits import gather
from memscope.retrieval.query import Query
from memscope.retrieval.rank import rank
from memscope.retrieval.rerank import rerank
from memscope.retrieval.search import search
from memscope.retrieval.understand import understand

STEPS: tuple[Worker[Query], ...] = (understand, search, rank, rerank, gather)

__all__ = ["STEPS", "Query", "context", "gather", "rank", "rerank", "retrieve", "search", "understand"]


async def retrieve(question: Query, ctx: WorkerContext, steps: Sequence[Worker[Query]] = STEPS) -> Retrieval:
    """The hits of a question; none, and the reason, for one without words. ``DeadlineExceeded`` where it takes long."""
    deadline = asyncio.timeout(ctx.settings.retrieve_s)
    try:
        async with deadline:
            done = await run(steps, question, ctx)
    except TimeoutError:
        if not deadline.expired():
            raise
        raise DeadlineExceeded(
            f"retrieve took longer than {ctx.settings.retrieve_s:g} s", hint="try again, or raise retrieve_s"
        ) from None
    found = Retrieval(
        hits=done.hits,
        reason=done.reason or "; ".join(ctx.notes),
        periods=done.periods,
        considered=len(done.order),
    )
    return replace(found, explanation=explanation(done)) if question.explain else found
