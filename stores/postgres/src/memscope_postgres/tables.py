"""Batched inserts for one user, and the small tables of a user: blocks, receipts, work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Protocol
from uuid import UUID

from memscope.records import Block, ChangeSet, Claim, Receipt, Stage, VectorSpace
from memscope.stores.checksummed import decode_block, decode_plan, decode_receipt, encode
from memscope.stores.local.columns import COUNTERS, KEEP_DONE_US
from memscope.stores.rules import Batch
from memscope.stores.spaces import Spaces
from memscope_postgres.arrays import Array, array

# Columns after user_id, with their types, of the tables whose rows are inserted in batches.
COLUMNS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "record": {
            "number": "bigint", "kind": "smallint", "id": "text", "agent": "text", "session": "text", "time": "bigint",
            '"start"': "bigint", '"end"': "bigint", "statement": "boolean", "current": "boolean", "expires": "bigint",
            "name": "text", "namespace": "text", "superseded_by": "text", "valid_to_before": "text", "unit": "bigint",
            "units": "bigint", "body": "text",
        },
        "source": {"memory": "bigint", "source": "bigint"},
        "unit": {"seq": "bigint", "number": "bigint", "columns": "bytea", "terms": "bytea"},
        "gone": {"revision": "bigint", "seq": "bigint"},
        "item": {"stage": "text", "item": "bigint"},
        "tombstone": {"id": "text"},
        "lane": {"stage": "text", "due": "bigint"},
        "users": {"name": "text", "terms": "text", **dict.fromkeys(COUNTERS, "bigint")},
    }
)  # fmt: skip
_KEPT = " ON CONFLICT DO NOTHING"
_STATE = ", ".join(f"{name} = excluded.{name}" for name in ("terms", *COUNTERS))
_CONFLICTS = {
    "item": _KEPT,
    "tombstone": _KEPT,
    "lane": _KEPT,
    "users": f" ON CONFLICT (user_id) DO UPDATE SET {_STATE}",
}


def _insert(table: str) -> str:
    columns = {"user_id": "uuid", **COLUMNS[table]}
    arrays = ", ".join(f"%s::{type}[]" for type in columns.values())
    rows = f"SELECT * FROM unnest({arrays}){_CONFLICTS.get(table, '')}"
    return f"INSERT INTO {table}({', '.join(columns)}) {rows}"


_INSERT = MappingProxyType({table: _insert(table) for table in COLUMNS})


class NewRows:
    """New rows of a transaction, buffered to be sent in one statement."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Sequence[Any]]] = {}
        self._users: dict[str, bytes] = {}
        self._due: dict[tuple[str, Stage], int] = {}

    def add(self, table: str, id: str, rows: Iterable[Sequence[Any]]) -> None:
        key = self._users.setdefault(id, UUID(id).bytes)
        if some := [(key, *row) for row in rows]:
            self._rows.setdefault(table, []).extend(some)

    def due(self, id: str, stage: Stage, when: int) -> None:
        self._due[id, stage] = when

    def take(self) -> tuple[str, list[Array], list[str]]:
        """Empty the buffer into one INSERT statement ("" without rows), its values and the users concerned."""
        for (id, stage), when in self._due.items():
            self.add("lane", id, [(stage, when)])
        rows, users, self._rows, self._due, self._users = self._rows, self._users, {}, {}, {}
        *first, last = [_INSERT[table] for table in rows] or [""]
        parts = ", ".join(f"part_{n} AS ({part})" for n, part in enumerate(first))
        values = [one for table in rows for one in _arrays(table, rows[table])]
        return (f"WITH {parts} " if parts else "") + last, values, list(users)


def _arrays(table: str, rows: Iterable[Sequence[Any]]) -> list[Array]:
    types = ("uuid", *COLUMNS[table].values())
    return [array(type, column) for type, column in zip(types, zip(*rows, strict=True), strict=True)]


@lru_cache(1 << 12)
def user_id(name: str) -> str:
    """Derive the key of a user's rows, 128 bits of the name's digest, so that no statement has to look it up."""
    return str(UUID(bytes=blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()))


class UserStatements(Protocol):
    """The part of the transaction that ``UserRows`` uses."""

    now: int

    def execute(self, query: str, *values: Any, scope: str | None = None) -> Any: ...

    def add(self, table: str, id: str, rows: Iterable[Sequence[Any]]) -> None: ...

    def due(self, id: str, stage: Stage, when: int) -> None: ...

    def flush(self) -> None: ...

    def spaces(self) -> Spaces: ...

    def space_ids(self) -> dict[VectorSpace, int]: ...


