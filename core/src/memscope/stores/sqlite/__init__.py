"""SQLiteStore: one file, the standard library only. The durable twin of ``memory.py``; read that one first.

    files.py    the path, the lock between processes, checks, what SQLite's errors mean
    engine.py   one thread that writes for everybody (group commit), connections that read
    schema.py   the tables
    transaction.py units.py apply.py forget.py queue.py jobs.py vectors.py reading.py   one part of the contract each

An acknowledged write is on the disk (WAL, ``synchronous=FULL``). Deleted content is overwritten (``secure_delete``).
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace as changed
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from memscope.errors import ClosedError, InputError, StoreError, StoreGone
from memscope.records import (
    AppendResult,
    ChangeSet,
    Claim,
    FetchResult,
    ForgetReport,
    Handle,
    Insight,
    Observation,
    Record,
    Select,
    Stage,
    Stats,
    TurnInsert,
    VectorSpace,
)
from memscope.search.changes import Changes
from memscope.search.local import LocalSearch
from memscope.stores import ATOMIC, BACKUP, unfinished
from memscope.stores.spaces import check_declared, check_space
from memscope.stores.sqlite import (
    apply,
    files,
    forget,
    jobs,
    queue,
    reading,
    schema,
    secure_erase,
    transaction,
    units,
    vectors,
)
from memscope.stores.sqlite.engine import Engine
from memscope.stores.sqlite.files import Connect
from memscope.stores.sqlite.transaction import Transaction
from memscope.text.terms import terms_version
from memscope.text.units import microseconds

T = TypeVar("T")
BRIEF = 32  # records that are read without going to a thread
_abandoned: list[Engine] = []  # of a parent process: their connections must neither be used nor closed after a fork


def utc_now() -> datetime:
    return datetime.now(UTC)


class SQLiteStore(LocalSearch):
    """A store in one SQLite file, shared by any number of threads and processes of one machine.

    ``path``: the file, created with mode 0600 if there is none. ``index_cache_mb``: memory for the search indexes of
    the users asked about last. ``clock``: the time leases are measured by. ``connect``: opens a connection to a path.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        index_cache_mb: int = 256,
        clock: Callable[[], datetime] = utc_now,
        connect: Connect = files.connect,
    ) -> None:
        super().__init__(index_cache_mb=index_cache_mb)
        if sqlite3.sqlite_version_info < files.OLDEST_SQLITE:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old", hint="3.35 is the oldest that serves")
        self.path = files.plain_path(path)
        self._clock = clock
        self._connect = connect
        self._engine: Engine | None = None
        self._opening = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self._declared: VectorSpace | None = None

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({ATOMIC, BACKUP})

    async def open(self) -> None:
        await self._live()

    async def close(self) -> None:
        self._closed = True
        engine, self._engine = self._engine, None
        if engine is not None and engine.pid == os.getpid():
            await asyncio.to_thread(engine.close)

    async def secret(self) -> bytes:
        def task(db: sqlite3.Connection) -> bytes:
            return bytes(db.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()[0])

        return await self._read(task)

    async def adopt_secret(self, secret: bytes) -> bool:
        def task(db: sqlite3.Connection) -> bool:
            if db.execute("SELECT EXISTS (SELECT 1 FROM users WHERE number > 0)").fetchone()[0]:
                own = db.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()[0]
                return bool(own == secret)
            db.execute("UPDATE meta SET value = ? WHERE key = 'secret'", (secret,))
            return True

        return await self._write(task)

    # ---- turns and memories

    async def append(self, user: str, inserts: Sequence[TurnInsert], plan: ChangeSet | None = None) -> AppendResult:
        return await self._write_user(user, lambda w: apply.append(w, inserts, plan))

    async def apply(self, user: str, plan: ChangeSet) -> int:
        def task(w: Transaction) -> int:
            written = apply.write(w, plan)
            queue.settle(w, apply.numbers(w, plan.done))
            return written.new + written.other

        return await self._write_user(user, task)

    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        brief = len(ids) <= BRIEF
        return await self._read_user(user, lambda db, id: reading.fetch(db, id, ids), FetchResult({}, {}), brief=brief)

    async def history(self, user: str, id: str) -> list[Observation | Insight]:
        return await self._read_user(user, lambda db, number: reading.history(db, number, id), [])

    async def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        after = 0
        while page := await self._page(select, after):
            after = page[-1][0]
            if found := [record for _, record in page if reading.fits(select, record)]:
                yield found
            if len(page) < reading.PAGE:
                break

    async def _page(self, select: Select, after: int) -> list[tuple[int, Record]]:
        return await self._read_user(select.user, lambda db, id: reading.selected(db, id, select, after), [])

    async def users(self) -> list[str]:
        return await self._read(reading.users)

    async def tombstones(self, user: str) -> list[str]:
        return await self._read_user(user, reading.tombstones, [])

    async def bury(self, user: str, ids: Sequence[str]) -> None:
        await self._write_user(user, lambda w: forget.bury(w, ids))

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        found = await self._read_user(select.user, lambda db, id: forget.plan(db, id, select), None)
        if found is None or dry_run or not found.ids:
            return found.report(dry_run=dry_run) if found else ForgetReport(dry_run=dry_run)
        report, marks = await self._write_user(
            select.user, partial(_forget, select=select), then=vectors.switch_when_full
        )
        wiped = await self._wipe(marks)
        return changed(report, physical=wiped.physical, reason=wiped.reason)

    async def _wipe(self, marks: secure_erase.Marks) -> ForgetReport:
        """What was forgotten is gone already; whatever keeps its bytes in the file is a reason, not an error."""
        try:
            return await self._write(lambda db: self._swept(secure_erase.wipe(db, self.path, marks)), alone=True)
        except StoreError as error:
            return secure_erase.pending(error.code)

    async def searchable(self, user: str) -> None:
        await self._live()

    # ---- work

    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        now = self._clock()
        if user is None and not await self._read(lambda db: jobs.due_users(db, stage, microseconds(now))):
            return []

        def task(db: sqlite3.Connection) -> list[Claim]:
            id = None if user is None else transaction.user_id(db, user)
            if (user is not None and id is None) or (stage == "embed" and vectors.target(db) != self._declared):
                return []
            found = jobs.claim(db, stage, limit, lease_s, now, None if user is None or id is None else (id, user))
            if stage == "embed" and not found:
                vectors.switch_when_full(db)
            return found

        return await self._write(task)

    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        until = self._clock() + timedelta(seconds=lease_s)
        return await self._write_user(claim.user, lambda w: jobs.extend(w.db, w.user, claim, until))

    async def save_reply(self, claim: Claim, plan: ChangeSet) -> None:
        await self._write_user(claim.user, lambda w: jobs.save_reply(w.db, w.user, claim, plan))

    async def complete(self, claim: Claim, plan: ChangeSet | None = None) -> int:
        def task(w: Transaction) -> int:
            if claim.stage == "embed":
                check_declared(vectors.target(w.db), self._declared)
            return jobs.complete(w, claim, plan)

        return await self._write_user(claim.user, task, then=vectors.switch_when_full)

    async def fail(self, claim: Claim, code: str, not_before: datetime, *, counted: bool = True) -> None:
        await self._write_user(claim.user, lambda w: jobs.fail(w, claim, code, not_before, counted))

    async def give_back(self, claim: Claim) -> None:
        await self._write_user(claim.user, lambda w: jobs.give_back(w, claim))

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        stages = queue.STAGES if stage is None else (stage,)
        names = await self._read(jobs.parked_users) if user is None else [user]
        return sum([await self._write_user(name, lambda w: jobs.unpark(w, stages)) for name in names])

    # ---- vectors

    async def use_space(self, space: VectorSpace, *, replace: bool = False) -> None:
        check_space(space)
        now = microseconds(self._clock())
        if replace or not await self._read(lambda db: vectors.known(db, space)):
            await self._write(lambda db: vectors.declare(db, space, now, replace=replace))
        self._declared = space

    # ---- for the index

    async def changes(self, user: str, since: int) -> Changes:
        if since and (same := await self._read(lambda db: units.unchanged(db, user, since), brief=True)) is not None:
            return same
        found = await self._read(lambda db: None if units.outdated(db, user) else units.changes(db, user, since))
        if found is None:
            if not (await self._live()).read_only:
                await self._write_user(user, lambda w: None)  # begins by making the units anew
            found = await self._read(lambda db: units.changes(db, user, since))
        return found

    async def numbers(self, select: Select) -> list[int]:
        return await self._read_user(select.user, lambda db, id: reading.numbers(db, id, select), [])

    # ---- the whole

    async def stats(self, user: str | None = None) -> Stats:
        read_only = (await self._live()).read_only

        def task(db: sqlite3.Connection) -> Stats:
            details = _details(self.path, read_only=read_only)
            return reading.stats(db, transaction.user_id(db, user) if user is not None else None, user is None, details)

        return await self._read(task)

    async def backup(self, path: Path) -> None:
        target = files.plain_path(path)
        files.check_place(target)
        if target.exists():
            raise InputError(f"{str(target)!r} exists", hint="choose a new name")
        await (await self._live()).copy(target)

    async def compact(self) -> ForgetReport:
        """Build the file anew, of what it holds and nothing else; pending while somebody reads an older state."""
        return await self._write(lambda db: self._swept(secure_erase.rebuild(db, self.path)), alone=True)

    def _swept(self, report: ForgetReport) -> ForgetReport:
        if unfinished.sweep(unfinished.abandoned(self.path.parent)):
            return report
        return secure_erase.pending("an unfinished copy beside the store cannot be removed")

    # ---- inside

    async def _live(self) -> Engine:
        """The engine of this process: opened on first use, and again after a fork or when the file had gone."""
        if self._closed:
            raise ClosedError("the store is closed")
        if self._pid != os.getpid():
            self._pid, self._opening = os.getpid(), threading.Lock()
        engine = self._engine
        if engine is None or engine.pid != self._pid:
            engine = await asyncio.to_thread(self._reopen)
        return engine

    def _reopen(self) -> Engine:
        with self._opening:
            if self._engine is not None and self._engine.pid != os.getpid():
                _abandoned.append(self._engine)
                self._engine = None
            if self._engine is None:
                self._engine = Engine(self.path, self._connect)
            return self._engine

    def _leave(self, engine: Engine) -> None:
        """The file went away under the engine; the next call opens what is there then."""
        if self._engine is engine:
            self._engine = None
            self._cache.clear()  # a revision of another file means nothing here
            threading.Thread(target=engine.close, daemon=True).start()

    async def _read(self, task: Callable[[sqlite3.Connection], T], *, brief: bool = False) -> T:
        engine = await self._live()
        try:
            return await engine.read(task, brief=brief)
        except StoreGone:
            self._leave(engine)
            raise

    async def _read_user(
        self, user: str, task: Callable[[sqlite3.Connection, int], T], otherwise: T, *, brief: bool = False
    ) -> T:
        def reading_user(db: sqlite3.Connection) -> T:
            id = transaction.user_id(db, user)
            return otherwise if id is None else task(db, id)

        return await self._read(reading_user, brief=brief)

    async def _write(self, task: Callable[[sqlite3.Connection], T], *, alone: bool = False) -> T:
        engine = await self._live()
        try:
            return await engine.write(task, alone=alone)
        except StoreGone:
            self._leave(engine)
            raise

    async def _write_user(
        self, user: str, task: Callable[[Transaction], T], *, then: Callable[[sqlite3.Connection], None] | None = None
    ) -> T:
        now = microseconds(self._clock())

        def writing(db: sqlite3.Connection) -> T:
            w = transaction.begin(db, user, now)
            if w.terms != terms_version:
                units.derive_anew(w)
            result = task(w)
            w.save()
            if then is not None:
                then(db)
            return result

        return await self._write(writing)


def _forget(w: Transaction, select: Select) -> tuple[ForgetReport, secure_erase.Marks]:
    removal = forget.plan(w.db, w.user, select)
    marks = secure_erase.marks(w, removal.ids)
    forget.remove(w, removal)
    return removal.report(dry_run=False), marks


def _details(path: Path, *, read_only: bool) -> dict[str, Any]:
    wal = path.with_name(path.name + "-wal")
    return {
        "path": str(path),
        "bytes": path.stat().st_size,
        "wal_bytes": wal.stat().st_size if wal.exists() else 0,
        "read_only": read_only,
        "sqlite": sqlite3.sqlite_version,
        "schema": schema.SCHEMA,
        "terms_version": terms_version,
    }


__all__ = ["SQLiteStore"]
