"""The reference store: everything in dictionaries of one process. Read this one first.

It keeps what any store keeps, per user: records by number, the units made of them, tombstones, work. Nothing awaits
inside a method, so each call is done wholly before another begins. Use one instance from one event loop.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from memscope.errors import ClosedError, StoreError
from memscope.records import (
    AppendResult,
    ChangeSet,
    FetchResult,
    ForgetReport,
    Handle,
    Insight,
    Observation,
    Record,
    Select,
    Stage,
    Stats,
    Supersession,
    Turn,
    TurnInsert,
    VectorSpace,
)
from memscope.search.changes import Changes
from memscope.search.local import LocalSearch
from memscope.stores import ATOMIC
from memscope.stores.rules import check_revision, check_user, waits_for
from memscope.stores.shelf import (
    Shelf,
    cascade,
    free_key,
    heir,
    orphaned,
    record_id,
    release,
    reopened,
    same_name,
    selected,
)
from memscope.stores.shelf_work import Work
from memscope.text.units import make_units

STAGES: tuple[Stage, ...] = ("embed", "consolidate", "reflect")


def utc_now() -> datetime:
    return datetime.now(UTC)


class InMemoryStore(Work, LocalSearch):
    """Keeps records until the process ends. ``clock`` gives the time that leases are measured by."""

    def __init__(self, *, clock: Callable[[], datetime] = utc_now, index_cache_mb: int = 256) -> None:
        super().__init__(index_cache_mb=index_cache_mb)
        self._clock = clock
        self._shelves: dict[str, Shelf] = {}
        self._secret = secrets.token_bytes(32)
        self._active: VectorSpace | None = None
        self._filling: VectorSpace | None = None
        self._declared: VectorSpace | None = None
        self._closed = False

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({ATOMIC})

    async def open(self) -> None:
        self._check_open()

    async def close(self) -> None:
        self._closed = True

    async def secret(self) -> bytes:
        return self._secret

    async def adopt_secret(self, secret: bytes) -> bool:
        if any(shelf.records or shelf.tombstones for shelf in self._shelves.values()):
            return secret == self._secret
        self._secret = secret
        return True

    # ---- turns and memories

    async def append(self, user: str, inserts: Sequence[TurnInsert], plan: ChangeSet | None = None) -> AppendResult:
        check_user(user, inserts, plan)
        shelf = self._shelf(user)
        if plan is not None:
            self._check_revisions(shelf, plan)
        shelf.revision += 1
        done = frozenset(plan.done) if plan is not None else frozenset()
        placed = [self._place(shelf, draft, done) for draft in inserts]
        if plan is not None:
            self._write(shelf, plan)
        return AppendResult(tuple(key for key, _ in placed), tuple(outcome for _, outcome in placed))

    def _place(
        self, shelf: Shelf, draft: TurnInsert, done: frozenset[str]
    ) -> tuple[str, Literal["stored", "duplicate", "forgotten"]]:
        key = draft.turn.key if draft.base is None else free_key(shelf, draft.base)
        if key in shelf.tombstones:
            return key, "forgotten"
        if key in shelf.numbers:
            return key, "duplicate"
        self._keep(shelf, replace(draft.turn, key=key, seq=shelf.number + 1), key)
        if not draft.turn.statement and key not in done:
            shelf.pending["consolidate"].add(key)
        return key, "stored"

    async def apply(self, user: str, plan: ChangeSet) -> int:
        check_user(user, (), plan)
        shelf = self._shelf(user)
        changed = self._write(shelf, plan)
        for waiting in shelf.pending.values():
            waiting -= set(plan.done)
        return changed

    def _check_revisions(self, shelf: Shelf, plan: ChangeSet) -> None:
        for revision in plan.revised:
            sourced = all(source in shelf.numbers for source in revision.memory.sources)
            check_revision(revision, shelf.find(revision.memory.id), sourced=sourced)

    def _write(self, shelf: Shelf, plan: ChangeSet) -> int:
        self._check_revisions(shelf, plan)
        shelf.revision += 1
        changed = sum(self._create(shelf, memory) for memory in plan.new)
        changed += sum(self._close(shelf, closing) for closing in plan.closed)
        for revision in plan.revised:
            self._revise(shelf, revision.memory)
        return changed + len(plan.revised)

    def _create(self, shelf: Shelf, memory: Observation | Insight) -> bool:
        known = memory.id in shelf.numbers or memory.id in shelf.tombstones
        if known or not memory.sources or not all(source in shelf.numbers for source in memory.sources):
            return False
        self._keep(shelf, memory, memory.id)
        self._settle_in(shelf, memory)
        return True

    def _settle_in(self, shelf: Shelf, memory: Observation | Insight) -> None:
        """A current memory takes its name from others, or waits for reflection."""
        for old in [old for old in shelf.memories() if memory.name and memory.current and same_name(old, memory)]:
            self._close(shelf, Supersession(old.id, memory.id, memory.recorded, memory.said, memory.valid_from))
        shelf.pending["reflect"].discard(memory.id)
        self._enqueue(shelf, [memory.id])

    def _revise(self, shelf: Shelf, memory: Observation | Insight) -> None:
        """The old version goes to the history. A revision may close a memory, it never opens a closed one."""
        old = shelf.find(memory.id)
        if old is None or isinstance(old, Turn):
            return
        shelf.versions.setdefault(old.id, []).append(old)
        revised = replace(memory, version=old.version + 1)
        if old.closed is not None:
            closed = {name: getattr(old, name) for name in ("closed", "closed_said", "superseded_by", "valid_to")}
            revised = replace(revised, **closed)
        self._change(shelf, revised)
        self._settle_in(shelf, revised)

    def _close(self, shelf: Shelf, closing: Supersession) -> bool:
        old = shelf.find(closing.id)
        if old is None or isinstance(old, Turn) or old.closed is not None or closing.by == old.id:
            return False
        if closing.by is not None and closing.by not in shelf.numbers:
            return False  # what should supersede it was not stored
        shelf.pending["reflect"].discard(old.id)
        closed = replace(old, closed=closing.at, closed_said=closing.said, superseded_by=closing.by)
        shelf.valid_to[old.id] = old.valid_to
        self._change(shelf, replace(closed, valid_to=closing.valid_to or old.valid_to))
        return True

    def _keep(self, shelf: Shelf, record: Record, id: str) -> None:
        shelf.number += 1
        shelf.numbers[id] = shelf.number
        self._make_units(shelf, shelf.number, record)

    def _change(self, shelf: Shelf, memory: Observation | Insight) -> None:
        number = shelf.numbers[memory.id]
        self._drop_units(shelf, number)
        self._make_units(shelf, number, memory)

    def _make_units(self, shelf: Shelf, number: int, record: Record) -> None:
        shelf.records[number] = record
        turns = [] if isinstance(record, Turn) else shelf.roots(record)
        shelf.units[number] = make_units(record, number=number, seq=shelf.seq + 1, turns=turns)
        shelf.seq += len(shelf.units[number])
        shelf.written.update((unit.seq, shelf.revision) for unit in shelf.units[number])

    def _drop_units(self, shelf: Shelf, number: int) -> int:
        dropped = [unit.seq for unit in shelf.units.pop(number, [])]
        for seq in dropped:
            shelf.gone[seq] = shelf.revision
            shelf.written.pop(seq)
            shelf.vectored.pop(seq, None)
        for job in (job for job in shelf.jobs if job.stage == "embed"):
            job.items = tuple(item for item in job.items if int(item) not in dropped)
        return sum(vectors.pop(seq, None) is not None for vectors in shelf.vectors.values() for seq in dropped)

    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        shelf = self._shelf(user)
        records = {handle: record for handle in ids if (record := shelf.find(handle)) is not None}
        names = {record_id(record): handle for handle, record in records.items()}
        derived: dict[Handle, tuple[Observation | Insight, ...]] = {}
        for memory in shelf.memories():
            for source in memory.sources:
                if source in names:
                    derived[names[source]] = (*derived.get(names[source], ()), memory)
        return FetchResult(records, derived)

    async def history(self, user: str, id: str) -> list[Observation | Insight]:
        shelf = self._shelf(user)
        chain, waiting = {id}, [id]
        while waiting:
            at = waiting.pop()
            linked = {memory.id for memory in shelf.memories() if memory.superseded_by == at}
            linked |= {memory.superseded_by for memory in shelf.memories() if memory.id == at and memory.superseded_by}
            waiting.extend(linked - chain)
            chain |= linked
        found = [memory for memory in shelf.memories() if memory.id in chain]
        versions = [version for memory in found for version in [*shelf.versions.get(memory.id, []), memory]]
        return sorted(versions, key=lambda memory: memory.recorded)

    async def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        shelf = self._shelf(select.user)
        ids = shelf.numbers.keys() if select.ids is None else select.ids & shelf.numbers.keys()
        numbers = sorted(shelf.numbers[id] for id in ids)
        found = [shelf.records[number] for number in numbers if selected(select, shelf, number)]
        for start in range(0, len(found), 500):
            yield found[start : start + 500]

    async def users(self) -> list[str]:
        self._check_open()
        return sorted(user for user, shelf in self._shelves.items() if shelf.records)

    async def tombstones(self, user: str) -> list[str]:
        return sorted(self._shelf(user).tombstones)

    async def bury(self, user: str, ids: Sequence[str]) -> None:
        shelf = self._shelf(user)
        shelf.tombstones.update(id for id in ids if id not in shelf.numbers)

    # ---- forget

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        shelf = self._shelf(select.user)
        gone = cascade(shelf, {number for number in shelf.records if selected(select, shelf, number)})
        removed = [shelf.records[number] for number in sorted(gone)]
        ids = {record_id(record) for record in removed}
        report = ForgetReport(
            turns=sum(isinstance(record, Turn) for record in removed),
            observations=sum(isinstance(record, Observation) for record in removed),
            insights=sum(isinstance(record, Insight) for record in removed),
            vectors=sum(
                unit.seq in vectors for vectors in shelf.vectors.values() for n in gone for unit in shelf.units[n]
            ),
            rederive=len(orphaned(shelf, ids)),
            physical="none" if dry_run or not gone else "wiped",
            dry_run=dry_run,
            ids=tuple(record_id(record) for record in removed) if dry_run else (),
        )
        if not dry_run and gone:
            shelf.revision += 1
            self._remove(shelf, gone, ids)
        return report

    def _remove(self, shelf: Shelf, gone: set[int], ids: set[str]) -> None:
        """What runs loses its lease and its saved reply: a model was shown the user's memories beside its batch."""
        waiting = orphaned(shelf, ids)
        for touched in [job for job in shelf.jobs if job.stage != "embed" and not ids.isdisjoint(job.items)]:
            release(shelf, touched, ())
        for job in (job for job in shelf.jobs if job.stage != "embed"):
            job.token, job.until, job.plan = "", None, None
        for memory in [memory for memory in shelf.memories() if memory.superseded_by in ids and memory.id not in ids]:
            next_one = heir(shelf, memory.superseded_by, ids)
            self._change(shelf, replace(memory, superseded_by=next_one) if next_one else reopened(shelf, memory))
            waiting |= set() if next_one else {memory.id}
        for number in gone:
            self._drop_units(shelf, number)
            shelf.numbers.pop(record_id(shelf.records.pop(number)))
        shelf.tombstones |= ids
        for id in ids:
            shelf.versions.pop(id, None)
            shelf.valid_to.pop(id, None)
        for stage in shelf.pending.values():
            stage -= ids
        self._enqueue(shelf, waiting)

    def _enqueue(self, shelf: Shelf, ids: Iterable[str]) -> None:
        for id in ids:
            if (stage := waits_for(shelf.find(id))) is not None:
                shelf.pending[stage].add(id)

    # ---- for the index

    async def changes(self, user: str, since: int) -> Changes:
        import numpy as np

        shelf = self._shelf(user)
        fresh = [unit for made in shelf.units.values() for unit in made if shelf.written[unit.seq] > since]
        fresh.sort(key=lambda unit: unit.seq)
        rows = shelf.vectors.get(self._active, {}) if self._active else {}
        vectored = sorted(seq for seq in rows if shelf.vectored.get(seq, 0) > since)
        return Changes(
            revision=shelf.revision,
            columns=b"".join(unit.columns for unit in fresh),
            terms=b"".join(unit.terms for unit in fresh),
            gone=np.array([seq for seq, revision in shelf.gone.items() if revision > since], dtype=np.int64),
            vector_units=np.array(vectored, dtype=np.int64),
            vectors=np.array([rows[seq] for seq in vectored], dtype=np.float16),
            space=self._active,
            whole=since == 0,
        )

    async def numbers(self, select: Select) -> list[int]:
        shelf = self._shelf(select.user)
        return [number for number in shelf.records if selected(select, shelf, number)]

    # ---- the whole

    async def stats(self, user: str | None = None) -> Stats:
        shelves = [shelf for name, shelf in self._shelves.items() if user in (None, name)]
        jobs = [job for shelf in shelves for job in shelf.jobs]
        records = [record for shelf in shelves for record in shelf.records.values()]
        return Stats(
            users=sum(bool(shelf.records) for shelf in shelves),
            turns=sum(isinstance(record, Turn) for record in records),
            observations=sum(isinstance(record, Observation) for record in records),
            insights=sum(isinstance(record, Insight) for record in records),
            units=sum(len(shelf.written) for shelf in shelves),
            vectors=sum(len(shelf.vectors.get(self._active, {})) for shelf in shelves) if self._active else 0,
            pending={
                stage: sum(len(self._waiting(shelf, stage)) for shelf in shelves)
                + sum(len(job.items) for job in jobs if job.stage == stage and not job.code)
                for stage in STAGES
            },
            failed={
                s: sum(len(job.items) for job in jobs if job.stage == s and job.code and not job.parked) for s in STAGES
            },
            parked={s: sum(len(job.items) for job in jobs if job.stage == s and job.parked) for s in STAGES},
            errors={code: sum(job.code == code for job in jobs) for code in {job.code for job in jobs if job.code}},
            space=self._active,
        )

    async def searchable(self, user: str) -> None:
        self._check_open()

    async def backup(self, path: Path) -> None:
        raise StoreError("the in-memory store has no backup", hint="use export, or a file")

    async def compact(self) -> ForgetReport:
        return ForgetReport(physical="wiped")

    def _shelf(self, user: str) -> Shelf:
        self._check_open()
        return self._shelves.setdefault(user, Shelf())

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the store is closed")
