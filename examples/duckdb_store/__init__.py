"""A store in one DuckDB file: an example of a custom local store. ``docs/stores.md`` walks through it.

    store = DuckDBStore("memory.duckdb")
    await store.open()

``DuckDBStore`` opens the file and runs functions in transactions. ``transaction.py`` has the primitives that they call,
and ``tables.py`` the tables.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import duckdb

from duckdb_store.tables import TABLES
from duckdb_store.transaction import WholeStore
from memscope.errors import ClosedError
from memscope.records import ForgetReport
from memscope.stores import ATOMIC
from memscope.stores.local import LocalStore, Transaction, pending, utc_now

T = TypeVar("T")
IN_MEMORY = ":memory:"


class DuckDBStore(LocalStore):
    """A store for one process, because DuckDB lets only one process at a time write a file."""

    def __init__(self, path: str | Path, *, clock: Callable[[], datetime] = utc_now) -> None:
        super().__init__(clock=clock)
        self.path = Path(path)
        self._unfinished = self.path.with_name(f"{self.path.name}-rebuilt")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="duckdb")  # one at a time, off the event loop
        self._db: duckdb.DuckDBPyConnection | None = None
        self._closed = False

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({ATOMIC})

    async def open(self) -> None:
        await self._read(lambda tx: None)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            self._thread.shutdown()

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    async def _read(self, task: Callable[[Transaction], T], *, brief: bool = False) -> T:
        if self._closed:
            raise ClosedError("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, task, self._now)

    async def _write(self, task: Callable[[Transaction], T], *, user: str | None = None) -> T:
        return await self._read(task)

    async def _wipe(self) -> ForgetReport:
        return pending("DuckDB leaves deleted rows in its file and log; run 'memscope compact'")

    async def compact(self) -> ForgetReport:
        """Copy the live data into a new file, which replaces the old one without deleted rows."""
        if str(self.path) == IN_MEMORY:
            return pending("a database in memory ends with its process")
        if self._closed:
            raise ClosedError("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._rebuild)

    def _discard(self) -> None:
        """Remove an unfinished copy and its log."""
        for left in (self._unfinished, self._unfinished.with_name(f"{self._unfinished.name}.wal")):
            left.unlink(missing_ok=True)

    def _rebuild(self) -> ForgetReport:
        db = self._connection()
        self._discard()
        (name,) = db.execute("SELECT current_database()").fetchall()[0]
        place = str(self._unfinished).replace("'", "''")
        db.execute(f"ATTACH '{place}' AS rebuilt")
        try:
            db.execute(f'COPY FROM DATABASE "{name}" TO rebuilt')
        finally:
            db.execute("DETACH rebuilt")  # flushes the copy to disk
        self._close()  # merges the log into the old file and removes the log
        self._unfinished.replace(self.path)
        return ForgetReport(physical="wiped")

    def _run(self, task: Callable[[Transaction], T], now: int) -> T:
        db = self._connection()
        db.execute("BEGIN")
        try:
            whole = WholeStore(db, now)
            result = task(whole)
            whole.save()
            db.execute("COMMIT")
            return result
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def _connection(self) -> duckdb.DuckDBPyConnection:
        if self._db is None:
            self._discard()
            self._db = duckdb.connect(str(self.path), config={"threads": "1"})
            self._db.execute("PRAGMA disable_optimizer")  # queries read few rows: planning takes longer
            if not self._db.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'meta'").fetchone():
                self._db.execute(TABLES)
                self._db.execute("INSERT INTO meta VALUES ('secret', ?)", [secrets.token_bytes(32)])
        return self._db


__all__ = ["DuckDBStore"]
