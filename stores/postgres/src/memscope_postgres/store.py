"""PostgresStore: one memory for any number of processes and hosts, in a PostgreSQL database.

    options.py settings.py      address and options; the section of the settings
    engine.py                   one connection per thread, group commit, retries after a lost connection
    failures.py                 typed errors
    queries.py statements.py    the SQL, sent with few round trips
    schema.py                   the tables, their creation and upgrade, row level security
    transaction.py              the primitives of a local store in SQL; user.py, tables.py: for one user

The database stores the rows; each process indexes and ranks, as with SQLite. docs/postgres.md is the guide.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memscope.errors import ClosedError, StoreError
from memscope.records import (
    AppendResult,
    ChangeSet,
    FetchResult,
    ForgetReport,
    Handle,
    Json,
    Stats,
    TurnInsert,
    VectorSpace,
)
from memscope.search.units import units_version
from memscope.stores import ATOMIC
from memscope.stores.local import LocalStore, Transaction, pending, records
from memscope.stores.local.columns import COUNTERS
from memscope_postgres import queries, schema
from memscope_postgres.engine import TransactionRunner
from memscope_postgres.options import PostgresOptions, parse_location
from memscope_postgres.queries import SPACES, USER, quoted
from memscope_postgres.statements import Database
from memscope_postgres.tables import user_id
from memscope_postgres.user import MAX_BIGINT, FetchedRows

T = TypeVar("T")
_abandoned: list[TransactionRunner] = []  # a parent's: after a fork their connections must be neither used nor closed
_asked: ContextVar[Sequence[str]] = ContextVar("asked", default=())  # ids to look up in the first message
LEFT_BY_FORGET = "dead rows until VACUUM; the write-ahead log, replicas and backups of the server"
LEFT_BY_COMPACT = "the write-ahead log until it is recycled; replicas and backups of the server"


class PostgresStore(LocalStore):
    """A store in a PostgreSQL database, shared by any number of processes and hosts.

    Args:
        location: A URI of libpq, or options; see ``options.parse_location``.
        configured: The section ``postgres`` of the settings, overridden by the address.
        index_cache_mb: Memory for the search indexes of the most recent users.
        clock: Source of the time of leases; by default the server's clock.
    """

    def __init__(
        self,
        location: str | PostgresOptions,
        configured: dict[str, Any] | None = None,
        *,
        index_cache_mb: int = 256,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        super().__init__(clock=self._server_time, index_cache_mb=index_cache_mb)
        self.options = location if isinstance(location, PostgresOptions) else parse_location(location, configured)
        self._fixed_clock = clock
        self._engine = TransactionRunner(self.options, clock)
        self._closed = False

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({ATOMIC})

    async def open(self) -> None:
        await self._live().run(lambda db: None)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._engine.pid == os.getpid():
                await self._engine.close()

    async def counters(self, name: str) -> dict[str, Json]:
        return await self._live().read(lambda tx: tx.counters(name))

    async def change_counters(self, name: str, change: Callable[[dict[str, Json]], None]) -> None:
        await self._live().write(lambda tx: tx.change_counters(name, change), None)

    async def stats(self, user: str | None = None) -> Stats:
        details = await self._live().run(self._details)
        return replace(await super().stats(user), details=details)

    async def backup(self, path: Path) -> None:
        raise StoreError("PostgreSQL keeps its own backups", hint="use pg_dump, or export")

    async def _wipe(self) -> ForgetReport:
        return pending(LEFT_BY_FORGET)

    async def compact(self) -> ForgetReport:
        """Rewrite the tables without dead rows; each table is locked meanwhile."""
        await self._live().run(self._rewrite)
        return pending(LEFT_BY_COMPACT)

    async def append(
        self, user: str, inserts: Sequence[TurnInsert], change_set: ChangeSet | None = None
    ) -> AppendResult:
        token = _asked.set(records.first_keys(inserts))
        try:
            return await super().append(user, inserts, change_set)
        finally:
            _asked.reset(token)

    # ---- the two reads of a retrieve with a current index: one message each

    async def is_unchanged(self, user: str, revision: int, space: VectorSpace | None) -> bool:
        id = user_id(user)
        users, spaces = await self._live().read_at_once(id, USER.call(quoted(id)), SPACES.call())
        serving = next((VectorSpace(model, dims) for _, model, dims, active in spaces if active), None)
        state = (users[0][0], users[0][1 + COUNTERS.index("revision")]) if users else (units_version, 0)
        return state == (units_version, revision) and serving == space

    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        numbers = [one for one in ids if isinstance(one, int) and 0 < one <= MAX_BIGINT]
        if len(numbers) < len(ids):
            return await super().fetch(user, ids)
        id = user_id(user)
        rows = await self._live().read_at_once(id, *queries.fetch(id, numbers))
        return records.fetch(FetchedRows(*rows), ids)

    # ---- inside

    def _server_time(self) -> datetime:
        return self._engine.now()

    def _live(self) -> TransactionRunner:
        """Return this process's runner; create a new one after a fork."""
        if self._closed:
            raise ClosedError("the store is closed")
        if self._engine.pid != os.getpid():
            _abandoned.append(self._engine)
            self._engine = TransactionRunner(self.options, self._fixed_clock)
        return self._engine

    async def _read(self, task: Callable[[Transaction], T], *, brief: bool = False) -> T:
        return await self._live().read(task)

    async def _write(self, task: Callable[[Transaction], T], *, user: str | None = None) -> T:
        return await self._live().write(task, user, _asked.get())

    def _tables(self, names: Sequence[str]) -> list[str]:
        return [f'"{self.options.schema_name}".{name}' for name in names]

    def _rewrite(self, db: Database) -> None:
        with db.unlimited():
            for table in self._tables(schema.USER_TABLES):
                db.execute(f"VACUUM (FULL, ANALYZE) {table}", prepare=False)

    def _details(self, db: Database) -> dict[str, Any]:
        tables = self._tables((*schema.USER_TABLES, *schema.SHARED_TABLES))
        row = db.execute("SELECT sum(pg_total_relation_size(t::regclass))::bigint FROM unnest(%s::text[]) t", (tables,))
        return {
            "address": self.options.address,
            "schema_name": self.options.schema_name,
            "bytes": row.fetchall()[0][0],
            "server": db.info.server_version,
            "schema": schema.SCHEMA,
            "units_version": units_version,
            "prepared_statements": db.is_session,
        }


__all__ = ["PostgresOptions", "PostgresStore", "parse_location"]
