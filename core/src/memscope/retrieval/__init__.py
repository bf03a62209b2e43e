"""query → hits → context. No chat model; at most one embedding and two calls to the store.

understand ──▶ search ──▶ rank (hop, further) ──▶ (rerank) ──▶ profile ──▶ gather    the steps, each from Query to Query
terms, periods,  the store's  one table of     a model,  where asked  records of the
wording cues     candidates   features, then   if one    or nothing   best, hits      ──▶ context: dated lines
                              more candidates  is set    was found                        within a budget
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from memscope.errors import DeadlineExceeded
from memscope.pipeline import Worker, WorkerContext, run
from memscope.records import Retrieval
from memscope.retrieval.context import context, profile_lines
from memscope.retrieval.explain import explanation, why_nothing
from memscope.retrieval.further import further
from memscope.retrieval.hits import gather
from memscope.retrieval.hop import hop
from memscope.retrieval.profile import profile
from memscope.retrieval.query import Query
from memscope.retrieval.rank import rank
from memscope.retrieval.rerank import rerank
from memscope.retrieval.search import search
from memscope.retrieval.understand import understand

STEPS: tuple[Worker[Query], ...] = (understand, search, rank, hop, further, rerank, profile, gather)

__all__ = [
    "STEPS",
    "Query",
    "context",
    "further",
    "gather",
    "hop",
    "profile",
    "profile_lines",
    "rank",
    "rerank",
    "retrieve",
    "search",
    "understand",
]


async def retrieve(question: Query, ctx: WorkerContext, steps: Sequence[Worker[Query]] = STEPS) -> Retrieval:
    """Returns a query's hits; for one without words none, and the reason. ``DeadlineExceeded`` after ``retrieve_s``."""
    await asyncio.sleep(0)  # a local store never makes it wait: a task that asks again and again would keep the loop
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
        reason="; ".join([*(() if done.hits else (why_nothing(done, ctx),)), *ctx.notes]),
        periods=done.periods,
        considered=len(done.order),
        profile=done.profile,
        notes=tuple(ctx.notes),
        left_out=done.left_out,
    )
    return replace(found, explanation=explanation(done)) if question.explain else found
