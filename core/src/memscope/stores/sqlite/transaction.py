"""``Transaction`` in SQL. Each user's counters are read once and written back once."""

from __future__ import annotations

import sqlite3
from typing import Any

from memscope.errors import StoreCorrupt
from memscope.records import Stage, Stats
from memscope.search.units import units_version
from memscope.stores.local.columns import COUNTERS
from memscope.stores.rules import STAGES, latest_valid_lease
from memscope.stores.spaces import Spaces, is_complete
from memscope.stores.sqlite.small_tables import SpaceTable
from memscope.stores.sqlite.user import SQLiteUser

MAX_JOBS_READ = 64
_FILLED = "(turns + observations + insights > 0 OR EXISTS (SELECT 1 FROM block WHERE block.user = users.user))"
_UNREAD_ROWS = (
    " OR EXISTS (SELECT 1 FROM tombstone WHERE tombstone.user = users.user)"
    " OR EXISTS (SELECT 1 FROM receipt WHERE receipt.user = users.user)"
)
_USER_COUNTERS = f"SELECT user, terms, {', '.join(COUNTERS)} FROM users WHERE name = ?"
_JOB_STATES = """
SELECT CASE WHEN b.parked THEN 'parked' WHEN b.code IS NOT NULL THEN 'failed' ELSE 'pending' END AS state,
    i.stage, sum(items)
FROM (SELECT user, stage, batch, count(*) AS items FROM item WHERE {mine} GROUP BY user, stage, batch) i
LEFT JOIN batch b ON b.batch = i.batch AND b.user = i.user
GROUP BY state, i.stage
"""


class SQLiteTransaction:
    """``Transaction`` within one SQL transaction of ``db``; call ``save`` before committing."""

    def __init__(self, db: sqlite3.Connection, now: int) -> None:
        self.db, self.now = db, now
        self._users: dict[str, SQLiteUser] = {}
        self._spaces = SpaceTable(db)

    def save(self) -> None:
        for user in self._users.values():
            user.save_counters()

    # ---- users

    def user(self, name: str) -> SQLiteUser:
        user = self.find_user(name)
        if user is None:
            self.db.execute("INSERT INTO users(name, terms) VALUES (?, ?)", (name, units_version))
            user = self.find_user(name)
        assert user is not None
        return user

    def find_user(self, name: str) -> SQLiteUser | None:
        if name not in self._users:
            row = self.db.execute(_USER_COUNTERS, (name,)).fetchone()
            if row is None:
                return None
            id, terms, *counters = row
            self._users[name] = SQLiteUser(self.db, self.now, self._spaces, id, terms, counters)
        return self._users[name]

    def users(self, *, forgotten: bool = False) -> list[str]:
        query = f"SELECT name FROM users WHERE {_FILLED} {_UNREAD_ROWS if forgotten else ''} ORDER BY name"
        return [name for (name,) in self.db.execute(query)]

    def due_users(self, stage: Stage) -> list[str]:
        query = (
            "SELECT name FROM lane JOIN users USING(user) WHERE stage = ? AND (due <= ? OR due > ?)"
            " ORDER BY due LIMIT ?"
        )
        values = (stage, self.now, latest_valid_lease(self.now), MAX_JOBS_READ)
        return [name for (name,) in self.db.execute(query, values)]

    def parked_users(self) -> list[str]:
        query = "SELECT DISTINCT name FROM batch JOIN users USING(user) WHERE parked = 1"
        return [name for (name,) in self.db.execute(query)]

    def secret(self) -> bytes:
        row = self.db.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()
        if row is None or not isinstance(row[0], bytes):
            hint = "restore a backup, or see 'memscope recover'"
            raise StoreCorrupt("the secret of the turn keys is damaged", hint=hint)
        return row[0]

    def set_secret(self, secret: bytes) -> None:
        self.db.execute("UPDATE meta SET value = ? WHERE key = 'secret'", (secret,))

    def is_used(self) -> bool:
        return bool(self.db.execute("SELECT EXISTS (SELECT 1 FROM users WHERE number > 0)").fetchone()[0])

    # ---- vector spaces

    def spaces(self) -> Spaces:
        return self._spaces.spaces()

    def set_spaces(self, spaces: Spaces) -> None:
        self._spaces.put(spaces)

    def has_vectors(self) -> bool:
        return bool(self.db.execute("SELECT EXISTS (SELECT 1 FROM vector)").fetchone()[0])

    def fill(self) -> None:
        for table, which in (("item", ""), ("batch", " AND done IS NULL"), ("lane", "")):
            self.db.execute(f"DELETE FROM {table} WHERE stage = 'embed'{which}")
        self.db.execute(
            "INSERT INTO item SELECT user, 'embed', seq, NULL FROM unit WHERE NOT EXISTS ("
            "SELECT 1 FROM vector v WHERE v.user = unit.user AND v.seq = unit.seq"
            " AND v.space = (SELECT space FROM space ORDER BY active LIMIT 1))"
        )
        due = "INSERT INTO lane SELECT DISTINCT 'embed', user, ? FROM item WHERE stage = 'embed'"
        self.db.execute(due, (self.now,))

    def is_filled(self) -> bool:
        if self.db.execute("SELECT EXISTS (SELECT 1 FROM lane WHERE stage = 'embed')").fetchone()[0]:
            return False
        parked = self.db.execute("SELECT count(*) FROM item WHERE stage = 'embed'").fetchone()[0]  # no lane: all are
        embedded = "SELECT count(*) FROM vector WHERE space = (SELECT space FROM space ORDER BY active LIMIT 1)"
        return is_complete(parked, self.db.execute(embedded).fetchone()[0] if parked else 0)

    def renew_indexes(self) -> None:
        self.save()
        self.db.execute("UPDATE users SET revision = revision + 1, floor = revision + 1")
        self._users.clear()

    # ---- counts

    def stats(self, user: str | None) -> Stats:
        row = self.find_user(user) if user is not None else None
        mine, args = ("1", ()) if user is None else ("user = ?", (row.user if row is not None else None,))
        states: dict[str, Any] = {state: dict.fromkeys(STAGES, 0) for state in ("pending", "failed", "parked")}
        for state, stage, count in self.db.execute(_JOB_STATES.format(mine=mine), args):
            states[state][stage] = count
        columns = {"users": _FILLED, **{name: name for name in ("turns", "observations", "insights", "units")}}
        sums = ", ".join(f"coalesce(sum({column}), 0)" for column in columns.values())
        counts = self.db.execute(f"SELECT {sums} FROM users WHERE {mine}", args).fetchone()
        vectors = f"SELECT count(*) FROM vector WHERE {mine} AND space = (SELECT space FROM space WHERE active = 1)"
        codes = f"SELECT code, count(*) FROM batch WHERE {mine} AND done IS NULL AND code IS NOT NULL GROUP BY code"
        return Stats(
            **dict(zip(columns, counts, strict=True)),
            vectors=self.db.execute(vectors, args).fetchone()[0],
            errors=dict(self.db.execute(codes, args).fetchall()),
            space=self.spaces().serving,
            blocks=self.db.execute(f"SELECT count(*) FROM block WHERE {mine} AND current = 1", args).fetchone()[0],
            **states,
        )
