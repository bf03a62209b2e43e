"""The small tables of the file: blocks and receipts of a user, vector spaces, counters."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from memscope.records import Block, Json, Receipt, VectorSpace
from memscope.stores.checksummed import decode_block, decode_receipt, encode
from memscope.stores.spaces import Spaces


class BlockTable:
    """Blocks and receipts of ``SQLiteUser``; ``user`` is its row in ``users``."""

    db: sqlite3.Connection
    user: int

    def blocks(self, *, versions: bool = False) -> list[Block]:
        which = "" if versions else " AND current = 1"
        query = f"SELECT body FROM block WHERE user = ?{which} ORDER BY agent, label, version"
        return [decode_block(body) for (body,) in self.db.execute(query, (self.user,))]

    def put_block(self, block: Block) -> None:
        agent, label = block.scope.agent or "", block.label  # an agent's name is never empty
        older = "UPDATE block SET current = 0 WHERE user = ? AND agent = ? AND label = ? AND version < ? AND current"
        self.db.execute(older, (self.user, agent, label, block.version))
        self.db.execute(
            "INSERT INTO block VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
            (self.user, agent, label, block.version, encode(block)),
        )

    def drop_block(self, block: Block) -> None:
        where = "user = ? AND agent = ? AND label = ? AND version = ?"
        values = (self.user, block.scope.agent or "", block.label, block.version)
        self.db.execute(f"DELETE FROM block WHERE {where}", values)

    def receipts(self) -> list[Receipt]:
        rows = self.db.execute("SELECT body FROM receipt WHERE user = ?", (self.user,))
        return [decode_receipt(body) for (body,) in rows]

    def put_receipt(self, receipt: Receipt) -> None:
        row = (self.user, receipt.id, encode(receipt))
        self.db.execute("INSERT OR IGNORE INTO receipt VALUES (?, ?, ?)", row)

    def drop_receipts(self) -> None:
        self.db.execute("DELETE FROM receipt WHERE user = ?", (self.user,))


class SpaceTable:
    """The vector spaces of the file, read once per transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[VectorSpace, tuple[int, bool]] | None = None

    def _load(self) -> dict[VectorSpace, tuple[int, bool]]:
        if self._known is None:
            rows = self._db.execute("SELECT space, model, dims, active FROM space")
            self._known = {VectorSpace(model, dims): (id, bool(active)) for id, model, dims, active in rows}
        return self._known

    def ids(self) -> dict[VectorSpace, int]:
        return {space: id for space, (id, _) in self._load().items()}

    def spaces(self) -> Spaces:
        known = {active: space for space, (_, active) in self._load().items()}
        return Spaces(known.get(True), known.get(False))

    def put(self, spaces: Spaces) -> None:
        ids = self.ids()
        for space, id in ids.items():
            if space not in (spaces.serving, spaces.filling):
                self._db.execute("DELETE FROM vector WHERE space = ?", (id,))
                self._db.execute("DELETE FROM space WHERE space = ?", (id,))
        for current, active in ((spaces.serving, True), (spaces.filling, False)):
            if current in ids:
                self._db.execute("UPDATE space SET active = ? WHERE space = ?", (active, ids[current]))
            elif current is not None:
                row = (current.model, current.dims, active)
                self._db.execute("INSERT INTO space(model, dims, active) VALUES (?, ?, ?)", row)
        self._known = None


def read_counters(db: sqlite3.Connection, name: str) -> dict[str, Json]:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (f"counters {name}",)).fetchone()
    return dict(json.loads(row[0])) if row else {}


def change_counters(db: sqlite3.Connection, name: str, step: Callable[[dict[str, Json]], None]) -> None:
    counters = read_counters(db, name)
    step(counters)
    row = (f"counters {name}", json.dumps(counters))
    db.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", row)
