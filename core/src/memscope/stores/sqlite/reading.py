"""What is read: records by id and by condition, their history, counts. Every statement is about one user."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memscope.records import FetchResult, Handle, Insight, Kind, Observation, Record, Select, Stats, Turn
from memscope.records.filters import matches
from memscope.stores.sqlite.checksummed import decode
from memscope.stores.sqlite.queue import STAGES
from memscope.stores.sqlite.units import active_space
from memscope.text.units import microseconds

KINDS: tuple[Kind, ...] = ("turn", "observation", "insight")
PAGE = 500

# ---- by id


def fetch(db: sqlite3.Connection, user: int, ids: Sequence[Handle]) -> FetchResult:
    """Two statements, however many ids: each costs more than what it reads."""
    records: dict[Handle, Record] = {}
    handles: dict[int, list[Handle]] = {}
    for column, kind in (("id", str), ("number", int)):
        asked = [plain(handle) if isinstance(handle, str) else handle for handle in ids if isinstance(handle, kind)]
        query = f"SELECT {column}, number, body FROM record WHERE user = ? AND {column} {_AMONG}"
        for handle, number, body in db.execute(query, (user, json.dumps(asked))) if asked else ():
            records[handle] = decode(body)
            handles.setdefault(number, []).append(handle)
    return FetchResult(records, _derived(db, user, handles))


_AMONG = "IN (SELECT value FROM json_each(?))"
_DERIVED = f"""
SELECT source, body FROM source CROSS JOIN record ON record.user = source.user AND number = memory -- source comes first
WHERE source.user = ? AND source.source {_AMONG} ORDER BY number
"""


def _derived(
    db: sqlite3.Connection, user: int, handles: Mapping[int, Sequence[Handle]]
) -> dict[Handle, tuple[Observation | Insight, ...]]:
    derived: dict[Handle, tuple[Observation | Insight, ...]] = {}
    for number, body in db.execute(_DERIVED, (user, json.dumps(list(handles)))) if handles else ():
        for handle in handles[number]:
            derived[handle] = derived.get(handle, ()) + _memories([(body,)])
    return derived


def _memories(rows: Iterable[tuple[str]]) -> tuple[Observation | Insight, ...]:
    return tuple(record for (body,) in rows if not isinstance(record := decode(body), Turn))


def history(db: sqlite3.Connection, user: int, id: str) -> list[Observation | Insight]:
    """Earlier versions and those linked by supersession, in both directions."""
    query = "SELECT number, body FROM record WHERE user = ? AND id = ? AND kind > 0"
    linked = [row for one in _chain(db, user, id) for row in db.execute(query, (user, one))]
    versions: list[Observation | Insight] = []
    for number, body in sorted(linked):
        older = db.execute("SELECT body FROM history WHERE user = ? AND number = ? ORDER BY version", (user, number))
        versions += _memories([*older.fetchall(), (body,)])
    return sorted(versions, key=lambda memory: memory.recorded)


def _chain(db: sqlite3.Connection, user: int, id: str) -> list[str]:
    chain = [id]
    for at in chain:
        before = db.execute("SELECT id FROM record WHERE user = ? AND superseded_by = ?", (user, at)).fetchall()
        after = db.execute("SELECT superseded_by FROM record WHERE user = ? AND id = ?", (user, at)).fetchall()
        chain += [found for (found,) in before + after if found is not None and found not in chain]
    return chain


# ---- by condition

_SESSION = """number IN (
    WITH RECURSIVE here(n) AS (
        SELECT number FROM record WHERE user = :user AND session = :session
        UNION SELECT memory FROM here JOIN source ON source.user = :user AND source.source = here.n)
    SELECT n FROM here)"""
_LIVE = """(expires IS NULL OR expires > :live) AND NOT (statement AND EXISTS (
    SELECT 1 FROM source JOIN record AS made ON made.user = :user AND made.number = source.memory
    WHERE source.user = :user AND source.source = record.number AND made.expires <= :live))"""
_PERIOD = """(time >= :from AND time < :to OR start < :to AND "end" > :from)"""

_CONDITIONS: tuple[tuple[str, str, Callable[[Any], dict[str, Any]]], ...] = (
    ("agent", "agent = :agent", lambda value: {"agent": value}),
    ("session", _SESSION, lambda value: {"session": value}),
    ("ids", "id IN (SELECT value FROM json_each(:ids))", lambda ids: {"ids": json.dumps(sorted(map(plain, ids)))}),
    ("period", _PERIOD, lambda value: {"from": microseconds(value.start), "to": microseconds(value.end)}),
    ("name", "name = :name", lambda value: {"name": value}),
    ("namespace", "namespace = :namespace", lambda value: {"namespace": value}),
    ("pending", "number IN (SELECT item FROM item WHERE user = :user AND stage = :stage)", lambda v: {"stage": v}),
    ("expired_by", "expires <= :expired", lambda value: {"expired": microseconds(value)}),
    ("live_at", _LIVE, lambda value: {"live": microseconds(value)}),
)


def plain(id: str) -> str:
    """An id as SQLite's JSON can hold it; no id has a NUL."""
    return "" if "\0" in id else id


