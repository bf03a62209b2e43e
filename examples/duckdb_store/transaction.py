"""The primitives of a local store, in SQL for DuckDB. ``memscope.stores.local.transaction`` documents each of them.

The tables have no unique keys, because DuckDB checks these before a transaction ends. To change a row, delete it and
insert it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import duckdb

from duckdb_store.tables import EMBEDDING_STATE, Tables
from memscope.records import (
    Block,
    ChangeSet,
    Claim,
    Handle,
    Observation,
    Receipt,
    Record,
    Select,
    Stage,
    Stats,
    Turn,
    VectorSpace,
)
from memscope.records.serialization import (
    block_from_json,
    change_set_from_json,
    change_set_to_json,
    from_json,
    receipt_from_json,
    to_json,
)
from memscope.search.units import Unit, units_version
from memscope.stores import RecordKey
from memscope.stores.block_rules import by_key
from memscope.stores.local import Row
from memscope.stores.local.records import turns_of
from memscope.stores.rules import STAGES, Batch, Memory, record_id, record_key, selected
from memscope.stores.spaces import Spaces, is_complete

PAGE = 500
USERS = "SELECT user_name FROM record UNION SELECT user_name FROM block"
LEFT = " UNION SELECT user_name FROM tombstone UNION SELECT user_name FROM receipt"
ROW = "number, body, unit, units, valid_to"


class OneUser(Tables):
    """``UserTransaction`` in SQL."""

    def __init__(self, whole: WholeStore, name: str, counters: Sequence[Any]) -> None:
        super().__init__(whole.db)
        self.whole, self.name = whole, name
        self.number, self.revision, self.floor, self.terms = self.stored = tuple(counters)

    def mine(self, query: str, *values: Any) -> list[Any]:
        """Run a query whose first parameter is the user's name."""
        return self.all(query, self.name, *values)

    def rows(self, condition: str, *values: Any) -> list[Row]:
        found = self.mine(f"SELECT {ROW} FROM record WHERE user_name = ? AND {condition} ORDER BY number", *values)
        return [row_of(*row) for row in found]

    @property
    def space(self) -> VectorSpace | None:
        return self.whole.spaces().target

    # ---- records

    def find(self, handles: Iterable[Handle]) -> dict[Handle, Row]:
        asked = list(handles)
        ids = [handle for handle in asked if isinstance(handle, str)]
        numbers = [handle for handle in asked if isinstance(handle, int)]
        found: dict[Handle, Row] = {record_id(row.record): row for row in self.rows("id = ANY(?)", ids)} if ids else {}
        return found | ({row.number: row for row in self.rows("number = ANY(?)", numbers)} if numbers else {})

    def known(self, ids: Iterable[str]) -> dict[str, int]:
        asked = list(ids)
        if not asked:
            return {}
        buried = self.mine("SELECT id, 0 FROM tombstone WHERE user_name = ? AND id = ANY(?)", asked)
        return dict(buried + self.mine("SELECT id, number FROM record WHERE user_name = ? AND id = ANY(?)", asked))

    def derived(self, numbers: Iterable[int]) -> list[tuple[int, Row]]:
        asked = list(numbers)
        query = "SELECT memory, source FROM source WHERE user_name = ? AND source = ANY(?) ORDER BY memory"
        links = self.mine(query, asked) if asked else []
        made = self.find({memory for memory, _ in links})
        return [(source, made[memory]) for memory, source in links]

    def superseded(self, ids: Iterable[str]) -> list[Row]:
        return self.rows("superseded_by = ANY(?)", list(ids))

    def holders(self, name: str, namespace: str | None) -> list[Row]:
        return self.rows("name = ? AND namespace IS NOT DISTINCT FROM ? AND current", name, namespace)

    def select(self, select: Select, after: int) -> tuple[list[Row], int | None]:
        page = "SELECT number FROM record WHERE user_name = ? AND number > ? ORDER BY number LIMIT ?"
        rows = self.rows(f"number IN ({page})", self.name, after, PAGE)
        return [row for row in rows if self.fits(select, row)], rows[-1].number if len(rows) == PAGE else None

    def fits(self, select: Select, row: Row) -> bool:
        """Return whether a row matches, by the shared rules in Python; doing it in SQL would be faster."""
        return selected(
            select,
            row.record,
            sessions=lambda: {turn.scope.session for turn in turns_of(self, row)},
            waiting=lambda stage: (
                row.number in self.column("SELECT item FROM item WHERE user_name = ? AND stage = ?", self.name, stage)
            ),
            derived=lambda: [memory.record for _, memory in self.derived([row.number])],
        )

    def keys(self, select: Select) -> list[RecordKey]:
        return [record_key(row.number, row.record) for row in self.rows("true") if self.fits(select, row)]

    def put(self, row: Row, sources: Sequence[int], units: Sequence[Unit]) -> None:
        self.mine("DELETE FROM record WHERE user_name = ? AND number = ?", row.number)
        self.mine("DELETE FROM source WHERE user_name = ? AND memory = ?", row.number)
        self.insert("record", [(self.name, row.number, *columns(row))])
        self.insert("source", [(self.name, row.number, source) for source in sources])
        self.insert("unit", [(self.name, unit.seq, row.number, unit.columns, unit.terms) for unit in units])

    def remove(self, row: Row) -> None:
        self.mine("DELETE FROM record WHERE user_name = ? AND number = ?", row.number)
        self.mine("DELETE FROM source WHERE user_name = ? AND memory = ?", row.number)
        self.mine("DELETE FROM older WHERE user_name = ? AND number = ?", row.number)
        self.mine("DELETE FROM item WHERE user_name = ? AND stage != 'embed' AND item = ?", row.number)

    def older(self, number: int) -> list[Memory]:
        query = "SELECT body FROM older WHERE user_name = ? AND number = ? ORDER BY version"
        records = [from_json(json.loads(body)) for (body,) in self.mine(query, number)]
        return [record for record in records if not isinstance(record, Turn)]

    def keep_older(self, number: int, memory: Memory) -> None:
        self.insert("older", [(self.name, number, memory.version, json.dumps(to_json(memory)))])

    def add_tombstones(self, ids: Iterable[str]) -> None:
        self.insert("tombstone", [(self.name, id) for id in ids])

    def tombstones(self) -> list[str]:
        return sorted(self.column("SELECT DISTINCT id FROM tombstone WHERE user_name = ?", self.name))

    def receipts(self) -> list[Receipt]:
        bodies = self.column("SELECT body FROM receipt WHERE user_name = ?", self.name)
        return list(map(receipt_from_json, map(json.loads, bodies)))

    def put_receipt(self, receipt: Receipt) -> None:
        if receipt not in self.receipts():
            self.insert("receipt", [(self.name, json.dumps(to_json(receipt)))])

    def drop_receipts(self) -> None:
        self.mine("DELETE FROM receipt WHERE user_name = ?")

    # ---- blocks

    def blocks(self, *, versions: bool = False) -> list[Block]:
        found = self.column("SELECT body FROM block WHERE user_name = ?", self.name)
        every = by_key(block_from_json(json.loads(body)) for body in found).values()
        return [block for history in every for block in (history if versions else history[-1:])]

    def put_block(self, block: Block) -> None:
        self.drop_block(block)
        row = (self.name, block.scope.agent, block.label, block.version, json.dumps(to_json(block)))
        self.insert("block", [row])

    def drop_block(self, block: Block) -> None:
        same = "agent IS NOT DISTINCT FROM ? AND label = ? AND version = ?"
        self.mine(f"DELETE FROM block WHERE user_name = ? AND {same}", *block.key, block.version)

    # ---- units and vectors

    def drop_units(self, row: Row) -> None:
        first, last = row.unit, row.unit + row.units - 1
        self.mine("DELETE FROM unit WHERE user_name = ? AND seq BETWEEN ? AND ?", first, last)
        self.mine("DELETE FROM vector WHERE user_name = ? AND seq BETWEEN ? AND ?", first, last)
        self.mine("DELETE FROM item WHERE user_name = ? AND stage = 'embed' AND item BETWEEN ? AND ?", first, last)
        self.insert("gone", [(self.name, self.revision, unit) for unit in range(first, last + 1)])

    def units_since(self, revision: int) -> list[tuple[bytes, bytes]]:
        return self.mine("SELECT columns, terms FROM unit WHERE user_name = ? AND seq > ? ORDER BY seq", revision)

    def gone_since(self, revision: int) -> list[int]:
        return self.column("SELECT seq FROM gone WHERE user_name = ? AND revision > ?", self.name, revision)

    def rows_of(self, units: Iterable[int]) -> list[Row]:
        query = "number IN (SELECT number FROM unit WHERE user_name = ? AND seq = ANY(?))"
        return self.rows(query, self.name, list(units))

    def vectors(self, row: Row) -> list[tuple[VectorSpace, int, bytes]]:
        query = "SELECT model, dims, seq, data FROM vector WHERE user_name = ? AND seq BETWEEN ? AND ?"
        found = self.mine(query, row.unit, row.unit + row.units - 1)
        return [(VectorSpace(model, dims), unit, data) for model, dims, unit, data in found]

    def put_vector(self, space: VectorSpace, unit: int, data: bytes) -> None:
        if self.mine("SELECT 1 FROM unit WHERE user_name = ? AND seq = ?", unit):
            old = "DELETE FROM vector WHERE user_name = ? AND model = ? AND dims = ? AND seq = ?"
            self.mine(old, space.model, space.dims, unit)
            self.insert("vector", [(self.name, space.model, space.dims, unit, self.revision, data)])

    def vectors_since(self, space: VectorSpace, revision: int) -> list[tuple[int, bytes]]:
        query = (
            "SELECT seq, data FROM vector WHERE user_name = ? AND model = ? AND dims = ? AND revision > ? ORDER BY seq"
        )
        return self.mine(query, space.model, space.dims, revision)

    # ---- work

    def enqueue(self, stage: Stage, items: Sequence[int]) -> None:
        here = set(self.column("SELECT item FROM item WHERE user_name = ? AND stage = ?", self.name, stage))
        self.insert("item", [(self.name, stage, item, None) for item in items if item not in here])

    def dequeue(self, stage: Stage, items: Iterable[int], *, batched: bool = False) -> None:
        query = "DELETE FROM item WHERE user_name = ? AND stage = ? AND item = ANY(?) AND (? OR batch IS NULL)"
        if asked := list(items):
            self.mine(query, stage, asked, batched)

    def waiting(self, stage: Stage, limit: int, *, by_said: bool = False) -> list[int]:
        query = "SELECT item FROM item WHERE user_name = ? AND stage = ? AND batch IS NULL ORDER BY item"
        items: list[int] = self.column(query, self.name, stage)
        if by_said and (rows := self.find(items)):
            items.sort(key=lambda item: record_key(item, rows[item].record).said)
        return items[:limit]

    def batches(self) -> list[Batch]:
        query = "SELECT id, stage, token, until, attempt, code, not_before, parked FROM batch WHERE user_name = ?"
        return [Batch(*row) for row in self.mine(f"{query} AND NOT done ORDER BY id::BIGINT")]

    def form(self, stage: Stage, items: Sequence[int]) -> Batch:
        (id,) = self.column("SELECT nextval('batches')::TEXT")
        self.insert("batch", [(self.name, id, stage, "", 0, 0, "", 0, False, None, False)])
        taken = "UPDATE item SET batch = ? WHERE user_name = ? AND stage = ? AND item = ANY(?)"
        self.all(taken, id, self.name, stage, list(items))
        return Batch(id, stage)

    def items(self, batch: Batch) -> list[int]:
        return self.column("SELECT item FROM item WHERE user_name = ? AND batch = ? ORDER BY item", self.name, batch.id)

    def save(self, batch: Batch) -> None:
        state = (batch.token, batch.until, batch.attempt, batch.code, batch.not_before, batch.parked)
        changed = "token = ?, until = ?, attempt = ?, code = ?, not_before = ?, parked = ?"
        self.all(f"UPDATE batch SET {changed} WHERE user_name = ? AND id = ?", *state, self.name, batch.id)

    def reply(self, batch: Batch) -> ChangeSet | None:
        ((body,),) = self.mine("SELECT reply FROM batch WHERE user_name = ? AND id = ?", batch.id)
        return change_set_from_json(json.loads(body)) if body else None

    def keep_reply(self, batch: Batch, change_set: ChangeSet | None) -> None:
        body = json.dumps(change_set_to_json(change_set)) if change_set is not None else None
        self.all("UPDATE batch SET reply = ? WHERE user_name = ? AND id = ?", body, self.name, batch.id)

    def end(self, batch: Batch, *, done: bool) -> None:
        self.mine("UPDATE item SET batch = NULL WHERE user_name = ? AND batch = ?", batch.id)
        if done:
            self.mine("UPDATE batch SET done = true, reply = NULL WHERE user_name = ? AND id = ?", batch.id)
        else:
            self.mine("DELETE FROM batch WHERE user_name = ? AND id = ?", batch.id)

    def was_done(self, claim: Claim) -> bool:
        query = "SELECT 1 FROM batch WHERE user_name = ? AND id = ? AND token = ? AND done"
        return bool(self.mine(query, claim.id, claim.token))

    def set_due(self, stage: Stage, when: int | None) -> None:
        """Do nothing: ``due_users`` reads the items."""


