"""Units: what is searched. Written with their record, replaced when it changes, handed to the index as bytes."""

from __future__ import annotations

import sqlite3

import numpy as np
from numpy.typing import NDArray

from memscope.records import Record, Turn, VectorSpace
from memscope.search.changes import Changes
from memscope.stores.sqlite import queue
from memscope.stores.sqlite.checksummed import decode
from memscope.stores.sqlite.transaction import Transaction
from memscope.text.terms import terms_version
from memscope.text.units import make_units

_ROOTS = """
WITH RECURSIVE root(n) AS (
    SELECT source FROM source WHERE user = :user AND memory = :memory
    UNION SELECT s.source FROM root JOIN source s ON s.user = :user AND s.memory = root.n)
SELECT number, body FROM root JOIN record ON user = :user AND number = n WHERE kind = 0 ORDER BY number
"""


def roots(db: sqlite3.Connection, user: int, memory: int) -> list[tuple[int, Turn]]:
    """The turns that a memory rests on, with their numbers."""
    found = ((number, decode(body)) for number, body in db.execute(_ROOTS, {"user": user, "memory": memory}))
    return [(number, turn) for number, turn in found if isinstance(turn, Turn)]


def put(w: Transaction, number: int, record: Record) -> tuple[int, int]:
    """Write the record's units; the first's sequence number, and how many. Its sources must be written."""
    turns = [] if isinstance(record, Turn) else roots(w.db, w.user, number)
    first = w.revision + 1
    made = make_units(record, number=number, seq=first, turns=turns)
    w.db.executemany(
        "INSERT INTO unit(user, seq, number, columns, terms) VALUES (?, ?, ?, ?, ?)",
        [(w.user, unit.seq, number, unit.columns, unit.terms) for unit in made],
    )
    if w.space is not None:
        queue.enqueue(w, "embed", [unit.seq for unit in made])
    w.revision += len(made)
    w.units += len(made)
    return first, len(made)


def drop(w: Transaction, first: int, count: int) -> None:
    """Remove units with their vectors and the work on them; the index learns that they are gone."""
    if not count:
        return
    span = (w.user, first, first + count - 1)
    w.revision += 1
    w.db.execute("DELETE FROM unit WHERE user = ? AND seq BETWEEN ? AND ?", span)
    w.db.executemany(
        "INSERT INTO gone(user, revision, seq) VALUES (?, ?, ?)",
        [(w.user, w.revision, seq) for seq in range(first, first + count)],
    )
    w.db.execute("DELETE FROM item WHERE user = ? AND stage = 'embed' AND item BETWEEN ? AND ?", span)
    for space in spaces(w.db):
        w.db.execute(
            "DELETE FROM vector WHERE user = ? AND space = ? AND seq BETWEEN ? AND ?", (w.user, space, *span[1:])
        )
    w.units -= count


def spaces(db: sqlite3.Connection) -> list[int]:
    return [space for (space,) in db.execute("SELECT space FROM space")]


def replace(w: Transaction, number: int, record: Record, first: int, count: int, *, same_text: bool) -> tuple[int, int]:
    """New units for a changed record. Where its text did not change, the vectors go over to them."""
    kept = _vectors(w, first, count) if same_text else []
    drop(w, first, count)
    new_first, new_count = put(w, number, record)
    if new_count == count:
        for space, seq, data in kept:
            put_vector(w, space, seq - first + new_first, data)
    return new_first, new_count


def _vectors(w: Transaction, first: int, count: int) -> list[tuple[int, int, bytes]]:
    query = "SELECT space, seq, data FROM vector WHERE user = ? AND space = ? AND seq BETWEEN ? AND ?"
    found = (w.db.execute(query, (w.user, space, first, first + count - 1)) for space in spaces(w.db))
    return [row for rows in found for row in rows]


