"""What waits: items of a stage, and the lanes by which a worker finds the users that have some.

An item is the number of a turn (consolidate) or of an observation (reflect), or the sequence number of a unit (embed).
It waits while its batch is NULL. A user has a row in a stage's lane while anything can be claimed, now or at ``due``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from memscope.records import Stage
from memscope.stores.rules import furthest
from memscope.stores.sqlite.transaction import Transaction

STAGES: tuple[Stage, ...] = ("embed", "consolidate", "reflect")


def lane(stage: Stage) -> tuple[Stage, ...]:
    """The stages of which a user has one lease at a time."""
    return ("embed",) if stage == "embed" else ("consolidate", "reflect")


def enqueue(w: Transaction, stage: Stage, items: Sequence[int]) -> None:
    if items:
        rows = [(w.user, stage, item) for item in items]
        w.db.executemany("INSERT OR IGNORE INTO item VALUES (?, ?, ?, NULL)", rows)
        open_lane(w, stage)


def open_lane(w: Transaction, stage: Stage) -> None:
    w.db.execute("INSERT OR IGNORE INTO lane VALUES (?, ?, ?)", (stage, w.user, w.now))


def withdraw(w: Transaction, stage: Stage, item: int) -> None:
    """Take an item back that is in no batch yet."""
    w.db.execute("DELETE FROM item WHERE user = ? AND stage = ? AND item = ? AND batch IS NULL", (w.user, stage, item))


def settle(w: Transaction, records: Iterable[int]) -> None:
    """Turns and observations that are dealt with, outside any claim."""
    for number in records:
        for stage in lane("consolidate"):
            withdraw(w, stage, number)


def refresh(db: sqlite3.Connection, user: int, stage: Stage, now: int) -> None:
    """Set when the user is due next in this stage, or close the lane."""
    due = _due(db, user, stage, now)
    if due is None:
        db.execute("DELETE FROM lane WHERE stage = ? AND user = ?", (stage, user))
    else:
        db.execute("INSERT OR REPLACE INTO lane VALUES (?, ?, ?)", (stage, user, due))


def _due(db: sqlite3.Connection, user: int, stage: Stage, now: int) -> int | None:
    first = oldest_batch(db, user, stage)
    waiting = "SELECT 1 FROM item WHERE user = ? AND stage = ? AND batch IS NULL LIMIT 1"
    if first is None and db.execute(waiting, (user, stage)).fetchone() is None:
        return None
    return max(now, leased_until(db, user, stage, now), paused_until(db, user, first, now))


def oldest_batch(db: sqlite3.Connection, user: int, stage: Stage) -> int | None:
    query = "SELECT min(batch) FROM batch WHERE user = ? AND stage = ? AND done IS NULL AND parked = 0"
    found: int | None = db.execute(query, (user, stage)).fetchone()[0]
    return found


def paused_until(db: sqlite3.Connection, user: int, batch: int | None, now: int) -> int:
    """Returns when a failed batch may be tried again; 0 for now."""
    query = "SELECT not_before FROM batch WHERE batch = ? AND user = ? AND not_before <= ?"
    found = db.execute(query, (batch, user, furthest(now))).fetchone()
    return found[0] if found else 0


def leased_until(db: sqlite3.Connection, user: int, stage: Stage, now: int) -> int:
    """When the user's lease in this lane ends; 0 without one."""
    query = (
        "SELECT coalesce(max(until), 0) FROM batch WHERE user = ? AND done IS NULL AND token IS NOT NULL"
        " AND until <= ? AND stage IN (SELECT value FROM json_each(?))"
    )
    until: int = db.execute(query, (user, furthest(now), json.dumps(lane(stage)))).fetchone()[0]
    return until
