"""One user's part of a transaction, in SQL. Every statement is limited to this user."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from memscope.records import ChangeSet, Claim, Handle, Record, Select, Stage, Turn, VectorSpace
from memscope.search.units import Unit, microseconds
from memscope.stores import RecordKey
from memscope.stores.checksummed import decode, decode_plan, encode, words_in_body
from memscope.stores.local import Row
from memscope.stores.local.columns import COUNTERS, KEEP_DONE_US, ROW_KINDS, ROWS_PER_PAGE, kind_number, record_columns
from memscope.stores.rules import Batch, Memory, folded, in_words
from memscope.stores.sqlite.small_tables import BlockTable, SpaceTable

_IN_LIST = "IN (SELECT value FROM json_each(?))"
_KNOWN = (
    "SELECT id, number FROM record WHERE user = ? AND id {0}"
    " UNION ALL SELECT id, 0 FROM tombstone WHERE user = ? AND id {0}"
)
_ROW_COLUMNS = "number, body, unit, units, valid_to_before"


@cache
def _insert_record(columns: tuple[str, ...]) -> str:
    names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
    return f"INSERT INTO record({names}) VALUES ({marks})"


class SQLiteUser(BlockTable):
    """``UserTransaction`` in SQL; ``user`` is the key of the row in ``users``, whose columns are the counters."""

    turns: int
    observations: int
    insights: int
    units: int

    def __init__(
        self, db: sqlite3.Connection, now: int, spaces: SpaceTable, user: int, terms: str, counters: Sequence[int]
    ) -> None:
        self.db, self.now, self.spaces, self.user, self.terms = db, now, spaces, user, terms
        self.number, self.revision, self.floor, self.turns, self.observations, self.insights, self.units = counters
        self._stored: tuple[Any, ...] = (terms, *counters)
        self._inserted = self.number  # highest record number in the table

    def _state(self) -> tuple[Any, ...]:
        return (self.terms, *(getattr(self, name) for name in COUNTERS))

    def save_counters(self) -> None:
        if (state := self._state()) != self._stored:
            names = ", ".join(f"{name} = ?" for name in ("terms", *COUNTERS))
            self.db.execute(f"UPDATE users SET {names} WHERE user = ?", (*state, self.user))
            if self.floor > self._stored[1 + COUNTERS.index("floor")]:  # no index needs earlier removals
                self.db.execute("DELETE FROM gone WHERE user = ? AND revision <= ?", (self.user, self.floor))
            self._stored = state

    @property
    def space(self) -> VectorSpace | None:
        return self.spaces.spaces().target

    # ---- records

    def find(self, handles: Iterable[Handle]) -> dict[Handle, Row]:
        """Run at most two statements for any number of handles: a statement costs more than the rows it reads."""
        rows: dict[Handle, Row] = {}
        handles = list(handles)
        for column, kind in (("id", str), ("number", int)):
            among = _json(handle for handle in handles if isinstance(handle, kind))
            query = f"SELECT {_ROW_COLUMNS}, {column} FROM record WHERE user = ? AND {column} {_IN_LIST}"
            for *row, handle in self.db.execute(query, (self.user, among)) if among else ():
                rows[handle] = _row(row)
        return rows

    def known(self, ids: Iterable[str]) -> dict[str, int]:
        if len(ids := list(ids)) == 1:  # the usual case; this statement is faster
            return dict(self.db.execute(_KNOWN.format("= ?"), (self.user, *ids, self.user, *ids)).fetchall())
        among = _json(ids)
        return dict(self.db.execute(_KNOWN.format(_IN_LIST), (self.user, among, self.user, among))) if among else {}

    def derived(self, numbers: Iterable[int]) -> list[tuple[int, Row]]:
        among = _json(numbers) if self.observations or self.insights else ""
        query = f"SELECT memory, source FROM source WHERE user = ? AND source {_IN_LIST} ORDER BY memory"
        pairs = self.db.execute(query, (self.user, among)).fetchall() if among else []
        # Two statements: with the body of a memory in each of its pairs, SQLite sorted gigabytes.
        query = f"SELECT {_ROW_COLUMNS} FROM record WHERE user = ? AND number {_IN_LIST}"
        memories = _json({memory for memory, _ in pairs})
        rows = {row[0]: _row(row) for row in self.db.execute(query, (self.user, memories))} if pairs else {}
        return [(source, rows[memory]) for memory, source in pairs if memory in rows]

    def superseded(self, ids: Iterable[str]) -> list[Row]:
        query = f"SELECT {_ROW_COLUMNS} FROM record WHERE user = ? AND superseded_by {_IN_LIST} ORDER BY number"
        return [_row(row) for row in self.db.execute(query, (self.user, _json(ids) or "[]"))]

    def holders(self, name: str, namespace: str | None) -> list[Row]:
        query = f"SELECT {_ROW_COLUMNS} FROM record WHERE user = ? AND name = ? AND namespace IS ? AND current = 1"
        return [_row(row) for row in self.db.execute(query, (self.user, name, namespace))]

    def select(self, select: Select, after: int) -> tuple[list[Row], int | None]:
        """Check conditions on text and metadata here, all others in SQL."""
        where, values = _where(select)
        query = f"SELECT {_ROW_COLUMNS} FROM record WHERE {where} ORDER BY number LIMIT {ROWS_PER_PAGE}"
        rows = [_row(row) for row in self.db.execute(query, {**values, "user": self.user, "after": after})]
        fitting = [row for row in rows if in_words(select, row.record)]
        return fitting, rows[-1].number if len(rows) == ROWS_PER_PAGE else None

    def keys(self, select: Select) -> list[RecordKey]:
        """Decode only records that may meet a condition on text or metadata."""
        where, values = _where(select)
        body = "NULL" if select.text is None and select.filter is None else "body"
        query = f"SELECT number, id, kind, time, {body} FROM record WHERE {where} ORDER BY number"
        return [
            RecordKey(number, id, ROW_KINDS[kind], time)
            for number, id, kind, time, body in self.db.execute(query, {**values, "user": self.user, "after": 0})
            if body is None or (words_in_body(select.text) in folded(body) and in_words(select, decode(body)))
        ]

    def put(self, row: Row, sources: Sequence[int], units: Sequence[Unit]) -> None:
        fields = {**record_columns(row.record), "unit": row.unit, "units": row.units}
        fields["valid_to_before"] = row.valid_to.isoformat() if row.valid_to is not None else None
        if row.number > self._inserted:
            fields |= {"user": self.user, "number": row.number}
            self.db.execute(_insert_record(tuple(fields)), tuple(fields.values()))
            self._inserted = row.number
            self._count(row.record, 1)
        else:
            names = ", ".join(f'"{name}" = ?' for name in fields)
            self.db.execute(
                f"UPDATE record SET {names} WHERE user = ? AND number = ?", (*fields.values(), self.user, row.number)
            )
            self.db.execute("DELETE FROM source WHERE user = ? AND memory = ?", (self.user, row.number))
        if sources:
            links = [(self.user, row.number, source) for source in sources]
            self.db.executemany("INSERT INTO source(user, memory, source) VALUES (?, ?, ?)", links)
        self.db.executemany(
            "INSERT INTO unit(user, seq, number, columns, terms) VALUES (?, ?, ?, ?, ?)",
            [(self.user, unit.seq, row.number, unit.columns, unit.terms) for unit in units],
        )
        self.units += len(units)

    def _count(self, record: Record, more: int) -> None:
        name = f"{ROW_KINDS[kind_number(record)]}s"
        setattr(self, name, getattr(self, name) + more)

    def remove(self, row: Row) -> None:
        for statement in (
            "DELETE FROM record WHERE user = ? AND number = ?",
            "DELETE FROM source WHERE user = ? AND memory = ?",
            "DELETE FROM history WHERE user = ? AND number = ?",
            "DELETE FROM item WHERE user = ? AND stage IN ('consolidate', 'reflect') AND item = ?",
        ):
            self.db.execute(statement, (self.user, row.number))
        self._count(row.record, -1)

    def older(self, number: int) -> list[Memory]:
        query = "SELECT body FROM history WHERE user = ? AND number = ? ORDER BY version"
        records = (decode(body) for (body,) in self.db.execute(query, (self.user, number)))
        return [record for record in records if not isinstance(record, Turn)]

    def keep_older(self, number: int, memory: Memory) -> None:
        row = (self.user, number, memory.version, encode(memory))
        self.db.execute("INSERT INTO history VALUES (?, ?, ?, ?)", row)

    def add_tombstones(self, ids: Iterable[str]) -> None:
        self.db.executemany("INSERT OR IGNORE INTO tombstone VALUES (?, ?)", [(self.user, id) for id in ids])

    def tombstones(self) -> list[str]:
        return [id for (id,) in self.db.execute("SELECT id FROM tombstone WHERE user = ? ORDER BY id", (self.user,))]

    # ---- units and vectors

    def drop_units(self, row: Row) -> None:
        span = (self.user, row.unit, row.unit + row.units - 1)
        self.db.execute("DELETE FROM unit WHERE user = ? AND seq BETWEEN ? AND ?", span)
        gone = [(self.user, self.revision, unit) for unit in range(row.unit, row.unit + row.units)]
        self.db.executemany("INSERT INTO gone(user, revision, seq) VALUES (?, ?, ?)", gone)
        self.db.execute("DELETE FROM item WHERE user = ? AND stage = 'embed' AND item BETWEEN ? AND ?", span)
        for space in self.spaces.ids().values():
            drop = "DELETE FROM vector WHERE user = ? AND space = ? AND seq BETWEEN ? AND ?"
            self.db.execute(drop, (self.user, space, *span[1:]))
        self.units -= row.units

    def units_since(self, revision: int) -> Iterator[tuple[bytes, bytes]]:
        query = "SELECT columns, terms FROM unit WHERE user = ? AND seq > ? ORDER BY seq"
        return self.db.execute(query, (self.user, revision))

    def gone_since(self, revision: int) -> list[int]:
        query = "SELECT seq FROM gone WHERE user = ? AND revision > ?"
        return [unit for (unit,) in self.db.execute(query, (self.user, revision))]

    def rows_of(self, units: Iterable[int]) -> list[Row]:
        query = (
            f"SELECT {_ROW_COLUMNS} FROM record WHERE user = ? AND number IN ("
            f"SELECT number FROM unit WHERE user = ? AND seq {_IN_LIST}) ORDER BY number"
        )
        return [_row(row) for row in self.db.execute(query, (self.user, self.user, _json(units) or "[]"))]

    def vectors(self, row: Row) -> list[tuple[VectorSpace, int, bytes]]:
        query = "SELECT seq, data FROM vector WHERE user = ? AND space = ? AND seq BETWEEN ? AND ?"
        return [
            (space, unit, data)
            for space, id in self.spaces.ids().items()
            for unit, data in self.db.execute(query, (self.user, id, row.unit, row.unit + row.units - 1))
        ]

    def put_vector(self, space: VectorSpace, unit: int, data: bytes) -> None:
        self.db.execute(
            "INSERT OR REPLACE INTO vector SELECT user, ?, seq, ?, ? FROM unit WHERE user = ? AND seq = ?",
            (self.spaces.ids()[space], self.revision, data, self.user, unit),
        )

    def vectors_since(self, space: VectorSpace, revision: int) -> Iterator[tuple[int, bytes]]:
        newer = "revision > ?" if revision else "revision > ? ORDER BY seq"  # a full read is faster in key order
        query = f"SELECT seq, data FROM vector WHERE user = ? AND space = ? AND {newer}"
        return self.db.execute(query, (self.user, self.spaces.ids()[space], revision))

    # ---- work: an item waits while its batch is NULL

    def enqueue(self, stage: Stage, items: Sequence[int]) -> None:
        if items:
            rows = [(self.user, stage, item) for item in items]
            self.db.executemany("INSERT OR IGNORE INTO item VALUES (?, ?, ?, NULL)", rows)
            self.db.execute("INSERT OR IGNORE INTO lane VALUES (?, ?, ?)", (stage, self.user, self.now))

    def dequeue(self, stage: Stage, items: Iterable[int], *, batched: bool = False) -> None:
        which = "" if batched else " AND batch IS NULL"
        query = f"DELETE FROM item WHERE user = ? AND stage = ? AND item = ?{which}"
        self.db.executemany(query, [(self.user, stage, item) for item in items])

    def waiting(self, stage: Stage, limit: int, *, by_said: bool = False) -> list[int]:
        order = "(SELECT time FROM record WHERE record.user = item.user AND number = item), item" if by_said else "item"
        query = f"SELECT item FROM item WHERE user = ? AND stage = ? AND batch IS NULL ORDER BY {order} LIMIT ?"
        return [item for (item,) in self.db.execute(query, (self.user, stage, limit))]

    def batches(self) -> list[Batch]:
        query = (  # naming the stages lets the index skip done batches
            "SELECT batch, stage, token, until, attempt, code, not_before, parked FROM batch WHERE user = ?"
            " AND stage IN ('embed', 'consolidate', 'reflect') AND done IS NULL ORDER BY batch"
        )
        return [_batch(*row) for row in self.db.execute(query, (self.user,))]

    def form(self, stage: Stage, items: Sequence[int]) -> Batch:
        insert = "INSERT INTO batch(user, stage, first, last) VALUES (?, ?, ?, ?)"
        batch = self.db.execute(insert, (self.user, stage, min(items), max(items))).lastrowid
        assign = "UPDATE item SET batch = ? WHERE user = ? AND stage = ? AND item = ?"
        self.db.executemany(assign, [(batch, self.user, stage, item) for item in items])
        return Batch(str(batch), stage)

    def items(self, batch: Batch) -> list[int]:
        query = (
            "SELECT item FROM batch JOIN item USING(user, stage) WHERE batch.user = :user AND batch.batch = :batch"
            " AND item.user = :user AND item.batch = :batch AND item BETWEEN first AND last ORDER BY item"
        )
        return [item for (item,) in self.db.execute(query, {"user": self.user, "batch": int(batch.id)})]

    def save(self, batch: Batch) -> None:
        state = (batch.token or None, batch.until or None, batch.attempt, batch.code or None, batch.not_before or None)
        self.db.execute(
            "UPDATE batch SET token = ?, until = ?, attempt = ?, code = ?, not_before = ?, parked = ?"
            " WHERE user = ? AND batch = ?",
            (*state, batch.parked, self.user, int(batch.id)),
        )

    def reply(self, batch: Batch) -> ChangeSet | None:
        query = "SELECT plan FROM batch WHERE user = ? AND batch = ?"
        (body,) = self.db.execute(query, (self.user, int(batch.id))).fetchone() or (None,)
        return decode_plan(body) if body else None

    def keep_reply(self, batch: Batch, change_set: ChangeSet | None) -> None:
        body = encode(change_set) if change_set is not None else None
        self.db.execute("UPDATE batch SET plan = ? WHERE user = ? AND batch = ?", (body, self.user, int(batch.id)))

    def end(self, batch: Batch, *, done: bool) -> None:
        left = [(self.user, batch.stage, item) for item in self.items(batch)]
        self.db.executemany("UPDATE item SET batch = NULL WHERE user = ? AND stage = ? AND item = ?", left)
        ended = "UPDATE batch SET done = ?, plan = NULL WHERE user = ? AND batch = ?"
        if not done:
            ended = "DELETE FROM batch WHERE ? AND user = ? AND batch = ?"
        self.db.execute(ended, (self.now, self.user, int(batch.id)))
        self.db.execute("DELETE FROM batch WHERE user = ? AND done < ?", (self.user, self.now - KEEP_DONE_US))

    def was_done(self, claim: Claim) -> bool:
        if not claim.id.isdecimal() or len(claim.id) > 18:
            return False
        query = "SELECT 1 FROM batch WHERE user = ? AND stage = ? AND token = ? AND batch = ? AND done IS NOT NULL"
        values = (self.user, claim.stage, claim.token, int(claim.id))
        return self.db.execute(query, values).fetchone() is not None

    def set_due(self, stage: Stage, when: int | None) -> None:
        if when is None:
            self.db.execute("DELETE FROM lane WHERE stage = ? AND user = ?", (stage, self.user))
        else:
            self.db.execute("INSERT OR REPLACE INTO lane VALUES (?, ?, ?)", (stage, self.user, when))

    # ---- for secure_erase

    def terms_of(self, row: Row) -> list[bytes]:
        query = "SELECT terms FROM unit WHERE user = ? AND seq BETWEEN ? AND ?"
        rows = self.db.execute(query, (self.user, row.unit, row.unit + row.units - 1))
        return [terms for (terms,) in rows]


# ---- rows


def _json(values: Iterable[Handle]) -> str:
    """Encode a list for ``json_each``, "" if empty. Values with NUL are left out: no id has one."""
    listed = [value for value in values if not (isinstance(value, str) and "\0" in value)]
    return json.dumps(listed) if listed else ""


def _row(row: Sequence[Any]) -> Row:
    number, body, unit, units, valid_to = row
    return Row(number, decode(body), unit, units, datetime.fromisoformat(valid_to) if valid_to else None)


def _batch(
    id: int, stage: Stage, token: str | None, until: int | None, attempt: int, code: str | None,
    not_before: int | None, parked: int,
) -> Batch:  # fmt: skip
    return Batch(str(id), stage, token or "", until or 0, attempt, code or "", not_before or 0, bool(parked))


# ---- conditions

_SESSION = """number IN (
    WITH RECURSIVE here(n) AS (
        SELECT number FROM record WHERE user = :user AND session = :session
        UNION SELECT memory FROM here JOIN source ON source.user = :user AND source.source = here.n)
    SELECT n FROM here)"""
_LIVE = """(expires IS NULL OR expires > :live) AND NOT (statement AND EXISTS (
    SELECT 1 FROM source JOIN record AS made ON made.user = :user AND made.number = source.memory
    WHERE source.user = :user AND source.source = record.number AND made.expires <= :live))"""
_PENDING = "number IN (SELECT item FROM item WHERE user = :user AND stage = :stage AND stage != 'embed')"
_PERIOD = """(time >= :from AND time < :to OR start < :to AND "end" > :from)"""

_CONDITIONS: tuple[tuple[str, str, Callable[[Any], dict[str, Any]]], ...] = (
    ("agent", "agent = :agent", lambda value: {"agent": value}),
    ("session", _SESSION, lambda value: {"session": value}),
    ("ids", "id IN (SELECT value FROM json_each(:ids))", lambda ids: {"ids": _json(sorted(ids)) or "[]"}),
    ("period", _PERIOD, lambda value: {"from": microseconds(value.start), "to": microseconds(value.end)}),
    ("name", "name = :name", lambda value: {"name": value}),
    ("namespace", "namespace = :namespace", lambda value: {"namespace": value}),
    ("pending", _PENDING, lambda value: {"stage": value}),
    ("expired_by", "expires <= :expired", lambda value: {"expired": microseconds(value)}),
    ("live_at", _LIVE, lambda value: {"live": microseconds(value)}),
)


def _where(select: Select) -> tuple[str, dict[str, Any]]:
    parts, values = ["user = :user AND number > :after"], {}
    for name, condition, bind in _CONDITIONS:
        value = getattr(select, name)
        if value is not None:
            parts.append(condition)
            values.update(bind(value))
    if select.current:
        parts.append("current = 1")
    kinds = ", ".join(str(ROW_KINDS.index(kind)) for kind in sorted(select.kinds))
    return " AND ".join([*parts, f"kind IN ({kinds})"]), values
