"""The tables ``block`` and ``receipt``: the part of ``SQLiteUser`` that reads and writes them."""

from __future__ import annotations

import sqlite3

from memscope.records import Block, Receipt
from memscope.stores.sqlite.checksummed import decode_block, decode_receipt, encode


class BlockTable:
    """``user`` is the number of the row in ``users``."""

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
        found = self.db.execute("SELECT body FROM receipt WHERE user = ?", (self.user,))
        return [decode_receipt(body) for (body,) in found]

    def put_receipt(self, receipt: Receipt) -> None:
        row = (self.user, receipt.id, encode(receipt))
        self.db.execute("INSERT OR IGNORE INTO receipt VALUES (?, ?, ?)", row)

    def drop_receipts(self) -> None:
        self.db.execute("DELETE FROM receipt WHERE user = ?", (self.user,))
