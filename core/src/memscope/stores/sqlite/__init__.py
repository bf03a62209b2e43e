"""SQLiteStore: one file, standard library only. Read ``memory.py`` first, the same store without a file.

    files.py         the path, the lock between processes, checks, typed errors for SQLite's
    engine.py        one writer thread for all callers (group commit), connections that read
    schema.py        the tables
    transaction.py   the primitives of a local store in SQL; user.py: for one user
    secure_erase.py  wiping the bytes of forgotten records

An acknowledged write is on disk (WAL, ``synchronous=FULL``). Deleted content is overwritten (``secure_delete``).
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

from memscope.errors import ClosedError, StoreError, StoreFull, StoreGone
from memscope.records import ForgetReport, Json, Select, Stats
from memscope.search.units import units_version
from memscope.stores import ATOMIC, BACKUP, part_files
from memscope.stores.local import LocalStore, Row, Transaction, UserTransaction, forget, keep_receipt, utc_now
from memscope.stores.local.records import LocalRemoval, select_all
from memscope.stores.removal import total
from memscope.stores.rules import record_id
from memscope.stores.sqlite import files, schema, secure_erase, small_tables
from memscope.stores.sqlite.engine import Engine
from memscope.stores.sqlite.files import Connect
from memscope.stores.sqlite.transaction import SQLiteTransaction
from memscope.stores.sqlite.user import SQLiteUser

T = TypeVar("T")
_abandoned: list[Engine] = []  # a parent's engines: after a fork their connections must be neither used nor closed


class SQLiteStore(LocalStore):
    """A store in one SQLite file, shared by any number of threads and processes of one machine.

    Args:
        path: The file, created with mode 0600 if missing.
        index_cache_mb: Memory for the search indexes of the most recent users.
        clock: Source of the time of leases.
        connect: Opens a connection to a path.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, index_cache_mb: int = 256, clock: Callable[[], datetime] = utc_now,
        connect: Connect = files.connect,
    ) -> None:  # fmt: skip
        super().__init__(clock=clock, index_cache_mb=index_cache_mb)
        if sqlite3.sqlite_version_info < files.OLDEST_SQLITE:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old", hint="use SQLite 3.35 or newer")
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
            await asyncio.shield(asyncio.to_thread(engine.close))  # a cancelled call still closes it

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
        fingerprints: list[secure_erase.Fingerprints] = []
        try:
            report = await self._remove_rows(select, fingerprints)
        except StoreFull:
            ids = await self._selected(select)
            if len(ids) < 2:
                raise
            return await self._remove_parts(select, ids, fingerprints)
        return await self._wiped(report, fingerprints)

    async def _remove_rows(
        self, select: Select, fingerprints: list[secure_erase.Fingerprints], *, receipt: bool = True
    ) -> ForgetReport:
        def mark(user: UserTransaction, removal: LocalRemoval) -> None:
            assert isinstance(user, SQLiteUser)
            fingerprints.append(secure_erase.fingerprints(user, removal.rows.values(), removal.blocks.texts))

        return await self._write(lambda tx: forget(tx, select, before=mark, receipt=receipt), last_room=True)

    async def _remove_parts(
        self, select: Select, ids: list[str], fingerprints: list[secure_erase.Fingerprints]
    ) -> ForgetReport:
        """Remove in small steps on a full disk; ``StoreFull`` says how many records remain."""
        done, failure = await self._halves(select, ids, fingerprints), None
        left = {*await self._selected(select)}.intersection(ids)
        try:
            if not left:  # blocks are removed with the whole user
                done.append(await self._remove_rows(select, fingerprints, receipt=False))
        except StoreFull as error:
            failure = error
        if not done:
            raise StoreFull(f"no room left for {str(self.path)!r}", hint="make room and try again")
        report = await self._wiped(total(done), fingerprints)
        gone = [id for id in ids if id not in left]
        await self._write(lambda tx: keep_receipt(tx.user(select.user), select, report, gone, tx.now), last_room=True)
        if left or failure:
            raise StoreFull(
                f"no room left for {str(self.path)!r}: {len(left)} of {len(ids)} records are not forgotten yet",
                hint="make room and forget again",
            ) from failure
        return report

    async def _halves(
        self, select: Select, ids: list[str], fingerprints: list[secure_erase.Fingerprints]
    ) -> list[ForgetReport]:
        """Remove by recursive halving, turns before dependent memories; skip records too large even alone."""
        done: list[ForgetReport] = []
        for some in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
            try:
                done.append(await self._remove_rows(replace(select, ids=frozenset(some)), fingerprints, receipt=False))
            except StoreFull:
                done += await self._halves(select, some, fingerprints) if len(some) > 1 else []
        return done

    async def _selected(self, select: Select) -> list[str]:
        rows: list[Row] = await self._read_user(select.user, lambda tx: select_all(tx, select), [])
        return [record_id(row.record) for row in rows]

    async def _wiped(self, report: ForgetReport, fingerprints: list[secure_erase.Fingerprints]) -> ForgetReport:
        try:
            wiped = await self._run(lambda db: self._swept(secure_erase.wipe(db, self.path, fingerprints)), alone=True)
        except StoreError as error:
            wiped = secure_erase.pending(error.code)
        return replace(report, physical=wiped.physical, reason=wiped.reason)

    async def backup(self, path: Path) -> None:
        target = await asyncio.to_thread(files.new_place, path)
        await (await self._live()).copy(target)

    async def compact(self) -> ForgetReport:
        """Rebuild the file from its live content; "pending" while a reader uses an older snapshot."""
        return await self._run(lambda db: self._swept(secure_erase.rebuild(db, self.path)), alone=True)

    def _swept(self, report: ForgetReport) -> ForgetReport:
        if part_files.sweep(part_files.abandoned(self.path.parent)):
            return report
        return secure_erase.pending("an unfinished copy beside the store cannot be removed")

    # ---- inside

    async def _live(self) -> Engine:
        """Return this process's engine: opened on first use, reopened after a fork or a removal of the file."""
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
        """Drop the engine of a removed file; the next call opens the path again."""
        if self._engine is engine:
            self._engine = None
            self._cache.clear()  # revisions of different files are not comparable
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

    async def _write(self, task: Callable[[Transaction], T], *, user: str | None = None, last_room: bool = False) -> T:
        now = self._now

        def writing(db: sqlite3.Connection) -> T:
            tx = SQLiteTransaction(db, now)
            result = task(tx)
            tx.save()
            return result

        return await self._run(writing, last_room=last_room)

    async def _run(self, task: Callable[[sqlite3.Connection], T], **how: bool) -> T:
        """Run a write; ``how``: flags ``alone`` and ``last_room`` of ``WriteRequest``."""
        engine = await self._live()
        try:
            return await engine.write(task, **how)
        except StoreGone:
            self._leave(engine)
            raise


def _details(path: Path, *, read_only: bool) -> dict[str, Any]:
    return {
        "path": str(path),
        "bytes": path.stat().st_size,
        "wal_bytes": files.wal_bytes(path),
        "read_only": read_only,
        "sqlite": sqlite3.sqlite_version,
        "schema": schema.SCHEMA_VERSION,
        "units_version": units_version,
    }


__all__ = ["SQLiteStore"]
