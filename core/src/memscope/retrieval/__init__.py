"""Retrieve: query → hits → context, without a chat model and with at most one embedding.

understand ──▶ search ──▶ rank ──▶ second_hop ──▶ list_coverage ──▶ (rerank) ──▶ profile ──▶ build_hits ──▶ context
terms, periods, the      a table  candidates     the rest of       a model,     who the     records of    dated lines
wording cues    store's  of       over a name    the rows, for     if one       user is,    the best,     within a
                rows     features in the best    list questions    is set       if asked    as hits       budget

Each step is a worker that takes and returns a ``Query``. For misspelt words ``correct_spelling`` repeats the first two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from memscope.errors import DeadlineExceeded
from memscope.pipeline import Worker, run
from memscope.records import Retrieval
from memscope.retrieval.context import context, profile_lines
from memscope.retrieval.correct_spelling import correct_spelling
from memscope.retrieval.explain import explanation, log_narrowed, reason_of, unread_language, why_nothing
from memscope.retrieval.hits import build_hits
from memscope.retrieval.limit_lines import limit_lines
from memscope.retrieval.list_coverage import list_coverage
from memscope.retrieval.profile import profile
from memscope.retrieval.query import Query, Request
from memscope.retrieval.rank import rank
from memscope.retrieval.rerank import rerank
from memscope.retrieval.search import search
from memscope.retrieval.second_hop import second_hop
from memscope.retrieval.understand import understand
from memscope.services import Services
from memscope.text.tokens import usual_spelling

RETRIEVAL_STEPS: tuple[Worker[Query], ...] = (
    understand, search, correct_spelling, rank, second_hop, list_coverage, limit_lines, rerank, profile, build_hits,
)  # fmt: skip

__all__ = [
    "RETRIEVAL_STEPS", "Query", "Request", "build_hits", "context", "limit_lines", "list_coverage", "log_narrowed",
    "profile", "profile_lines", "rank", "rerank", "retrieve", "search", "second_hop", "understand",
]  # fmt: skip


async def retrieve(request: Request, ctx: Services, steps: Sequence[Worker[Query]] = RETRIEVAL_STEPS) -> Retrieval:
    """Run the steps on a request; without hits the result has the reason. ``DeadlineExceeded`` after ``retrieve_s``."""
    await asyncio.sleep(0)  # local stores never await: yield, so that a busy caller does not block the loop
    query = Query(**{**vars(request), "text": usual_spelling(request.text), "written": request.text})
    try:
        async with asyncio.timeout(ctx.settings.retrieve_s) as deadline:
            done = await run(steps, query, ctx)
    except TimeoutError:
        if not deadline.expired():
            raise
        hint = "try again, or raise retrieve_s"
        raise DeadlineExceeded(f"retrieve took longer than {ctx.settings.retrieve_s:g} s", hint=hint) from None
    why = None if done.hits else why_nothing(done)
    nothing = [reason_of(why, done, ctx)] if why else []
    return Retrieval(
        hits=done.hits,
        why=why,
        reason="; ".join([*nothing, *unread_language(request.text), *ctx.notes]),
        periods=done.periods,
        considered=len(done.order),
        profile=done.profile,
        notes=tuple(ctx.notes),
        left_out=done.left_out,
        explanation=explanation(done, ctx) if request.explain else "",
    )