def put_vector(w: Transaction, space: int, seq: int, data: bytes) -> None:
    w.revision += 1
    w.db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?)", (w.user, space, seq, w.revision, data))
    if space == w.space:
        w.db.execute("DELETE FROM item WHERE user = ? AND stage = 'embed' AND item = ?", (w.user, seq))


def derive_anew(w: Transaction) -> None:
    """Make all units of a user again from the texts: the terms are made otherwise now."""
    numbers = "SELECT number, unit, units FROM record WHERE user = ? ORDER BY number"
    for number, first, count in w.db.execute(numbers, (w.user,)).fetchall():
        query = "SELECT body FROM record WHERE user = ? AND number = ?"
        record = decode(w.db.execute(query, (w.user, number)).fetchone()[0])
        made = replace(w, number, record, first, count, same_text=True)
        w.db.execute("UPDATE record SET unit = ?, units = ? WHERE user = ? AND number = ?", (*made, w.user, number))
    w.db.execute("DELETE FROM gone WHERE user = ?", (w.user,))
    w.revision += 1
    w.floor = w.revision
    w.terms = terms_version


# ---- for the index


def outdated(db: sqlite3.Connection, name: str) -> bool:
    row = db.execute("SELECT terms FROM users WHERE name = ?", (name,)).fetchone()
    return row is not None and row[0] != terms_version


def unchanged(db: sqlite3.Connection, name: str, since: int) -> Changes | None:
    """The changes when there are none; one row is read to know."""
    row = db.execute("SELECT revision, terms FROM users WHERE name = ?", (name,)).fetchone()
    return _none(db, since) if row == (since, terms_version) else None


def _none(db: sqlite3.Connection, revision: int) -> Changes:
    nothing = np.empty(0, np.int64)
    return Changes(revision, b"", b"", nothing, nothing, np.empty((0, 0), np.float16), active_space(db))


def changes(db: sqlite3.Connection, name: str, since: int) -> Changes:
    """Ranges of primary keys."""
    row = db.execute("SELECT user, revision, floor FROM users WHERE name = ?", (name,)).fetchone()
    user, revision, floor = row or (0, 0, 0)
    if revision == since:
        return _none(db, revision)
    nothing = np.empty(0, np.int64)
    whole = since == 0 or not floor <= since <= revision
    start = 0 if whole else since
    query = "SELECT columns, terms FROM unit WHERE user = ? AND seq > ? ORDER BY seq"
    rows = db.execute(query, (user, start)).fetchall()
    fresh, vectors = _new_vectors(db, user, start)
    return Changes(
        revision,
        columns=b"".join([row[0] for row in rows]),
        terms=b"".join([row[1] for row in rows]),
        gone=nothing if whole else _gone(db, user, start),
        vector_units=fresh,
        vectors=vectors,
        space=active_space(db),
        whole=whole,
    )


def _gone(db: sqlite3.Connection, user: int, since: int) -> NDArray[np.int64]:
    rows = db.execute("SELECT seq FROM gone WHERE user = ? AND revision > ?", (user, since))
    return np.fromiter((seq for (seq,) in rows), np.int64)


def _new_vectors(db: sqlite3.Connection, user: int, since: int) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    found = db.execute("SELECT space, dims FROM space WHERE active = 1").fetchone()
    if found is None:
        return np.empty(0, np.int64), np.empty((0, 0), np.float16)
    space, dims = found
    condition = "revision > ?" if since else "revision > ? ORDER BY seq"  # from the start the key's order is faster
    query = f"SELECT seq, data FROM vector WHERE user = ? AND space = ? AND {condition}"
    rows = db.execute(query, (user, space, since)).fetchall()
    data = np.frombuffer(b"".join([row[1] for row in rows]), "<f2").reshape(-1, dims)
    return np.array([row[0] for row in rows], np.int64), data.astype(np.float16, copy=False)


def active_space(db: sqlite3.Connection) -> VectorSpace | None:
    row = db.execute("SELECT model, dims FROM space WHERE active = 1").fetchone()
    return VectorSpace(*row) if row else None
