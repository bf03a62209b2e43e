"""The reference store: everything in dictionaries of one process. Read this one first.

It implements the primitives of a local store (``local/transaction.py``) below ``LocalStore``'s methods and the rules in
``rules.py``. Nothing awaits inside a method, so each call is atomic. Use one instance per event loop.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import TypeVar

from memscope.errors import ClosedError
from memscope.records import (
    Block,
    BlockKey,
    ChangeSet,
    Claim,
    ForgetReport,
    Handle,
    Insight,
    Observation,
    Receipt,
    Select,
    Stage,
    Stats,
    Turn,
    VectorSpace,
)
from memscope.search.units import Unit, units_version
from memscope.stores import ATOMIC, RecordKey
from memscope.stores.block_rules import by_key
from memscope.stores.local import LocalStore, Row, Transaction, utc_now
from memscope.stores.local.records import turns_of
from memscope.stores.rules import STAGES, Batch, Memory, record_id, record_key, selected
from memscope.stores.spaces import Spaces, is_complete

T = TypeVar("T")
SCAN_PAGE_ROWS = 500


@dataclass
class Work:
    """A batch with its items and its saved reply."""

    batch: Batch
    items: list[int]
    reply: ChangeSet | None = None


@dataclass
class UserData:
    """One user's data: ``UserTransaction`` in dictionaries."""

    all_users: AllUsers
    number: int = 0
    revision: int = 0
    floor: int = 0
    terms: str = units_version
    rows: dict[int, Row] = field(default_factory=dict)  # by record number
    ids: dict[str, int] = field(default_factory=dict)
    sources: dict[int, tuple[int, ...]] = field(default_factory=dict)  # by number of a memory
    history: dict[int, list[Memory]] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    receipts_by_id: dict[str, Receipt] = field(default_factory=dict)
    versions: dict[tuple[BlockKey, int], Block] = field(default_factory=dict)
    units: dict[int, tuple[int, Unit]] = field(default_factory=dict)  # with the record number
    gone: dict[int, int] = field(default_factory=dict)  # unit -> revision
    embedded: dict[VectorSpace, dict[int, tuple[int, bytes]]] = field(default_factory=dict)  # unit -> revision, vector
    pending: dict[Stage, set[int]] = field(default_factory=lambda: {stage: set() for stage in STAGES})
    work: list[Work] = field(default_factory=list)
    done: set[tuple[str, str]] = field(default_factory=set)  # batch id and token, which make complete() idempotent

    @property
    def space(self) -> VectorSpace | None:
        return self.all_users.vector_spaces.target

    # ---- records

    def find(self, handles: Iterable[Handle]) -> dict[Handle, Row]:
        numbers = ((handle, self.ids.get(handle, 0) if isinstance(handle, str) else handle) for handle in handles)
        return {handle: copy(self.rows[number]) for handle, number in numbers if number in self.rows}

    def known(self, ids: Iterable[str]) -> dict[str, int]:
        return {id: self.ids.get(id, 0) for id in ids if id in self.ids or id in self.forgotten}

    def derived(self, numbers: Iterable[int]) -> list[tuple[int, Row]]:
        wanted = set(numbers)
        links = ((source, memory) for memory, sources in self.sources.items() for source in sources)
        return [(source, copy(self.rows[memory])) for source, memory in links if source in wanted]

    def memories(self) -> list[tuple[Row, Memory]]:
        return [(copy(row), row.record) for row in self.rows.values() if not isinstance(row.record, Turn)]

    def superseded(self, ids: Iterable[str]) -> list[Row]:
        wanted = set(ids)
        return [row for row, memory in self.memories() if memory.superseded_by in wanted]

    def holders(self, name: str, namespace: str | None) -> list[Row]:
        named = [(row, memory) for row, memory in self.memories() if memory.name == name]
        return [row for row, memory in named if memory.current and memory.namespace == namespace]

    def select(self, select: Select, after: int) -> tuple[list[Row], int | None]:
        rows = [copy(self.rows[key.number]) for key in self.keys(select) if key.number > after]
        return rows[:SCAN_PAGE_ROWS], rows[SCAN_PAGE_ROWS - 1].number if len(rows) > SCAN_PAGE_ROWS else None

    def keys(self, select: Select) -> list[RecordKey]:
        ids = self.ids.keys() if select.ids is None else select.ids & self.ids.keys()
        rows = (self.rows[number] for number in sorted(self.ids[id] for id in ids))
        return [record_key(row.number, row.record) for row in rows if self._selected(select, row)]

    def _selected(self, select: Select, row: Row) -> bool:
        return selected(
            select,
            row.record,
            sessions=lambda: {turn.scope.session for turn in turns_of(self, row)},
            waiting=lambda stage: row.number in self.pending[stage] or self._in_batch(stage, row.number),
            derived=lambda: [memory.record for _, memory in self.derived([row.number])],
        )

    def put(self, row: Row, sources: Sequence[int], units: Sequence[Unit]) -> None:
        self.rows[row.number] = copy(row)
        self.ids[record_id(row.record)] = row.number
        if sources:
            self.sources[row.number] = tuple(sources)
        self.units.update((unit.seq, (row.number, unit)) for unit in units)

    def remove(self, row: Row) -> None:
        del self.rows[row.number], self.ids[record_id(row.record)]
        self.sources.pop(row.number, None)
        self.history.pop(row.number, None)
        for stage in STAGES[1:]:
            self.dequeue(stage, [row.number], batched=True)

    def older(self, number: int) -> list[Memory]:
        return self.history.get(number, [])

    def keep_older(self, number: int, memory: Memory) -> None:
        self.history.setdefault(number, []).append(memory)

    def add_tombstones(self, ids: Iterable[str]) -> None:
        self.forgotten.update(ids)

    def tombstones(self) -> list[str]:
        return sorted(self.forgotten)

    def receipts(self) -> list[Receipt]:
        return list(self.receipts_by_id.values())

    def put_receipt(self, receipt: Receipt) -> None:
        self.receipts_by_id.setdefault(receipt.id, receipt)

    def drop_receipts(self) -> None:
        self.receipts_by_id.clear()

    # ---- blocks

    def blocks(self, *, versions: bool = False) -> list[Block]:
        histories = by_key(self.versions.values()).values()
        return [block for history in histories for block in (history if versions else history[-1:])]

    def put_block(self, block: Block) -> None:
        self.versions[block.key, block.version] = block

    def drop_block(self, block: Block) -> None:
        del self.versions[block.key, block.version]

    # ---- units and vectors

    def drop_units(self, row: Row) -> None:
        for unit in (dropped := range(row.unit, row.unit + row.units)):
            del self.units[unit]
            self.gone[unit] = self.revision
            for vectors in self.embedded.values():
                vectors.pop(unit, None)
        self.dequeue("embed", dropped, batched=True)

    def units_since(self, revision: int) -> list[tuple[bytes, bytes]]:
        fresh = list(takewhile(lambda unit: unit > revision, reversed(self.units)))
        return [(self.units[unit][1].columns, self.units[unit][1].terms) for unit in reversed(fresh)]

    def gone_since(self, revision: int) -> list[int]:
        return [unit for unit, at in self.gone.items() if at > revision]

    def rows_of(self, units: Iterable[int]) -> list[Row]:
        numbers = {self.units[unit][0] for unit in units if unit in self.units}
        return [copy(self.rows[number]) for number in sorted(numbers)]

    def vectors(self, row: Row) -> list[tuple[VectorSpace, int, bytes]]:
        units = range(row.unit, row.unit + row.units)
        return [(space, unit, have[unit][1]) for space, have in self.embedded.items() for unit in units if unit in have]

    def put_vector(self, space: VectorSpace, unit: int, data: bytes) -> None:
        if unit in self.units:
            self.embedded.setdefault(space, {})[unit] = (self.revision, data)

    def vectors_since(self, space: VectorSpace, revision: int) -> list[tuple[int, bytes]]:
        have = self.embedded.get(space, {})
        return sorted((unit, data) for unit, (at, data) in have.items() if at > revision)

    # ---- work

    def enqueue(self, stage: Stage, items: Sequence[int]) -> None:
        self.pending[stage].update(item for item in items if not self._in_batch(stage, item))

    def _in_batch(self, stage: Stage, item: int) -> bool:
        return any(item in work.items for work in self.work if work.batch.stage == stage)

    def dequeue(self, stage: Stage, items: Iterable[int], *, batched: bool = False) -> None:
        left = set(items)
        self.pending[stage] -= left
        for work in [work for work in self.work if batched and work.batch.stage == stage]:
            work.items = [item for item in work.items if item not in left]

    def waiting(self, stage: Stage, limit: int, *, by_said: bool = False) -> list[int]:
        items = sorted(self.pending[stage])
        if by_said:
            items.sort(key=lambda item: record_key(item, self.rows[item].record).said)
        return items[:limit]

    def batches(self) -> list[Batch]:
        return [copy(work.batch) for work in self.work]

    def form(self, stage: Stage, items: Sequence[int]) -> Batch:
        self.pending[stage].difference_update(items)
        self.work.append(Work(Batch(secrets.token_hex(16), stage), list(items)))
        return copy(self.work[-1].batch)

    def _work(self, batch: Batch) -> Work:
        return next(work for work in self.work if work.batch.id == batch.id)

    def items(self, batch: Batch) -> list[int]:
        return list(self._work(batch).items)

    def save(self, batch: Batch) -> None:
        self._work(batch).batch = copy(batch)

    def reply(self, batch: Batch) -> ChangeSet | None:
        return self._work(batch).reply

    def keep_reply(self, batch: Batch, change_set: ChangeSet | None) -> None:
        self._work(batch).reply = change_set

    def end(self, batch: Batch, *, done: bool) -> None:
        work = self._work(batch)
        self.work.remove(work)
        self.pending[batch.stage].update(work.items)
        if done:
            self.done.add((batch.id, batch.token))

    def was_done(self, claim: Claim) -> bool:
        return (claim.id, claim.token) in self.done

    def set_due(self, stage: Stage, when: int | None) -> None:
        """Store nothing: ``due_users`` returns every user."""


