"""Fetch the best candidates' records and make hits of them; the next best replace those forgotten meanwhile."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from memscope.pipeline import WorkerContext, worker
from memscope.records import Candidates, FetchResult, Handle, Hit, Insight, LeftOut, Memory, Observation, Record, Turn
from memscope.retrieval.changes import changed, expired, is_current, mark_restatements, share, was_said
from memscope.retrieval.distinct import distinct, first_said, repeats
from memscope.retrieval.query import Query
from memscope.retrieval.rank import legs, lines
from memscope.retrieval.successors import with_successors

NOTHING = FetchResult({}, {})
LONGEST_EVENT = timedelta(days=62)  # a longer time is no date of an event


@worker(
    reads=("candidates", "order", "scores", "values", "k", "scope", "as_of", "now", "profile", "exclude", "filter"),
    writes=("hits", "gone", "left_out"),
)
async def gather(question: Query, ctx: WorkerContext) -> Query:
    """Returns the ``k`` best: no two alike, a memory at the turn that said it first, changes marked."""
    found, shown = question.candidates, {hit.id for hit in question.profile}
    waiting = list(question.order)
    hits: list[Hit] = []
    left_out: list[LeftOut] = []
    gone = 0
    while found is not None and waiting and len(hits) < question.k:
        rows, waiting = waiting[: question.k - len(hits)], waiting[question.k - len(hits) :]
        fetched = await fetch(question, found, rows, ctx)
        made = [hit for row in rows if (hit := make_hit(question, found, row, fetched)) is not None]
        gone += len(rows) - len(made)
        left_out += [out for row in rows for out in _left_out(question, fetched, found.handle[row])]
        hits, equal = distinct([*hits, *(hit for hit in made if hit.id not in shown)])
        left_out += [LeftOut(hit.id, "equal") for hit in equal]
    hits = mark_restatements(question, first_said(hits, await repeats(question, hits, ctx)))
    hits = await with_successors(question, hits, ctx)
    return replace(question, hits=tuple(hits), gone=gone, left_out=tuple(dict.fromkeys(left_out)))


async def fetch(question: Query, found: Candidates, rows: Sequence[int], ctx: WorkerContext) -> FetchResult:
    """Returns the records of rows; the store is asked only for those that did not come with the search."""
    brought = found.brought or NOTHING
    missing = [found.handle[row] for row in rows if found.handle[row] not in brought.records]
    if not missing:
        return brought
    asked = await ctx.store.fetch(question.scope.user, missing)
    return both(brought, asked)


def both(one: FetchResult | None, other: FetchResult | None) -> FetchResult:
    """Returns the records of both; none is parsed that nobody asks for."""
    one, other = one or NOTHING, other or NOTHING
    records: ChainMap[Handle, Record] = ChainMap(other.records, one.records)  # type: ignore[arg-type]  # only read
    return FetchResult(records, {**one.derived, **other.derived})


def make_hit(question: Query, found: Candidates, row: int, fetched: FetchResult) -> Hit | None:
    record = fetched.records.get(found.handle[row])
    if record is None or isinstance(record, Observation) or question.scores is None:
        return None
    derived = fetched.derived.get(found.handle[row], ())
    if isinstance(record, Turn) and record.statement and any(expired(memory, question) for memory in derived):
        return None
    observations = [memory for memory in derived if isinstance(memory, Observation) and was_said(memory, question)]
    current = tuple(memory for memory in observations if is_current(memory, question))
    return Hit(
        turn=record if isinstance(record, Turn) else None,
        insight=record if isinstance(record, Insight) else None,
        score=float(question.scores[row]),
        found_by=legs(found, row),
        observations=current,
        matched=matched(question, record, current, bool(found.credited[row])) if isinstance(record, Turn) else (),
        superseded=tuple(memory for memory in observations if memory not in current),
        changed=changed(question, record, observations) if observations and isinstance(record, Turn) else None,
        part=int(found.part[row]),
        features=lines(question, row),
        zone=question.now.tzinfo,
    )


def matched(
    question: Query, turn: Turn, observations: Sequence[Observation], credited: bool
) -> tuple[Observation, ...]:
    """Returns the observations with as much of the query as the turn's own words, or of a period asked for."""
    own = share(question, turn.text) if credited else 0.0
    return tuple(one for one in observations if _timely(one, question) or (credited and _worded(one, question, own)))


def _worded(memory: Observation, question: Query, own: float) -> bool:
    part = share(question, " ".join((memory.text, *memory.keywords)))
    return part > 0 and part >= own


def _timely(memory: Observation, question: Query) -> bool:
    happened = memory.happened
    if happened is None or happened.end - happened.start > LONGEST_EVENT:
        return False
    return any(happened.overlaps(period) for period in question.periods)


def _left_out(question: Query, fetched: FetchResult, handle: Handle) -> list[LeftOut]:
    """Returns the memories on a hit's turn that it does not show."""
    why = [(memory, _why(memory, question)) for memory in fetched.derived.get(handle, ())]
    return [LeftOut(memory.id, reason) for memory, reason in why if reason]


def _why(memory: Memory, question: Query) -> Literal["superseded", "expired", "proposed", ""]:
    if memory.proposed:
        return "proposed"
    if expired(memory, question):
        return "expired"
    return "" if is_current(memory, question) else "superseded"
