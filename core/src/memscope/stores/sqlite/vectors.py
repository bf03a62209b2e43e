"""Vector spaces: one that serves, and at most one that is being filled to take its place. Vectors never mix."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memscope.records import VectorSpace
from memscope.stores.spaces import check_replaceable, checked_vectors
from memscope.stores.sqlite import units
from memscope.stores.sqlite.transaction import Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def declare(db: sqlite3.Connection, space: VectorSpace, now: int, *, replace: bool) -> None:
    known = {VectorSpace(model, dims): (id, active) for id, model, dims, active in db.execute("SELECT * FROM space")}
    serving = next((found for found, (_, active) in known.items() if active), None)
    if space in known and not (replace and space == serving):
        return  # it serves, or it is being filled
    has_vectors = db.execute("SELECT EXISTS (SELECT 1 FROM vector)").fetchone()[0]
    keep = serving if has_vectors else None
    if not replace:
        check_replaceable(keep, space)
    for old, (id, _) in known.items():
        if old not in (keep, space):
            db.execute("DELETE FROM vector WHERE space = ?", (id,))
            db.execute("DELETE FROM space WHERE space = ?", (id,))
    if space != serving:
        values = (space.model, space.dims, keep is None)
        db.execute("INSERT INTO space(model, dims, active) VALUES (?, ?, ?)", values)
    _fill(db, now)
    switch_when_full(db)


def _fill(db: sqlite3.Connection, now: int) -> None:
    """Every unit without a vector in the newest space is pending; batches for another one are over."""
    db.execute("DELETE FROM item WHERE stage = 'embed'")
    db.execute("DELETE FROM batch WHERE stage = 'embed'")
    db.execute("DELETE FROM lane WHERE stage = 'embed'")
    db.execute(
        "INSERT INTO item SELECT user, 'embed', seq, NULL FROM unit WHERE NOT EXISTS ("
        "SELECT 1 FROM vector v WHERE v.user = unit.user AND v.seq = unit.seq"
        " AND v.space = (SELECT space FROM space ORDER BY active LIMIT 1))"
    )
    db.execute("INSERT INTO lane SELECT DISTINCT 'embed', user, ? FROM item WHERE stage = 'embed'", (now,))


def put_vectors(w: Transaction, vectors: Mapping[str, Sequence[float] | NDArray[np.float32]]) -> None:
    row = w.db.execute("SELECT model, dims FROM space WHERE space = ?", (w.space,)).fetchone()
    for id, vector in checked_vectors(vectors, VectorSpace(*row) if row else None).items():
        here = w.db.execute("SELECT 1 FROM unit WHERE user = ? AND seq = ?", (w.user, int(id))).fetchone()
        if here and w.space is not None:
            units.put_vector(w, w.space, int(id), vector.astype("<f2").tobytes())


def target(db: sqlite3.Connection) -> VectorSpace | None:
    """Where new vectors belong: the space that is being filled, else the one that serves."""
    row = db.execute("SELECT model, dims FROM space ORDER BY active LIMIT 1").fetchone()
    return VectorSpace(*row) if row else None


def known(db: sqlite3.Connection, space: VectorSpace) -> bool:
    query = "SELECT EXISTS (SELECT 1 FROM space WHERE model = ? AND dims = ?)"
    return bool(db.execute(query, (space.model, space.dims)).fetchone()[0])


def switch_when_full(db: sqlite3.Connection) -> None:
    """Let the filled space serve once no unit of anybody waits for it; every index then starts anew."""
    filling = db.execute("SELECT space FROM space WHERE active = 0").fetchone()
    if filling is None or _waiting(db):
        return
    for (old,) in db.execute("SELECT space FROM space WHERE active = 1").fetchall():
        db.execute("DELETE FROM vector WHERE space = ?", (old,))
        db.execute("DELETE FROM space WHERE space = ?", (old,))
    db.execute("UPDATE space SET active = 1 WHERE space = ?", filling)
    db.execute("UPDATE users SET revision = revision + 1, floor = revision + 1")


def _waiting(db: sqlite3.Connection) -> bool:
    open_lane = "EXISTS (SELECT 1 FROM lane WHERE stage = 'embed')"
    parked = "EXISTS (SELECT 1 FROM batch WHERE stage = 'embed' AND parked = 1)"
    return bool(db.execute(f"SELECT {open_lane} OR {parked}").fetchone()[0])
