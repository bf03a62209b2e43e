"""What the in-memory store keeps of one user, and which of it a call means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memscope.records import ChangeSet, Handle, Insight, Observation, Record, Select, Stage, Turn, VectorSpace
from memscope.records.filters import matches
from memscope.records.serialization import turn_key
from memscope.stores.rules import holds, waits_for
from memscope.text.units import Unit, microseconds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass
class Job:
    """A batch of work: leased (token, until), with a saved reply (plan), failed (code, not_before), or parked."""

    id: str
    stage: Stage
    items: tuple[str, ...]
    token: str = ""
    until: datetime | None = None
    attempt: int = 0
    code: str = ""
    not_before: datetime | None = None
    parked: bool = False
    plan: ChangeSet | None = None

    def leased(self, now: datetime) -> bool:
        return bool(self.token) and self.until is not None and holds(microseconds(self.until), microseconds(now))

    def paused(self, now: datetime) -> bool:
        return self.not_before is not None and holds(microseconds(self.not_before), microseconds(now))


@dataclass
class Shelf:
    """What the store has of one user. Numbers count records, ``seq`` counts units, ``revision`` counts writes."""

    number: int = 0
    seq: int = 0
    revision: int = 0
    records: dict[int, Record] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    units: dict[int, list[Unit]] = field(default_factory=dict)  # by record number
    written: dict[int, int] = field(default_factory=dict)  # unit seq -> revision
    gone: dict[int, int] = field(default_factory=dict)  # unit seq -> revision
    vectors: dict[VectorSpace, dict[int, NDArray[np.float16]]] = field(default_factory=dict)
    vectored: dict[int, int] = field(default_factory=dict)  # unit seq -> revision of its vector
    versions: dict[str, list[Observation | Insight]] = field(default_factory=dict)
    valid_to: dict[str, datetime | None] = field(default_factory=dict)  # of closed memories: what closing replaced
    tombstones: set[str] = field(default_factory=set)
    pending: dict[Stage, set[str]] = field(default_factory=lambda: {"consolidate": set(), "reflect": set()})
    jobs: list[Job] = field(default_factory=list)
    completed: set[str] = field(default_factory=set)  # tokens, so that complete() twice is once

    def find(self, handle: Handle) -> Record | None:
        number = self.numbers.get(handle) if isinstance(handle, str) else handle
        return self.records.get(number) if number is not None else None

    def memories(self) -> Iterable[Observation | Insight]:
        return [record for record in self.records.values() if not isinstance(record, Turn)]

    def roots(self, memory: Observation | Insight) -> list[tuple[int, Turn]]:
        """The turns that a memory rests on, with their numbers."""
        found: dict[int, Turn] = {}
        for source in memory.sources:
            record = self.find(source)
            if isinstance(record, Turn):
                found[self.numbers[source]] = record
            elif record is not None:
                found.update(self.roots(record))
        return sorted(found.items())


def record_id(record: Record) -> str:
    return record.key if isinstance(record, Turn) else record.id


def free_key(shelf: Shelf, base: bytes) -> str:
    """The key with the first n that neither a turn nor a tombstone has: doubling, then halving."""

    def taken(n: int) -> bool:
        key = turn_key(base, n)
        return key in shelf.numbers or key in shelf.tombstones

    low, high = 0, 1
    while taken(high - 1):
        low, high = high, 2 * high
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken(middle - 1) else (low, middle)
    return turn_key(base, high - 1)


def same_name(old: Observation | Insight, new: Observation | Insight) -> bool:
    return old.current and old.id != new.id and (old.name, old.namespace) == (new.name, new.namespace)


def reopened(shelf: Shelf, memory: Observation | Insight) -> Observation | Insight:
    valid_to = shelf.valid_to.pop(memory.id, None)
    return replace(memory, closed=None, closed_said=None, superseded_by=None, valid_to=valid_to)


def cascade(shelf: Shelf, gone: set[int]) -> set[int]:
    """With what is derived from it, to the last; and with the statements that were made for a memory only."""
    ids = {record_id(shelf.records[number]) for number in gone}
    while True:
        more = {memory.id for memory in shelf.memories() if ids.intersection(memory.sources)}
        for memory in shelf.memories():
            if memory.id in ids:
                more |= {source for source in memory.sources if getattr(shelf.find(source), "statement", False)}
        if more <= ids:
            return {shelf.numbers[id] for id in ids}
        ids |= more


def orphaned(shelf: Shelf, ids: set[str]) -> set[str]:
    """What stays of the sources of memories that fall with another source: their stage has to look at it again.

    A memory that is removed for itself, with all its sources left, is not made again: that was what to forget.
    """
    fallen = (memory for memory in shelf.memories() if memory.id in ids and not ids.isdisjoint(memory.sources))
    left = {source for memory in fallen for source in memory.sources} - ids
    return {source for source in left if waits_for(shelf.find(source)) is not None}


def heir(shelf: Shelf, id: str | None, gone: set[str]) -> str | None:
    """The first memory after a removed one in its line of supersession that stays."""
    seen: set[str] = set()
    while id in gone and id not in seen:
        seen.add(id)
        removed = shelf.find(id)
        id = None if removed is None or isinstance(removed, Turn) else removed.superseded_by
    return id if id is not None and id in shelf.numbers and id not in gone else None


def unsourced(shelf: Shelf, memory: Observation | Insight) -> bool:
    return memory.id not in shelf.numbers and not all(source in shelf.numbers for source in memory.sources)


def release(shelf: Shelf, job: Job, done: Iterable[str]) -> None:
    """The job ends; what is not done is pending again."""
    shelf.jobs.remove(job)
    if job.stage != "embed":
        shelf.pending[job.stage] |= {id for id in job.items if id not in set(done) and id in shelf.numbers}


def selected(select: Select, shelf: Shelf, number: int) -> bool:
    record = shelf.records[number]
    if isinstance(record, Turn):
        sessions, meta, kind = {record.scope.session}, record.metadata, "turn"
        of_memories = select.name is not None or select.namespace is not None or select.expired_by is not None
        of_memories |= (
            record.statement and select.live_at is not None and follows_expired(shelf, record, select.live_at)
        )
        when = not select.period or record.time in select.period
    else:
        sessions = {turn.scope.session for _, turn in shelf.roots(record)}
        meta, kind = record.data, "observation" if isinstance(record, Observation) else "insight"
        of_memories = not _memory_selected(select, record)
        when = not select.period or record.said in select.period or overlaps(record, select)
    return (
        kind in select.kinds
        and not of_memories
        and when
        and select.agent in (None, record.scope.agent)
        and (select.session is None or select.session in sessions)
        and (select.ids is None or record_id(record) in select.ids)
        and (select.text is None or select.text.casefold() in record.text.casefold())
        and (select.filter is None or matches(select.filter, meta))
        and (select.pending is None or waits(shelf, select.pending, record_id(record)))
    )


def waits(shelf: Shelf, stage: Stage, id: str) -> bool:
    return id in shelf.pending.get(stage, ()) or any(job.stage == stage and id in job.items for job in shelf.jobs)


def follows_expired(shelf: Shelf, statement: Turn, now: datetime) -> bool:
    """A statement is out of sight with its memory."""
    made = (memory for memory in shelf.memories() if statement.key in memory.sources)
    return any(memory.expires is not None and memory.expires <= now for memory in made)


def overlaps(memory: Observation | Insight, select: Select) -> bool:
    return memory.happened is not None and select.period is not None and memory.happened.overlaps(select.period)


def _memory_selected(select: Select, memory: Observation | Insight) -> bool:
    live = select.live_at is None or memory.expires is None or memory.expires > select.live_at
    over = select.expired_by is None or (memory.expires is not None and memory.expires <= select.expired_by)
    named = select.name in (None, memory.name) and select.namespace in (None, memory.namespace)
    return live and over and named and (memory.current or not select.current)
