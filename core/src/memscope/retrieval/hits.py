"""Fetch the best candidates' records and make hits of them; the next best replace those forgotten meanwhile."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from memscope.pipeline import worker
from memscope.records import Candidates, FetchResult, Handle, Hit, Insight, LeftOut, Memory, Observation, Record, Turn
from memscope.retrieval.changes import changed, expired, is_current, mark_restatements, share, was_said
from memscope.retrieval.deduplicate import deduplicate, first_said, repeats, tells
from memscope.retrieval.follow_supersession import with_successors
from memscope.retrieval.query import Query
from memscope.retrieval.rank import channels, lines
from memscope.services import Services

NO_RECORDS = FetchResult({}, {})
MAX_SHOWN_EVENT = timedelta(days=62)  # a longer time is no date of an event


@worker(
    reads=("candidates", "order", "scores", "features", "values", "k", "list_k", "scope", "as_of", "now", "profile",
           "exclude", "filter", "kinds", "periods", "terms", "weights"),
    writes=("hits", "gone", "left_out"),
)  # fmt: skip
async def build_hits(query: Query, ctx: Services) -> Query:
    """Return the ``k`` best: no two alike, a memory at the turn that said it first, changes marked."""
    found, shown = query.candidates, {hit.id for hit in query.profile}
    waiting, most = list(query.order), query.list_k or query.k
    hits: list[Hit] = []
    left_out: list[LeftOut] = []
    gone = 0
    while found is not None and waiting and len(hits) < most:
        rows, waiting = waiting[: most - len(hits)], waiting[most - len(hits) :]
        fetched = await fetch(query, found, rows, ctx)
        made = [hit for row in rows if (hit := make_hit(query, found, row, fetched)) is not None]
        gone += len(rows) - len(made)
        left_out += [out for row in rows for out in _left_out(query, fetched, found.handle[row])]
        hits, equal = deduplicate([*hits, *(hit for hit in made if hit.id not in shown)])
        left_out += [LeftOut(hit.id, "equal") for hit in equal]
    hits = mark_restatements(query, first_said(hits, await repeats(query, hits, ctx)))
    hits = await with_successors(query, hits, ctx)
    return replace(query, hits=tuple(hits), gone=gone, left_out=tuple(dict.fromkeys(left_out)))


async def fetch(query: Query, found: Candidates, rows: Sequence[int], ctx: Services) -> FetchResult:
    """Return the records of rows; the store is asked only for those that did not come with the search."""
    brought = found.brought or NO_RECORDS
    missing = [found.handle[row] for row in rows if found.handle[row] not in brought.records]
    if not missing:
        return brought
    asked = await ctx.store.fetch(query.scope.user, missing)
    return both(brought, asked)


def both(one: FetchResult | None, other: FetchResult | None) -> FetchResult:
    """Return the records of both; none is parsed that nobody asks for."""
    one, other = one or NO_RECORDS, other or NO_RECORDS
    records: ChainMap[Handle, Record] = ChainMap(other.records, one.records)  # type: ignore[arg-type]  # only read
    return FetchResult(records, {**one.derived, **other.derived})


def make_hit(query: Query, found: Candidates, row: int, fetched: FetchResult) -> Hit | None:
    record = fetched.records.get(found.handle[row])
    if record is None or isinstance(record, Observation) or query.scores is None:
        return None
    derived = fetched.derived.get(found.handle[row], ())
    if isinstance(record, Turn) and record.statement and any(expired(memory, query) for memory in derived):
        return None
    observations = [memory for memory in derived if isinstance(memory, Observation) and was_said(memory, query)]
    current = tuple(memory for memory in observations if is_current(memory, query))
    hit = Hit(
        turn=record if isinstance(record, Turn) else None,
        insight=record if isinstance(record, Insight) else None,
        score=float(query.scores[row]),
        found_by=channels(found, row),
        observations=current,
        matched=matched(query, record, current, bool(found.attributed[row])) if isinstance(record, Turn) else (),
        superseded=tuple(memory for memory in observations if memory not in current),
        changed=changed(query, record, observations) if observations and isinstance(record, Turn) else None,
        part=int(found.part[row]),
        features=lines(query, row),
        zone=query.now.tzinfo,
    )
    return None if hit.id in query.exclude else hit  # a store leaves out turns; of a statement, hits have another id


def matched(query: Query, turn: Turn, observations: Sequence[Observation], attributed: bool) -> tuple[Observation, ...]:
    """Return the observations with as much of the query as the turn's own words, or of a period asked for.

    One that the turn does not tell, since it only took in what the turn says, stands at the turn of its own.
    """
    own = share(query, turn.text) if attributed else 0.0
    told = (one for one in observations if tells(turn, one))
    return tuple(one for one in told if _timely(one, query) or (attributed and _worded(one, query, own)))


def _worded(memory: Observation, query: Query, own: float) -> bool:
    part = share(query, " ".join((memory.text, *memory.keywords)))
    return part > 0 and part >= own


def _timely(memory: Observation, query: Query) -> bool:
    happened = memory.happened
    if happened is None or happened.end - happened.start > MAX_SHOWN_EVENT:
        return False
    return any(happened.overlaps(period) for period in query.periods)


def _left_out(query: Query, fetched: FetchResult, handle: Handle) -> list[LeftOut]:
    """Return the memories on a hit's turn that it does not show."""
    why = [(memory, _why(memory, query)) for memory in fetched.derived.get(handle, ())]
    return [LeftOut(memory.id, reason) for memory, reason in why if reason]


def _why(memory: Memory, query: Query) -> Literal["superseded", "expired", "proposed", ""]:
    if memory.proposed:
        return "proposed"
    if expired(memory, query):
        return "expired"
    return "" if is_current(memory, query) else "superseded"
