"""A user's part of a write: the row of counters, read once and written back once."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from memscope.text.terms import terms_version

COUNTERS = ("number", "revision", "floor", "turns", "observations", "insights", "units")


@dataclass(slots=True)
class Transaction:
    """One user inside one request of the writer.

    ``number`` and ``revision`` are the last ones given. An index that knows less than ``floor`` starts anew.
    ``space`` is where new vectors belong, if there is an embedder.
    """

    db: sqlite3.Connection
    user: int
    now: int
    name: str
    terms: str
    space: int | None
    number: int
    revision: int
    floor: int
    turns: int
    observations: int
    insights: int
    units: int

    def save(self) -> None:
        names = ", ".join(f"{name} = ?" for name in COUNTERS)
        values = [getattr(self, name) for name in COUNTERS]
        self.db.execute(f"UPDATE users SET terms = ?, {names} WHERE user = ?", (self.terms, *values, self.user))


def user_id(db: sqlite3.Connection, name: str) -> int | None:
    row = db.execute("SELECT user FROM users WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def begin(db: sqlite3.Connection, name: str, now: int) -> Transaction:
    """The user's counters; a row for a new user."""
    space = "(SELECT space FROM space ORDER BY active LIMIT 1)"
    query = f"SELECT user, ?, name, terms, {space}, {', '.join(COUNTERS)} FROM users WHERE name = ?"
    row = db.execute(query, (now, name)).fetchone()
    if row is None:
        db.execute("INSERT INTO users(name, terms) VALUES (?, ?)", (name, terms_version))
        row = db.execute(query, (now, name)).fetchone()
    return Transaction(db, *row)