class WholeStore(Tables):
    """``Transaction`` in SQL."""

    def __init__(self, db: duckdb.DuckDBPyConnection, now: int) -> None:
        super().__init__(db)
        self.now = now
        self.seen: dict[str, OneUser] = {}

    def save(self) -> None:
        for user in self.seen.values():
            counters = (user.number, user.revision, user.floor, user.terms)
            changed = "number = ?, revision = ?, floor = ?, terms = ?"
            self.all(
                f"UPDATE users SET {changed} WHERE name = ? AND revision != ?", *counters, user.name, user.revision
            )

    def user(self, name: str) -> OneUser:
        if self.find_user(name) is None:
            self.insert("users", [(name, 0, 0, 0, units_version)])
        found = self.find_user(name)
        assert found is not None
        return found

    def find_user(self, name: str) -> OneUser | None:
        if name not in self.seen:
            for counters in self.all("SELECT number, revision, floor, terms FROM users WHERE name = ?", name):
                self.seen[name] = OneUser(self, name, counters)
        return self.seen.get(name)

    def users(self, *, forgotten: bool = False) -> list[str]:
        return sorted(self.column(USERS + LEFT if forgotten else USERS))

    def due_users(self, stage: Stage) -> list[str]:
        """Return users with items or batches; the claim itself checks which are due."""
        items = "SELECT DISTINCT user_name FROM item WHERE stage = ?"
        batches = "SELECT DISTINCT user_name FROM batch WHERE stage = ? AND NOT done"
        return sorted(self.column(f"{items} UNION {batches}", stage, stage))

    def parked_users(self) -> list[str]:
        return self.column("SELECT DISTINCT user_name FROM batch WHERE parked AND NOT done")

    def secret(self) -> bytes:
        return bytes(self.column("SELECT value FROM meta WHERE key = 'secret'")[0])

    def set_secret(self, secret: bytes) -> None:
        self.all("UPDATE meta SET value = ? WHERE key = 'secret'", secret)

    def is_used(self) -> bool:
        return bool(self.all("SELECT 1 FROM users WHERE number > 0 LIMIT 1"))

    # ---- vector spaces

    def spaces(self) -> Spaces:
        known = {serving: VectorSpace(model, dims) for model, dims, serving in self.all("SELECT * FROM space")}
        return Spaces(known.get(True), known.get(False))

    def set_spaces(self, spaces: Spaces) -> None:
        both = ((spaces.serving, True), (spaces.filling, False))
        kept = [(space.model, space.dims, serving) for space, serving in both if space is not None]
        self.all("DELETE FROM space")
        self.insert("space", kept)
        self.all("DELETE FROM vector WHERE (model, dims) NOT IN (SELECT (model, dims) FROM space)")

    def has_vectors(self) -> bool:
        return bool(self.all("SELECT 1 FROM vector LIMIT 1"))

    def fill(self) -> None:
        self.all("DELETE FROM item WHERE stage = 'embed'")
        self.all("DELETE FROM batch WHERE stage = 'embed' AND NOT done")
        target = self.spaces().target
        if target is not None:
            made = "INSERT INTO item SELECT user_name, 'embed', seq, NULL FROM unit ANTI JOIN"
            have = "(SELECT * FROM vector WHERE model = ? AND dims = ?) USING (user_name, seq)"
            self.all(f"{made} {have}", target.model, target.dims)

    def is_filled(self) -> bool:
        ((waiting, parked, embedded),) = self.all(EMBEDDING_STATE)
        return not waiting and is_complete(parked, embedded)

    def renew_indexes(self) -> None:
        self.save()
        self.all("UPDATE users SET revision = revision + 1, floor = revision + 1")
        self.seen.clear()

    # ---- counts

    def stats(self, user: str | None) -> Stats:
        kinds = dict(self.counted("kind, count(*) FROM record", user, "GROUP BY kind"))
        serving = "vector SEMI JOIN (SELECT * FROM space WHERE serving) USING (model, dims)"
        units, vectors = (self.counted(f"count(*) FROM {table}", user)[0][0] for table in ("unit", serving))
        states = {state: dict.fromkeys(map(str, STAGES), 0) for state in ("pending", "failed", "parked")}
        state = "CASE WHEN parked THEN 'parked' WHEN code != '' THEN 'failed' ELSE 'pending' END"
        joined = "item LEFT JOIN batch ON item.batch = batch.id"
        for name, stage, count in self.counted(f"{state}, item.stage, count(*) FROM {joined}", user, "GROUP BY ALL"):
            states[name][stage] = count
        codes = self.counted("code, count(*) FROM batch", user, "AND NOT done AND code != '' GROUP BY code")
        return Stats(
            users=self.counted(f"count(DISTINCT user_name) FROM ({USERS})", user)[0][0],
            blocks=self.counted("count(DISTINCT (user_name, agent, label)) FROM block", user)[0][0],
            turns=kinds.get("turn", 0),
            observations=kinds.get("observation", 0),
            insights=kinds.get("insight", 0),
            units=units,
            vectors=vectors,
            pending=states["pending"],
            failed=states["failed"],
            parked=states["parked"],
            errors=dict(codes),
            space=self.spaces().serving,
        )

    def counted(self, what: str, user: str | None, more: str = "") -> list[Any]:
        table = "item." if " item " in what else ""
        return self.all(f"SELECT {what} WHERE (?::TEXT IS NULL OR {table}user_name = ?) {more}", user, user)


def row_of(number: int, body: str, unit: int, units: int, valid_to: str | None) -> Row:
    return Row(number, from_json(json.loads(body)), unit, units, datetime.fromisoformat(valid_to) if valid_to else None)


def columns(row: Row) -> tuple[Any, ...]:
    """Return the columns of table ``record`` that follow user and number."""
    record: Record = row.record
    kind = "turn" if isinstance(record, Turn) else "observation" if isinstance(record, Observation) else "insight"
    named: tuple[Any, ...] = (None, None, True, None)
    if not isinstance(record, Turn):
        named = (record.name, record.namespace, record.current, record.superseded_by)
    valid_to = row.valid_to.isoformat() if row.valid_to else None
    return record_id(record), kind, *named, row.unit, row.units, valid_to, json.dumps(to_json(record))
