"""The reference store: everything in dictionaries of one process. Read this one first.

It keeps what any store keeps, per user: records by number, the units made of them, tombstones, work. Nothing awaits inside
a method, so each call is done wholly before another begins. Use one instance from one event loop.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memscope.codec import turn_key
from memscope.errors import ClosedError, Conflict, EmbeddingMismatch, LeaseLost, StoreError
from memscope.filters import matches
from memscope.records import (
    Appended,
    Claim,
    Closing,
    Draft,
    Fetched,
    ForgetReport,
    Handle,
    Insight,
    Observation,
    Plan,
    Record,
    Select,
    Space,
    Stage,
    Stats,
    Turn,
)
from memscope.stores import ATOMIC, PARK_AFTER, Changes
from memscope.stores.index import LocalSearch
from memscope.text import Unit, units

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STAGES: tuple[Stage, ...] = ("embed", "consolidate", "reflect")
USERS_AT_ONCE = 8


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass
class Job:
    """A batch of work: pending (no token), leased (token, until), extracted (plan), failed (code, not_before), parked."""

    id: str
    stage: Stage
    items: tuple[str, ...]
    token: str = ""
    until: datetime | None = None
    attempt: int = 0
    code: str = ""
    not_before: datetime | None = None
    parked: bool = False
    plan: Plan | None = None

    def leased(self, now: datetime) -> bool:
        return bool(self.token) and self.until is not None and self.until > now


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
    vectors: dict[Space, dict[int, NDArray[np.float16]]] = field(default_factory=dict)
    vectored: dict[int, int] = field(default_factory=dict)  # unit seq -> revision of its vector
    versions: dict[str, list[Observation | Insight]] = field(default_factory=dict)
    tombstones: set[str] = field(default_factory=set)
    pending: dict[Stage, set[str]] = field(default_factory=lambda: {"consolidate": set(), "reflect": set()})
    jobs: list[Job] = field(default_factory=list)

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


class InMemoryStore(LocalSearch):
    """Keeps records until the process ends. ``clock`` gives the time that leases are measured by."""

    def __init__(self, *, clock: Callable[[], datetime] = utc_now, index_cache_mb: int = 256) -> None:
        super().__init__(index_cache_mb=index_cache_mb)
        self._clock = clock
        self._shelves: dict[str, Shelf] = {}
        self._secret = secrets.token_bytes(32)
        self._active: Space | None = None
        self._filling: Space | None = None
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

    async def append(self, user: str, drafts: Sequence[Draft], plan: Plan | None = None) -> Appended:
        shelf = self._shelf(user)
        shelf.revision += 1
        placed = [self._place(shelf, draft) for draft in drafts]
        if plan is not None:
            self._write(shelf, plan)
            shelf.pending["consolidate"] -= set(plan.done)
        return Appended(tuple(key for key, _ in placed), tuple(outcome for _, outcome in placed))

    def _place(self, shelf: Shelf, draft: Draft) -> tuple[str, Any]:
        key = draft.turn.key if draft.base is None else free_key(shelf, draft.base)
        if key in shelf.tombstones:
            return key, "forgotten"
        if key in shelf.numbers:
            return key, "duplicate"
        self._keep(shelf, replace(draft.turn, key=key, seq=shelf.number + 1), key)
        if not draft.turn.statement:
            shelf.pending["consolidate"].add(key)
        return key, "stored"

    async def apply(self, user: str, plan: Plan) -> int:
        shelf = self._shelf(user)
        for revision in plan.revised:
            stored = shelf.find(revision.memory.id)
            if isinstance(stored, Turn) or stored is None or stored.version != revision.expected:
                raise Conflict(f"memory {revision.memory.id!r} changed meanwhile", hint="read it again, then update")
        shelf.revision += 1
        return self._write(shelf, plan)

    def _write(self, shelf: Shelf, plan: Plan) -> int:
        changed = sum(self._create(shelf, memory) for memory in plan.new)
        changed += sum(self._close(shelf, closing) for closing in plan.closed)
        for revision in plan.revised:
            old = shelf.find(revision.memory.id)
            if old is not None and not isinstance(old, Turn) and old.version == revision.expected:
                shelf.versions.setdefault(old.id, []).append(old)
                self._change(shelf, replace(revision.memory, version=old.version + 1))
                changed += 1
        shelf.pending["reflect"] -= set(plan.done)
        return changed

    def _create(self, shelf: Shelf, memory: Observation | Insight) -> bool:
        known = memory.id in shelf.numbers or memory.id in shelf.tombstones
        if known or not memory.sources or not all(source in shelf.numbers for source in memory.sources):
            return False
        for old in [old for old in shelf.memories() if memory.name and memory.current and same_name(old, memory)]:
            self._close(shelf, Closing(old.id, memory.id, memory.recorded, memory.said, memory.valid_from))
        self._keep(shelf, memory, memory.id)
        if isinstance(memory, Observation) and memory.current and memory.name is None:
            shelf.pending["reflect"].add(memory.id)
        return True

    def _close(self, shelf: Shelf, closing: Closing) -> bool:
        old = shelf.find(closing.id)
        if old is None or isinstance(old, Turn) or old.closed is not None:
            return False
        shelf.pending["reflect"].discard(old.id)
        closed = replace(old, closed=closing.at, closed_said=closing.said, superseded_by=closing.by)
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
        shelf.units[number] = units(record, number=number, seq=shelf.seq + 1, turns=turns)
        shelf.seq += len(shelf.units[number])
        shelf.written.update((unit.seq, shelf.revision) for unit in shelf.units[number])

    def _drop_units(self, shelf: Shelf, number: int) -> int:
        dropped = [unit.seq for unit in shelf.units.pop(number, [])]
        for seq in dropped:
            shelf.gone[seq] = shelf.revision
            shelf.written.pop(seq)
            shelf.vectored.pop(seq, None)
        return sum(vectors.pop(seq, None) is not None for vectors in shelf.vectors.values() for seq in dropped)

    async def fetch(self, user: str, ids: Sequence[Handle]) -> Fetched:
        shelf = self._shelf(user)
        records = {handle: record for handle in ids if (record := shelf.find(handle)) is not None}
        names = {record_id(record): handle for handle, record in records.items()}
        derived: dict[Handle, tuple[Observation | Insight, ...]] = {}
        for memory in shelf.memories():
            for source in memory.sources:
                if source in names:
                    derived[names[source]] = (*derived.get(names[source], ()), memory)
        return Fetched(records, derived)

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
        return sorted(versions, key=lambda memory: (memory.recorded, memory.version))

    async def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        shelf = self._shelf(select.user)
        found = [shelf.records[number] for number in sorted(shelf.records) if selected(select, shelf, number)]
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
            vectors=sum(unit.seq in vectors for vectors in shelf.vectors.values() for n in gone for unit in shelf.units[n]),
            rederive=len(orphaned(removed, ids)),
            physical="none" if dry_run or not gone else "wiped",
            dry_run=dry_run,
            ids=tuple(record_id(record) for record in removed) if dry_run else (),
        )
        if not dry_run and gone:
            shelf.revision += 1
            self._remove(shelf, gone, ids)
        return report

    def _remove(self, shelf: Shelf, gone: set[int], ids: set[str]) -> None:
        waiting = orphaned([shelf.records[number] for number in gone], ids)
        for number in gone:
            self._drop_units(shelf, number)
            shelf.numbers.pop(record_id(shelf.records.pop(number)))
        shelf.tombstones |= ids
        for id in ids:
            shelf.versions.pop(id, None)
        for touched in [job for job in shelf.jobs if touches(job, ids)]:
            self._release(shelf, touched, ())
        for stage in shelf.pending.values():
            stage -= ids
        for memory in shelf.memories():
            if memory.superseded_by in ids:
                self._change(shelf, reopened(memory))
                waiting.add(memory.id)
        self._enqueue(shelf, waiting)

    def _enqueue(self, shelf: Shelf, ids: Iterable[str]) -> None:
        for id in ids:
            record = shelf.find(id)
            if isinstance(record, Turn) and not record.statement:
                shelf.pending["consolidate"].add(id)
            elif isinstance(record, Observation) and record.current:
                shelf.pending["reflect"].add(id)

    # ---- work

    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        names = sorted(self._shelves) if user is None else [user]
        claims = (self._claim(name, stage, limit, lease_s) for name in names)
        return [claim for claim in claims if claim is not None][:USERS_AT_ONCE]

    def _claim(self, user: str, stage: Stage, limit: int, lease_s: float) -> Claim | None:
        shelf, now = self._shelf(user), self._clock()
        lane = {"embed"} if stage == "embed" else {"consolidate", "reflect"}
        if any(job.stage in lane and job.leased(now) for job in shelf.jobs):
            return None
        unfinished = [job for job in shelf.jobs if job.stage == stage and not job.parked]
        job = unfinished[0] if unfinished else self._new_job(shelf, stage, limit)
        if job is None or (job.not_before is not None and job.not_before > now):
            return None
        job.token, job.until, job.attempt = secrets.token_hex(8), now + timedelta(seconds=lease_s), job.attempt + 1
        texts = self._texts(shelf, job.items) if stage == "embed" else ()
        return Claim(job.id, stage, user, job.token, job.until, job.attempt, job.items, texts, job.plan)

    def _new_job(self, shelf: Shelf, stage: Stage, limit: int) -> Job | None:
        items = self._waiting(shelf, stage)[:limit]
        if not items:
            return None
        job = Job(secrets.token_hex(16), stage, tuple(items))
        shelf.jobs.append(job)
        if stage != "embed":
            shelf.pending[stage] -= set(items)
        return job

    def _waiting(self, shelf: Shelf, stage: Stage) -> list[str]:
        if stage != "embed":
            return sorted(shelf.pending[stage], key=lambda id: shelf.numbers[id])
        target = self._filling or self._active
        if target is None:
            return []
        taken = {item for job in shelf.jobs if job.stage == "embed" for item in job.items}
        have = shelf.vectors.get(target, {})
        return [str(seq) for seq in sorted(shelf.written) if seq not in have and str(seq) not in taken]

    def _texts(self, shelf: Shelf, items: Sequence[str]) -> tuple[str, ...]:
        texts = {str(unit.seq): unit.text for made in shelf.units.values() for unit in made}
        return tuple(texts.get(item, "") for item in items)

    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        job = self._job(claim)
        job.until = self._clock() + timedelta(seconds=lease_s)
        return replace(claim, until=job.until)

    async def save_reply(self, claim: Claim, plan: Plan) -> None:
        self._job(claim).plan = plan

    async def complete(self, claim: Claim, plan: Plan | None = None) -> int:
        job = self._job(claim)
        plan = plan or job.plan or Plan()
        shelf = self._shelf(claim.user)
        shelf.revision += 1
        before = len(shelf.records)
        self._write(shelf, plan)
        if claim.stage == "embed":
            self._take_vectors(shelf, plan)
        dropped = {source for memory in plan.new if memory.id not in shelf.numbers for source in memory.sources}
        self._release(shelf, job, set(plan.done) - dropped)
        return len(shelf.records) - before

    async def fail(self, claim: Claim, code: str, not_before: datetime) -> None:
        job = self._job(claim)
        job.token, job.until, job.code, job.not_before = "", None, code, not_before
        job.parked = job.attempt >= PARK_AFTER

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        shelves = self._shelves.values() if user is None else [self._shelf(user)]
        parked = [job for shelf in shelves for job in shelf.jobs if job.parked and stage in (None, job.stage)]
        for job in parked:
            job.parked, job.attempt, job.not_before = False, 0, None
        return len(parked)

    def _job(self, claim: Claim) -> Job:
        for job in self._shelf(claim.user).jobs:
            if job.id == claim.id and job.token == claim.token and job.leased(self._clock()):
                return job
        raise LeaseLost(f"the lease of batch {claim.id!r} is over", hint="discard the result; another worker has it")

    def _release(self, shelf: Shelf, job: Job, done: Iterable[str]) -> None:
        """The job ends; what is not done is pending again."""
        shelf.jobs.remove(job)
        if job.stage != "embed":
            shelf.pending[job.stage] |= {id for id in job.items if id not in set(done) and id in shelf.numbers}

    # ---- vectors

    async def use_space(self, space: Space, *, replace: bool = False) -> None:
        self._check_open()
        if self._active in (None, space):
            self._active, self._filling = space, None
        elif not replace:
            raise EmbeddingMismatch(
                f"the store holds vectors of {self._active}, the embedder makes {space}",
                hint="configure the old model, or run 'memscope reembed'",
            )
        else:
            self._filling = space
            self._switch_when_full()

    def _take_vectors(self, shelf: Shelf, plan: Plan) -> None:
        import numpy as np

        target = self._filling or self._active
        for item, vector in plan.vectors.items():
            if target is None or len(vector) != target.dims:
                raise EmbeddingMismatch(f"a vector of length {len(vector)} for {target}")
            if int(item) in shelf.written:
                shelf.vectors.setdefault(target, {})[int(item)] = np.asarray(vector, dtype=np.float16)
                shelf.vectored[int(item)] = shelf.revision
        self._switch_when_full()

    def _switch_when_full(self) -> None:
        shelves = self._shelves.values()
        if self._filling and not any(shelf.written.keys() - shelf.vectors.get(self._filling, {}) for shelf in shelves):
            self._active, self._filling = self._filling, None
            for shelf in shelves:
                shelf.vectors = {self._active: shelf.vectors.get(self._active, {})}
                shelf.revision += 1
                shelf.vectored = dict.fromkeys(shelf.vectors[self._active], shelf.revision)

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
            failed={s: sum(len(job.items) for job in jobs if job.stage == s and job.code and not job.parked) for s in STAGES},
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


def record_id(record: Record) -> str:
    return record.key if isinstance(record, Turn) else record.id


def free_key(shelf: Shelf, base: bytes) -> str:
    """The key with the first n that neither a turn nor a tombstone has: doubling, then halving."""
    taken = lambda n: (key := turn_key(base, n)) in shelf.numbers or key in shelf.tombstones  # noqa: E731
    high = 1
    while taken(high - 1):
        high *= 2
    low = high // 2
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken(middle - 1) else (low, middle)
    return turn_key(base, high - 1)


def same_name(old: Observation | Insight, new: Observation | Insight) -> bool:
    return old.closed is None and (old.name, old.namespace) == (new.name, new.namespace)


def reopened(memory: Observation | Insight) -> Observation | Insight:
    return replace(memory, closed=None, closed_said=None, superseded_by=None, valid_to=None)


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


def orphaned(removed: Iterable[Record], ids: set[str]) -> set[str]:
    """Sources that stay while a memory made of them goes: to be looked at again."""
    return {source for record in removed if not isinstance(record, Turn) for source in record.sources} - ids


def touches(job: Job, ids: set[str]) -> bool:
    planned = () if job.plan is None else (source for memory in job.plan.new for source in memory.sources)
    return not ids.isdisjoint(job.items) or not ids.isdisjoint(planned)


def selected(select: Select, shelf: Shelf, number: int) -> bool:
    record = shelf.records[number]
    if isinstance(record, Turn):
        sessions, meta, kind = {record.scope.session}, record.metadata, "turn"
        of_memories = select.name is not None or select.namespace is not None or select.expired_by is not None
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


def overlaps(memory: Observation | Insight, select: Select) -> bool:
    return memory.happened is not None and select.period is not None and memory.happened.overlaps(select.period)


def _memory_selected(select: Select, memory: Observation | Insight) -> bool:
    live = select.live_at is None or memory.expires is None or memory.expires > select.live_at
    over = select.expired_by is None or (memory.expires is not None and memory.expires <= select.expired_by)
    named = select.name in (None, memory.name) and select.namespace in (None, memory.namespace)
    return live and over and named and (memory.current or not select.current)
