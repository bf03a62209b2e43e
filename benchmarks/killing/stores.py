"""The stores that ``kill.py`` runs on: their locations, and external checks for damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol

from memscope.stores import Store, local, sqlite
from memscope.stores.local import records
from memscope.stores.sqlite import SQLiteStore, schema, transaction


class Place(Protocol):
    """The location of a store that outlives its processes. ``folder`` holds the logs of the harness."""

    folder: Path
    lease_s: float
    pauses: tuple[float, float]  # range of seconds between two kills
    migrations: tuple[float, float]  # the same for processes that migrate
    old_turns: int  # turns per user to migrate

    async def create(self) -> None:
        """Create an empty store."""

    async def open(self) -> Store:
        """Open the store in this process."""

    def older(self) -> None:
        """Make this process an older version, which derives units differently."""

    def trouble(self, number: int) -> None:
        """Do further harm to the store at kill ``number``."""

    async def damage(self) -> int:
        """Count inconsistencies without using the store's own code."""


# Finds records with missing units, counters or work, which were written only in part. A turn has a work item unless it
# was consolidated; then kill.py compares turns and memories.
TORN = """
SELECT (SELECT count(*) FROM record r
        WHERE r.units != (SELECT count(*) FROM unit u WHERE u.user = r.user AND u.number = r.number))
     + (SELECT count(*) FROM unit u
        WHERE NOT EXISTS (SELECT 1 FROM record r WHERE r.user = u.user AND r.number = u.number))
     + (SELECT count(*) FROM users s
        WHERE turns + observations + insights != (SELECT count(*) FROM record r WHERE r.user = s.user))
     + (SELECT count(*) FROM users s
        WHERE number < (SELECT coalesce(max(number), 0) FROM record r WHERE r.user = s.user))
     + (SELECT count(*) FROM item i WHERE stage = 'consolidate'
        AND NOT EXISTS (SELECT 1 FROM record r WHERE r.user = i.user AND r.number = i.item))
     + (SELECT count(*) FROM record r WHERE kind = 0
        AND NOT EXISTS (SELECT 1 FROM source s WHERE s.user = r.user AND s.source = r.number)
        AND NOT EXISTS (SELECT 1 FROM item i WHERE i.user = r.user AND i.stage = 'consolidate' AND i.item = r.number)
        AND NOT EXISTS (SELECT 1 FROM source WHERE user > 0))
"""


class SQLitePlace:
    lease_s = 0.05
    pauses = (0.005, 0.08)
    migrations = (0.05, 2.5)
    old_turns = 400

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "memory.db"

    async def create(self) -> None:
        await (await self.open()).close()

    async def open(self) -> SQLiteStore:
        store = SQLiteStore(self.path)
        await store.open()
        return store

    def older(self) -> None:
        for module in (local, records, sqlite, schema, transaction):
            module.units_version = "older"  # type: ignore[attr-defined]

    def trouble(self, number: int) -> None:
        return

    async def damage(self) -> int:
        with closing(sqlite3.connect(self.path)) as db:
            sound = db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return int(not sound) + int(db.execute(TORN).fetchone()[0])


def _elasticsearch(folder: Path) -> Place:
    from killing.elasticsearch import ElasticsearchPlace

    return ElasticsearchPlace(folder)


def _postgres(folder: Path) -> Place:
    from killing.postgres import PostgresPlace

    return PostgresPlace(folder)


STORES: dict[str, Callable[[Path], Place]] = {
    "sqlite": SQLitePlace,
    "elasticsearch": _elasticsearch,
    "postgres": _postgres,
}
