"""Memories that wait for a person's approval (``approve: true``): proposed, then accepted or rejected.

No search returns a proposal, and it supersedes nothing yet. Its ``data`` holds the supersessions until it is accepted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from memscope.errors import NotFound
from memscope.languages.insight_text import composed
from memscope.reconciliation.insight_sentences import attributed, with_corrections
from memscope.records import ChangeSet, Insight, Json, Observation, Revision, Scope, Select, Supersession, Turn
from memscope.records.identity import stated_fact
from memscope.stores import Store
from memscope.text.tokens import fold

MemoryType = TypeVar("MemoryType", Observation, Insight)
SUPERSESSIONS = "memscope_closings"
REFUSAL_FIELD, WORDS_FIELD = "refused", "words"  # keys in the data of a proposal whose quote was refused


def proposed(memory: MemoryType, closed: Sequence[Supersession]) -> MemoryType:
    """Turn the memory into a proposal that carries those of ``closed`` in which it takes part."""
    changes = [_to_row(closing) for closing in closed if memory.id in (closing.id, closing.by)]
    return replace(memory, proposed=True, data={**memory.data, SUPERSESSIONS: changes} if changes else memory.data)


async def proposals(store: Store, user: str) -> list[Observation | Insight]:
    """Return the open proposals, oldest first."""
    pages = store.scan(Select(user, kinds=frozenset({"observation", "insight"})))
    return [memory async for page in pages for memory in page if not isinstance(memory, Turn) and _waits(memory)]


async def proposed_before(store: Store, scope: Scope) -> list[Observation]:
    """List the agent's proposals, both those that wait and those that a person rejected."""
    pages = store.scan(Select(scope.user, scope.agent, kinds=frozenset({"observation"})))
    observations = [record async for page in pages for record in page if isinstance(record, Observation)]
    return [one for one in observations if one.proposed and one.scope.agent == scope.agent]


def superseded_by(memory: Observation | Insight) -> list[str]:
    """Return the ids of the memories that the proposal would supersede."""
    return [row[0] for row in memory.data.get(SUPERSESSIONS, ()) if row[1] == memory.id]


async def accept(store: Store, user: str, ids: Sequence[str], *, clock: Callable[[], datetime]) -> int:
    """Turn proposals into memories. Raise as ``reject``, and accept none then.

    Of two proposals one supersedes the other when both are accepted: each carries that supersession. Insights on one
    subject, written while neither knew the other, become one.
    """
    waiting, now = await _open_proposals(store, user, ids), clock()
    revised: list[Revision] = []
    closed: dict[Supersession, None] = {}
    for memory in waiting.values():
        data = {name: value for name, value in memory.data.items() if name != SUPERSESSIONS}
        revised.append(Revision(replace(memory, proposed=False, data=data), memory.version))
        closed |= dict.fromkeys(_from_row(row, now) for row in memory.data.get(SUPERSESSIONS, ()))
    ends = {id for closing in closed for id in (closing.id, closing.by) if id is not None} - waiting.keys()
    others = (await store.fetch(user, sorted(ends))).records.values()
    undecided = {one.id for one in others if not isinstance(one, Turn) and one.proposed}  # or rejected
    settled = tuple(closing for closing in closed if undecided.isdisjoint((closing.id, closing.by)))
    changes = ChangeSet(revised=tuple(revised), closed=settled)
    changes = await _with_one_insight_per_subject(store, user, changes, now)
    await store.apply(user, await with_corrections(store, user, changes, now))
    return len(revised)


async def _with_one_insight_per_subject(store: Store, user: str, changes: ChangeSet, now: datetime) -> ChangeSet:
    """Let the newest insight on the subject of an accepted one supersede the others, and take over their sentences."""
    accepted = {one.memory.id: one.memory for one in changes.revised if isinstance(one.memory, Insight)}
    if not accepted:
        return changes
    gone = {closing.id for closing in changes.closed}
    pages = store.scan(Select(user, kinds=frozenset({"insight"}), current=True))
    current = [record async for page in pages for record in page if isinstance(record, Insight)]
    same = defaultdict[tuple[Scope, str], list[Insight]](list)
    for one in sorted((*current, *accepted.values()), key=lambda one: (one.said, one.recorded)):
        if one.name is None and one.id not in gone:
            same[one.scope, fold(one.subject)].append(one)
    revised, closed = {one.memory.id: one for one in changes.revised}, [*changes.closed]
    for *older, newest in same.values():
        if older and not accepted.keys().isdisjoint(one.id for one in (*older, newest)):
            if stated_fact(newest) is None:  # what a person stated stays as it is
                revised[newest.id] = Revision(_merged(older, newest), newest.version)
            closed += [Supersession(one.id, newest.id, now, newest.said, newest.said) for one in older]
    return replace(changes, revised=tuple(revised.values()), closed=tuple(closed))


def _merged(older: Sequence[Insight], newest: Insight) -> Insight:
    sentences = {fold(part.text): part for one in (*older, newest) for part in attributed(one, {})}
    sources = tuple(dict.fromkeys(id for one in (*older, newest) for id in one.sources))
    text = composed(newest.subject, tuple(sentences.values()))
    return replace(newest, text=text, sentences=tuple(sentences.values()), sources=sources)


async def reject(store: Store, user: str, ids: Sequence[str], *, clock: Callable[[], datetime]) -> int:
    """Close proposals but keep them in the history: if they were forgotten, their turns would be read again.

    Raise ``NotFound`` and reject none if an id is not that of an open proposal; ``Conflict`` if one is decided on
    meanwhile.
    """
    waiting, now = await _open_proposals(store, user, ids), clock()
    rejected = [Revision(replace(one, closed=now, closed_said=now), one.version) for one in waiting.values()]
    return await store.apply(user, ChangeSet(revised=tuple(rejected)))


async def _open_proposals(store: Store, user: str, ids: Sequence[str]) -> dict[str, Observation | Insight]:
    records = (await store.fetch(user, list(ids))).records
    waiting: dict[str, Observation | Insight] = {}
    for id in ids:
        memory = records.get(id)
        if memory is None or isinstance(memory, Turn) or not _waits(memory):
            raise NotFound(f"no proposal has the id {id!r}", hint="memscope review lists them")
        waiting[id] = memory
    return waiting


def _waits(memory: Observation | Insight) -> bool:
    return memory.proposed and memory.closed is None


def _to_row(closing: Supersession) -> Json:
    until = closing.valid_to.isoformat() if closing.valid_to else None
    return [closing.id, closing.by, closing.said.isoformat(), until]


def _from_row(row: Json, now: datetime) -> Supersession:
    id, by, said_at, until = row
    return Supersession(id, by, now, datetime.fromisoformat(said_at), datetime.fromisoformat(until) if until else None)
