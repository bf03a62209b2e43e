"""``kill.py`` on a real PostgreSQL server, which is ended without a checkpoint now and then and started again.

One server serves the whole run; each store on it has its own schema.
"""

from __future__ import annotations

import atexit
import re
import signal
import sys
from pathlib import Path
from uuid import uuid4

import psycopg
from killing.stores import TORN

from memscope.stores import local
from memscope.stores.local import index_changes, records
from memscope_postgres import PostgresOptions, PostgresStore, parse_location, store, transaction

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from servers.postgres import PostgresServer

KILLS_PER_RESTART = 10  # kills of processes per crash of the server
_servers: list[PostgresServer] = []


def server() -> PostgresServer:
    if not _servers:
        _servers.append(PostgresServer().__enter__())
        atexit.register(lambda: _servers[0].__exit__(None, None, None))
    return _servers[0]


class PostgresPlace:
    lease_s = 0.5
    pauses = (0.1, 0.6)
    migrations = (0.3, 3.0)
    old_turns = 150

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        options = parse_location(server().url())
        self.options = PostgresOptions(options.client, f"kill_{uuid4().hex[:8]}", connections=2, deadline_s=60.0)

    async def create(self) -> None:
        await (await self.open()).close()

    async def open(self) -> PostgresStore:
        opened = PostgresStore(self.options)
        await opened.open()
        return opened

    def older(self) -> None:
        for module in (local, records, index_changes, transaction, store):
            module.units_version = "older"  # type: ignore[attr-defined]

    def trouble(self, number: int) -> None:
        """Crash and restart the server after every ``KILLS_PER_RESTART`` kills of processes."""
        if number % KILLS_PER_RESTART == KILLS_PER_RESTART - 1:
            server().stop(signal.SIGQUIT)
            server().start()

    async def damage(self) -> int:
        """Count inconsistent rows as the superuser, who sees the rows of all users."""
        query = re.sub(r"\buser\b", "user_id", TORN.replace("user > 0", "user IS NOT NULL"))
        with psycopg.connect(server().url(role="admin")) as db:
            db.execute(f"SET search_path = {self.options.schema_name}")  # type: ignore[arg-type]
            row = db.execute(query).fetchone()  # type: ignore[arg-type]
        return int(row[0]) if row is not None else 1
