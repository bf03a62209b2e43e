"""Fetch the records of the best and make hits of them; what was forgotten meanwhile makes room for the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memscope.pipeline import WorkerContext, worker
from memscope.records import Candidates, FetchResult, Hit, Insight, Memory, Observation, Turn
from memscope.retrieval.query import Query
from memscope.retrieval.rank import legs, lines
from memscope.text.terms import terms


@worker(reads=("candidates", "order", "scores", "values", "k", "scope", "as_of", "now"), writes=("hits", "gone"))
async def gather(question: Query, ctx: WorkerContext) -> Query:
    found, waiting = question.candidates, list(question.order)
    hits: list[Hit] = []
    gone = 0
    while found is not None and waiting and len(hits) < question.k:
        rows, waiting = waiting[: question.k - len(hits)], waiting[question.k - len(hits) :]
        fetched = await fetch(question, found, rows, ctx)
        made = [hit for row in rows if (hit := make_hit(question, found, row, fetched)) is not None]
        hits += made
        gone += len(rows) - len(made)
    return replace(question, hits=tuple(hits), gone=gone)


async def fetch(question: Query, found: Candidates, rows: Sequence[int], ctx: WorkerContext) -> FetchResult:
    """The records of rows; the store is asked only for those that did not come along with the search."""
    brought = found.brought or FetchResult({}, {})
    missing = [found.handle[row] for row in rows if found.handle[row] not in brought.records]
    if not missing:
        return brought
    asked = await ctx.store.fetch(question.scope.user, missing)
    return FetchResult({**brought.records, **asked.records}, {**brought.derived, **asked.derived})


def make_hit(question: Query, found: Candidates, row: int, fetched: FetchResult) -> Hit | None:
    record = fetched.records.get(found.handle[row])
    if record is None or isinstance(record, Observation) or question.scores is None:
        return None
    derived = fetched.derived.get(found.handle[row], ())
    if isinstance(record, Turn) and record.statement and any(_expired(memory, question) for memory in derived):
        return None
    observations = [memory for memory in derived if isinstance(memory, Observation) and _said(memory, question)]
    current = tuple(memory for memory in observations if _current(memory, question))
    return Hit(
        turn=record if isinstance(record, Turn) else None,
        insight=record if isinstance(record, Insight) else None,
        score=float(question.scores[row]),
        found_by=legs(found, row),
        observations=current,
        matched=matched(question, record, current) if found.lent[row] and isinstance(record, Turn) else (),
        changed=_changed(observations, question),
        part=int(found.part[row]),
        features=lines(question, row),
    )


def matched(question: Query, turn: Turn, observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """The observations that have as much of the query as the turn's own words."""
    own = _share(question, turn.text)
    shares = [(_share(question, memory.text), memory) for memory in observations]
    return tuple(memory for share, memory in shares if share and share >= own)


def _share(question: Query, text: str) -> float:
    present = frozenset(terms(text))
    return sum(weight for one, weight in zip(question.terms, question.weights, strict=True) if one in present)


def _said(memory: Memory, question: Query) -> bool:
    same_agent = question.scope.agent in (None, memory.scope.agent)
    return same_agent and not memory.proposed and (question.as_of is None or memory.said <= question.as_of)


def _closed_by(memory: Memory, question: Query) -> datetime | None:
    closed = memory.valid_to if memory.ended(question.as_of or question.now) else memory.closed_said
    return closed if closed is not None and (question.as_of is None or closed <= question.as_of) else None


def _current(memory: Memory, question: Query) -> bool:
    return not _expired(memory, question) and _closed_by(memory, question) is None


def _expired(memory: Memory, question: Query) -> bool:
    return memory.expires is not None and memory.expires <= question.now


def _changed(observations: Sequence[Observation], question: Query) -> datetime | None:
    """When what the turn says was last superseded, by something that does not rest on the same turn."""
    own = {memory.id for memory in observations}
    over = (memory for memory in observations if memory.superseded_by not in own)
    return max((when for memory in over if (when := _closed_by(memory, question))), default=None)
