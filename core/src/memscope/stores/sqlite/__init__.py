"""SQLiteStore: one file, the standard library only. The durable twin of ``memory.py``; read that one first.

    files.py         the path, the lock between processes, checks, typed errors for SQLite's
    engine.py        one writer thread for all callers (group commit), connections that read
    schema.py        the tables
    transaction.py   the primitives of a local store in SQL; user.py those of one user
    secure_erase.py  wiping the bytes of forgotten records

An acknowledged write is on the disk (WAL, ``synchronous=FULL``). Deleted content is overwritten (``secure_delete``).
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memscope.errors import ClosedError, InputError, StoreError, StoreFull, StoreGone
from memscope.records import ForgetReport, Json, Select, Stats
from memscope.stores import ATOMIC, BACKUP, unfinished
from memscope.stores.local import LocalStore, Transaction, UserTransaction, forget, keep_receipt, utc_now
from memscope.stores.local.records import LocalRemoval, select_all
from memscope.stores.removal import total
from memscope.stores.rules import record_id
from memscope.stores.sqlite import files, schema, secure_erase, small_tables
from memscope.stores.sqlite.engine import Engine
from memscope.stores.sqlite.files import Connect
from memscope.stores.sqlite.transaction import SQLiteTransaction
from memscope.stores.sqlite.user import SQLiteUser
from memscope.text.units import units_version

T = TypeVar("T")
_abandoned: list[Engine] = []  # of a parent process: their connections must neither be used nor closed after a fork


class SQLiteStore(LocalStore):
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
        super().__init__(clock=clock, index_cache_mb=index_cache_mb)
        if sqlite3.sqlite_version_info < files.OLDEST_SQLITE:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old", hint="3.35 is the oldest that serves")
        self.path = files.plain_path(path)
        self._connect = connect
        self._engine: Engine | None = None
        self._opening = threading.Lock()
        self._pid = os.getpid()
        self._closed = False

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

    # ---- the store

    async def stats(self, user: str | None = None) -> Stats:
        live = await self._live()
        details = await asyncio.to_thread(_details, self.path, read_only=live.read_only)
        return replace(await super().stats(user), details=details)

    async def counters(self, name: str) -> dict[str, Json]:
        return await (await self._live()).read(lambda db: small_tables.read_counters(db, name), brief=True)

    async def change_counters(self, name: str, change: Callable[[dict[str, Json]], None]) -> None:
        await self._run(lambda db: small_tables.change_counters(db, name, change))

    async def _remove(self, select: Select) -> ForgetReport:
        """Remove, then wipe the bytes; a failure to wipe them is a reason in the report, not an error."""
        marks: list[secure_erase.Marks] = []
        report = await self._remove_rows(select, marks)
        try:
            wiped = await self._alone(lambda db: self._swept(secure_erase.wipe(db, self.path, marks)))
        except StoreError as error:
            wiped = secure_erase.pending(error.code)
        return replace(report, physical=wiped.physical, reason=wiped.reason)

    async def _remove_rows(
        self, select: Select, marks: list[secure_erase.Marks], *, part: bool = False
    ) -> ForgetReport:
        """Remove in halves what is too much for a full disk: turns before their memories, which go with them."""

        def mark(user: UserTransaction, removal: LocalRemoval) -> None:
            assert isinstance(user, SQLiteUser)
            marks.append(secure_erase.marks(user, removal.rows.values(), removal.blocks.texts))

        try:
            return await self._write(lambda tx: forget(tx, select, before=mark, receipt=not part), last_room=True)
        except StoreFull:
            nothing: list[str] = []
            ids = await self._read_user(
                select.user, lambda tx: [record_id(row.record) for row in select_all(tx, select)], nothing
            )
            if len(ids) < 2:
                raise
        half = len(ids) // 2
        parts = [replace(select, ids=frozenset(some)) for some in (ids[:half], ids[half:])]
        done = total([await self._remove_rows(one, marks, part=True) for one in (*parts, select)])  # the last: blocks
        if not part:
            await self._write(lambda tx: keep_receipt(tx.user(select.user), select, done, ids, tx.now), last_room=True)
        return done

    async def backup(self, path: Path) -> None:
        target = files.plain_path(path)
        files.check_place(target)
        if target.exists():
            raise InputError(f"{str(target)!r} exists", hint="choose a new name")
        await (await self._live()).copy(target)

    async def compact(self) -> ForgetReport:
        """Rebuild the file from its live content; pending while a reader holds an older state."""
        return await self._alone(lambda db: self._swept(secure_erase.rebuild(db, self.path)))

    def _swept(self, report: ForgetReport) -> ForgetReport:
        if unfinished.sweep(unfinished.abandoned(self.path.parent)):
            return report
        return secure_erase.pending("an unfinished copy beside the store cannot be removed")

    # ---- inside

    async def _live(self) -> Engine:
        """Returns this process's engine: opened on first use, and again after a fork or when the file was removed."""
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
        """Drop the engine of a file that was removed; the next call opens the file that is there then."""
        if self._engine is engine:
            self._engine = None
            self._cache.clear()  # a revision of another file means nothing here
            threading.Thread(target=engine.close, daemon=True).start()

    async def _renew(self, user: str) -> None:
        if not (await self._live()).read_only:
            await super()._renew(user)

    async def _read(self, task: Callable[[Transaction], T], *, brief: bool = False) -> T:
        engine, now = await self._live(), self._now
        try:
            return await engine.read(lambda db: task(SQLiteTransaction(db, now)), brief=brief)
        except StoreGone:
            self._leave(engine)
            raise

    async def _write(self, task: Callable[[Transaction], T], *, last_room: bool = False) -> T:
        now = self._now

        def writing(db: sqlite3.Connection) -> T:
            tx = SQLiteTransaction(db, now)
            result = task(tx)
            tx.save()
            return result

        return await self._run(writing, last_room=last_room)

    async def _alone(self, task: Callable[[sqlite3.Connection], T]) -> T:
        """Run the task outside any transaction."""
        return await self._run(task, alone=True)

    async def _run(self, task: Callable[[sqlite3.Connection], T], **how: bool) -> T:
        engine = await self._live()
        try:
            return await engine.write(task, **how)
        except StoreGone:
            self._leave(engine)
            raise


def _details(path: Path, *, read_only: bool) -> dict[str, Any]:
    wal = path.with_name(path.name + "-wal")
    return {
        "path": str(path),
        "bytes": path.stat().st_size,
        "wal_bytes": wal.stat().st_size if wal.exists() else 0,
        "read_only": read_only,
        "sqlite": sqlite3.sqlite_version,
        "schema": schema.SCHEMA,
        "units_version": units_version,
    }


__all__ = ["SQLiteStore"]