class UserRows:
    """Statements about one user. New rows are buffered until the next statement that could read them."""

    def __init__(self, tx: UserStatements, id: str) -> None:
        self.tx, self.id = tx, id

    def send(self, query: str, *values: Any) -> Any:
        """Send a statement at once, before the buffered rows."""
        return self.tx.execute(query, *values, scope=self.id)

    def mine(self, query: str, *values: Any) -> Any:
        """Send the buffered rows, then a statement whose first parameter is the user."""
        self.tx.flush()
        return self.send(query, self.id, *values)

    def add(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Buffer new rows."""
        self.tx.add(table, self.id, rows)


class SmallTables(UserRows):
    """Blocks, receipts and work of ``PostgresUser``."""

    def receipts(self) -> list[Receipt]:
        return [decode_receipt(body) for (body,) in self.mine("SELECT body FROM receipt WHERE user_id = %s")]

    def put_receipt(self, receipt: Receipt) -> None:
        self.mine("INSERT INTO receipt VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", receipt.id, encode(receipt))

    def drop_receipts(self) -> None:
        self.mine("DELETE FROM receipt WHERE user_id = %s")

    # ---- blocks

    def blocks(self, *, versions: bool = False) -> list[Block]:
        which = "" if versions else " AND current"
        query = f"SELECT body FROM block WHERE user_id = %s{which} ORDER BY agent, label, version"
        return [decode_block(body) for (body,) in self.mine(query)]

    def put_block(self, block: Block) -> None:
        agent = block.scope.agent or ""  # an agent's name is never empty
        same = "user_id = %s AND agent = %s AND label = %s"
        self.mine(f"UPDATE block SET current = false WHERE {same} AND version < %s", agent, block.label, block.version)
        self.mine(
            "INSERT INTO block VALUES (%s, %s, %s, %s, true, %s)"
            " ON CONFLICT (user_id, agent, label, version) DO UPDATE SET body = excluded.body",
            agent, block.label, block.version, encode(block),
        )  # fmt: skip

    def drop_block(self, block: Block) -> None:
        where = "user_id = %s AND agent = %s AND label = %s AND version = %s"
        self.mine(f"DELETE FROM block WHERE {where}", block.scope.agent or "", block.label, block.version)

    # ---- work: an item waits while its batch is NULL

    def enqueue(self, stage: Stage, items: Sequence[int]) -> None:
        if items:
            self.add("item", [(stage, item) for item in items])
            self.tx.due(self.id, stage, self.tx.now)

    def dequeue(self, stage: Stage, items: Iterable[int], *, batched: bool = False) -> None:
        which = "" if batched else " AND batch IS NULL"
        if asked := list(items):
            self.mine(f"DELETE FROM item WHERE user_id = %s AND stage = %s AND item = ANY(%s){which}", stage, asked)

    def waiting(self, stage: Stage, limit: int, *, by_said: bool = False) -> list[int]:
        saying = "SELECT time FROM record WHERE record.user_id = item.user_id AND number = item"
        order = f"({saying}), item" if by_said else "item"
        query = f"SELECT item FROM item WHERE user_id = %s AND stage = %s AND batch IS NULL ORDER BY {order} LIMIT %s"
        return [item for (item,) in self.mine(query, stage, limit)]

    def batches(self) -> list[Batch]:
        query = (
            "SELECT batch::text, stage, token, until, attempt, code, not_before, parked FROM batch"
            " WHERE user_id = %s AND done IS NULL ORDER BY batch.batch"
        )
        return [Batch(*row) for row in self.mine(query)]

    def form(self, stage: Stage, items: Sequence[int]) -> Batch:
        query = (
            "INSERT INTO batch(user_id, stage, attempt, token, until, code, not_before, parked)"
            " VALUES (%s, %s, 0, '', 0, '', 0, false) RETURNING batch"
        )
        batch = self.mine(query, stage).fetchall()[0][0]
        taken = "UPDATE item SET batch = %s WHERE user_id = %s AND stage = %s AND item = ANY(%s)"
        self.send(taken, batch, self.id, stage, list(items))
        return Batch(str(batch), stage)

    def items(self, batch: Batch) -> list[int]:
        query = "SELECT item FROM item WHERE user_id = %s AND stage = %s AND batch = %s ORDER BY item"
        return [item for (item,) in self.mine(query, batch.stage, int(batch.id))]

    def save_batch(self, batch: Batch, changes: str, *values: Any) -> None:
        self.tx.flush()
        self.send(f"UPDATE batch SET {changes} WHERE user_id = %s AND batch = %s", *values, self.id, int(batch.id))

    def save(self, batch: Batch) -> None:
        changes = "token = %s, until = %s, attempt = %s, code = %s, not_before = %s, parked = %s"
        state = (batch.token, batch.until, batch.attempt, batch.code, batch.not_before, batch.parked)
        self.save_batch(batch, changes, *state)

    def reply(self, batch: Batch) -> ChangeSet | None:
        row = self.mine("SELECT reply FROM batch WHERE user_id = %s AND batch = %s", int(batch.id)).fetchone()
        return decode_plan(row[0]) if row is not None and row[0] else None

    def keep_reply(self, batch: Batch, change_set: ChangeSet | None) -> None:
        self.save_batch(batch, "reply = %s", encode(change_set) if change_set is not None else None)

    def end(self, batch: Batch, *, done: bool) -> None:
        left = "UPDATE item SET batch = NULL WHERE user_id = %s AND stage = %s AND batch = %s"
        self.mine(left, batch.stage, int(batch.id))
        if done:
            self.save_batch(batch, "done = %s, reply = NULL", self.tx.now)
        else:
            self.mine("DELETE FROM batch WHERE user_id = %s AND batch = %s", int(batch.id))
        self.mine("DELETE FROM batch WHERE user_id = %s AND done < %s", self.tx.now - KEEP_DONE_US)

    def was_done(self, claim: Claim) -> bool:
        if not claim.id.isdecimal() or len(claim.id) > 18:
            return False
        query = (
            "SELECT 1 FROM batch WHERE user_id = %s AND stage = %s AND token = %s AND batch = %s AND done IS NOT NULL"
        )
        return self.mine(query, claim.stage, claim.token, int(claim.id)).fetchone() is not None

    def set_due(self, stage: Stage, when: int | None) -> None:
        if when is None:
            self.mine("DELETE FROM lane WHERE user_id = %s AND stage = %s", stage)
        else:
            query = "INSERT INTO lane(user_id, stage, due) VALUES (%s, %s, %s)"
            self.mine(f"{query} ON CONFLICT (stage, user_id) DO UPDATE SET due = excluded.due", stage, when)
