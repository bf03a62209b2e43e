"""Show each superseded fact with its successor, and each corrected turn with the new text.

A question may share words only with the old text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memscope.records import FoundBy, Hit, Observation, Record, Turn
from memscope.retrieval.changes import is_corrected, is_current, is_visible
from memscope.retrieval.deduplicate import visible
from memscope.retrieval.query import Query
from memscope.services import Services

MAX_SUCCESSIONS = 4  # per fact
FOUND_BY: tuple[FoundBy, ...] = ("supersedes",)


async def with_successors(query: Query, hits: Sequence[Hit], ctx: Services) -> list[Hit]:
    """Insert after each changed hit the fact that holds instead; return at most ``k`` hits."""
    if "observation" in query.kinds:
        hits = [one for hit in hits for one in (hit, *_rewritten(query, hit))]
    there = {hit.id for hit in hits} | {memory.id for hit in hits for memory in hit.matched}
    wanted = {hit.id: _next(hit) for hit in hits if hit.changed and "observation" in query.kinds}
    missing = {id for id in wanted.values() if id and id not in there}
    if not missing or query.filter:
        return [*hits][: query.list_k or query.k]
    current = await _current(query, missing, ctx)
    turns = await _fetched(query, [memory.sources[0] for memory in current.values()], ctx)
    followed: list[Hit] = []
    for hit in hits:
        followed.append(hit)
        newer = current.get(wanted.get(hit.id, ""))
        turn = turns.get(newer.sources[0]) if newer else None
        if newer and isinstance(turn, Turn) and visible(turn, query) and there.isdisjoint((newer.id, turn.key)):
            followed.append(_hit(hit, newer, turn))
            there |= {newer.id, turn.key}
    return followed[: query.list_k or query.k]


def _rewritten(query: Query, hit: Hit) -> list[Hit]:
    """Return the hit again with the corrected text of its memories, if it shows the turn's own words."""
    if hit.turn is None or not hit.changed or hit.matched:
        return []
    new = tuple(memory for memory in hit.observations if is_corrected(query, hit.turn, memory))
    words = " ".join(memory.text for memory in new)
    return [replace(hit, found_by=FOUND_BY, matched=new, changed=None, words=words)] if new else []


def _next(hit: Hit) -> str:
    """Return the id of the memory that superseded the latest of the hit's memories; "" for none."""
    followed = [memory for memory in hit.superseded if memory.superseded_by]
    return str(max(followed, key=lambda memory: memory.said).superseded_by) if followed else ""


async def _current(query: Query, ids: set[str], ctx: Services) -> dict[str, Observation]:
    """Follow each chain to the first memory that holds at the query's time; keyed by the chain's first id."""
    places, current = {id: id for id in ids}, dict[str, Observation]()
    for _ in range(MAX_SUCCESSIONS):
        records = await _fetched(query, list(places.values()), ctx)
        memories = {start: records.get(id) for start, id in places.items()}
        known = {start: memory for start, memory in memories.items() if isinstance(memory, Observation)}
        current |= {start: one for start, one in known.items() if is_visible(one, query) and is_current(one, query)}
        places = {
            start: one.superseded_by for start, one in known.items() if start not in current and one.superseded_by
        }
        if not places:
            break
    return current


async def _fetched(query: Query, ids: Sequence[str], ctx: Services) -> Mapping[str, Record]:
    records = (await ctx.store.fetch(query.scope.user, ids)).records.values() if ids else ()
    return {record.key if isinstance(record, Turn) else record.id: record for record in records}


def _hit(old: Hit, newer: Observation, turn: Turn) -> Hit:
    return Hit(turn, None, old.score, FOUND_BY, observations=(newer,), matched=(newer,), zone=old.zone, asked=old.asked)
