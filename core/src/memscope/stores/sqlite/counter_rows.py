"""Counters by name, each a row of ``meta``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from memscope.records import Json


def read(db: sqlite3.Connection, name: str) -> dict[str, Json]:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (f"counters {name}",)).fetchone()
    return dict(json.loads(row[0])) if row else {}


def change(db: sqlite3.Connection, name: str, step: Callable[[dict[str, Json]], None]) -> None:
    counters = read(db, name)
    step(counters)
    row = (f"counters {name}", json.dumps(counters))
    db.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", row)