def selected(db: sqlite3.Connection, user: int, select: Select, after: int = 0) -> list[tuple[int, Record]]:
    """The next page of up to ``PAGE`` looked at; those that the conditions of SQL left are decoded and matched here."""
    where, values = _where(select)
    query = f"SELECT number, body FROM record WHERE {where} ORDER BY number LIMIT {PAGE}"
    rows = db.execute(query, {**values, "user": user, "after": after}).fetchall()
    return [(number, decode(body)) for number, body in rows]


def _where(select: Select) -> tuple[str, dict[str, Any]]:
    parts, values = ["user = :user AND number > :after"], {}
    for name, condition, bind in _CONDITIONS:
        value = getattr(select, name)
        if value is not None:
            parts.append(condition)
            values.update(bind(value))
    if select.current:
        parts.append("current = 1")
    kinds = ", ".join(str(KINDS.index(kind)) for kind in sorted(select.kinds))
    return " AND ".join([*parts, f"kind IN ({kinds})"]), values


def fits(select: Select, record: Record) -> bool:
    """The conditions that SQL does not see: words and metadata."""
    mapping = record.metadata if isinstance(record, Turn) else record.data
    return (select.text is None or select.text.casefold() in record.text.casefold()) and (
        select.filter is None or matches(select.filter, mapping)
    )


def numbers(db: sqlite3.Connection, user: int, select: Select) -> list[int]:
    """All that are selected; only what needs it is decoded."""
    where, values = _where(select)
    bound = {**values, "user": user, "after": 0}
    if select.text is None and select.filter is None:
        return [row[0] for row in db.execute(f"SELECT number FROM record WHERE {where} ORDER BY number", bound)]
    rows = db.execute(f"SELECT number, body FROM record WHERE {where} ORDER BY number", bound)
    return [number for number, body in rows if fits(select, decode(body))]


# ---- counts


def tombstones(db: sqlite3.Connection, user: int) -> list[str]:
    return [id for (id,) in db.execute("SELECT id FROM tombstone WHERE user = ? ORDER BY id", (user,))]


def users(db: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM users WHERE turns + observations + insights > 0 ORDER BY name"
    return [name for (name,) in db.execute(query)]


def stats(db: sqlite3.Connection, user: int | None, everybody: bool, details: dict[str, Any]) -> Stats:
    """Counts only; of all users, or of one."""
    mine, args = ("1", ()) if everybody else ("user = ?", (user,))
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in ("turns", "observations", "insights", "units"))
    filled = "coalesce(sum(turns + observations + insights > 0), 0)"
    filled_users, turns, observations, insights, made = db.execute(
        f"SELECT {filled}, {sums} FROM users WHERE {mine}", args
    ).fetchone()
    query = f"SELECT count(*) FROM vector WHERE {mine} AND space = (SELECT space FROM space WHERE active = 1)"
    states = {state: {str(stage): 0 for stage in STAGES} for state in ("pending", "failed", "parked")}
    for state, stage, count in db.execute(_STATES.format(mine=mine), args):
        states[state][stage] = count
    codes = f"SELECT code, count(*) FROM batch WHERE {mine} AND done IS NULL AND code IS NOT NULL GROUP BY code"
    return Stats(
        users=filled_users,
        turns=turns,
        observations=observations,
        insights=insights,
        units=made,
        vectors=db.execute(query, args).fetchone()[0],
        pending=states["pending"],
        failed=states["failed"],
        parked=states["parked"],
        errors=dict(db.execute(codes, args).fetchall()),
        space=active_space(db),
        details=details,
    )


_STATES = """
SELECT CASE WHEN b.parked THEN 'parked' WHEN b.code IS NOT NULL THEN 'failed' ELSE 'pending' END AS state,
    i.stage, sum(items)
FROM (SELECT user, stage, batch, count(*) AS items FROM item WHERE {mine} GROUP BY user, stage, batch) i
LEFT JOIN batch b ON b.batch = i.batch AND b.user = i.user
GROUP BY state, i.stage
"""