class AllUsers:
    """The users: ``Transaction`` in dictionaries."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.data: dict[str, UserData] = {}
        self.store_secret = secrets.token_bytes(32)
        self.vector_spaces = Spaces()

    @property
    def now(self) -> int:
        return self.clock()

    def user(self, name: str) -> UserData:
        return self.data.setdefault(name, UserData(self))

    def find_user(self, name: str) -> UserData | None:
        return self.data.get(name)

    def users(self, *, forgotten: bool = False) -> list[str]:
        def is_listed(user: UserData) -> bool:
            return bool(user.rows or user.versions or (forgotten and (user.forgotten or user.receipts_by_id)))

        return sorted(name for name, user in self.data.items() if is_listed(user))

    def due_users(self, stage: Stage) -> list[str]:
        return sorted(self.data)

    def parked_users(self) -> list[str]:
        return self.due_users("embed")

    def secret(self) -> bytes:
        return self.store_secret

    def set_secret(self, secret: bytes) -> None:
        self.store_secret = secret

    def is_used(self) -> bool:
        return any(user.number for user in self.data.values())

    def spaces(self) -> Spaces:
        return self.vector_spaces

    def set_spaces(self, spaces: Spaces) -> None:
        self.vector_spaces = spaces
        for user in self.data.values():
            for space in user.embedded.keys() - {spaces.serving, spaces.filling}:
                del user.embedded[space]

    def has_vectors(self) -> bool:
        return any(have for user in self.data.values() for have in user.embedded.values())

    def fill(self) -> None:
        for user in self.data.values():
            user.work = [work for work in user.work if work.batch.stage != "embed"]
            have = user.embedded.get(self.vector_spaces.target, {}) if self.vector_spaces.target else {}
            user.pending["embed"] = user.units.keys() - have.keys()

    def is_filled(self) -> bool:
        users, target = self.data.values(), self.vector_spaces.target
        work = [work for user in users for work in user.work if work.batch.stage == "embed"]
        if any(user.pending["embed"] for user in users) or not all(one.batch.parked for one in work):
            return False
        embedded = sum(len(user.embedded[target]) for user in users if target in user.embedded)
        return is_complete(sum(len(one.items) for one in work), embedded)

    def renew_indexes(self) -> None:
        for user in self.data.values():
            user.floor = user.revision = user.revision + 1

    def stats(self, user: str | None) -> Stats:
        counted = [data for name, data in self.data.items() if user in (None, name)]
        kinds = Counter(type(row.record) for data in counted for row in data.rows.values())
        work = [work for data in counted for work in data.work]
        states = {state: dict.fromkeys(map(str, STAGES), 0) for state in ("pending", "failed", "parked")}
        for job in work:
            state = "parked" if job.batch.parked else "failed" if job.batch.code else "pending"
            states[state][job.batch.stage] += len(job.items)
        for stage in STAGES:
            states["pending"][stage] += sum(len(data.pending[stage]) for data in counted)
        serving = self.vector_spaces.serving
        return Stats(
            users=sum(bool(data.rows or data.versions) for data in counted),
            turns=kinds[Turn], observations=kinds[Observation], insights=kinds[Insight],
            units=sum(len(data.units) for data in counted),
            vectors=sum(len(data.embedded.get(serving, {})) for data in counted) if serving else 0,
            pending=states["pending"], failed=states["failed"], parked=states["parked"],
            errors=dict(Counter(job.batch.code for job in work if job.batch.code)), space=serving,
            blocks=sum(len(data.blocks()) for data in counted),
        )  # fmt: skip


class InMemoryStore(LocalStore):
    """Keep records until the process ends. ``clock`` gives the time of leases."""

    def __init__(self, *, clock: Callable[[], datetime] = utc_now, index_cache_mb: int = 256) -> None:
        super().__init__(clock=clock, index_cache_mb=index_cache_mb)
        self._all_users = AllUsers(lambda: self._now)
        self._closed = False

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({ATOMIC})

    async def open(self) -> None:
        await self._read(lambda tx: None)

    async def close(self) -> None:
        self._closed = True

    async def _read(self, task: Callable[[Transaction], T], *, brief: bool = False) -> T:
        if self._closed:
            raise ClosedError("the store is closed")
        return task(self._all_users)

    async def _write(self, task: Callable[[Transaction], T], *, user: str | None = None) -> T:
        return await self._read(task)

    async def _wipe(self) -> ForgetReport:
        return ForgetReport(physical="wiped")  # there is no file
