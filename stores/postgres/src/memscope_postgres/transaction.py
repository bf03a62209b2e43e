"""``Transaction`` of a local store in SQL: statements of one database transaction, sent in pipeline mode.

A write takes a shared lock on the table ``space``, then locks the row of each of its users. Writes of one user are
therefore serialized, and a user's revision rises in commit order. Changes of vector spaces, secret or counters need an
exclusive lock on the table: a task that turns out to make one restarts with that lock (``Exclusive``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from memscope.errors import StoreCorrupt
from memscope.records import Json, Stage, Stats, VectorSpace
from memscope.search.units import microseconds, units_version
from memscope.stores.rules import STAGES, latest_valid_lease
from memscope.stores.spaces import Spaces, is_complete
from memscope_postgres.options import PostgresOptions
from memscope_postgres.queries import SPACES, USER_OF
from memscope_postgres.statements import ALL_USERS, Database, TransactionStatements
from memscope_postgres.tables import NewRows, user_id
from memscope_postgres.user import PostgresUser, storable

T = TypeVar("T")
MAX_DUE_USERS = 64  # users considered by one claim
CLOCK_ERROR_US = 1_000_000  # between two processes' estimates of the server's time
_HAS_CONTENT = (
    "(turns + observations + insights > 0 OR EXISTS (SELECT 1 FROM block WHERE block.user_id = users.user_id))"
)
_HAS_TRACES = (
    " OR EXISTS (SELECT 1 FROM tombstone WHERE tombstone.user_id = users.user_id)"
    " OR EXISTS (SELECT 1 FROM receipt WHERE receipt.user_id = users.user_id)"
)
_WORK_STATES = """
SELECT CASE WHEN b.parked THEN 'parked' WHEN b.code != '' THEN 'failed' ELSE 'pending' END AS state, i.stage,
    sum(items)::bigint
FROM (SELECT user_id, stage, batch, count(*) AS items FROM item WHERE {mine} GROUP BY user_id, stage, batch) i
LEFT JOIN batch b ON b.batch = i.batch AND b.user_id = i.user_id
GROUP BY 1, 2
"""


class Exclusive(Exception):
    """The task changes data shared by all users and must restart with the exclusive lock."""


class PostgresTransaction:
    """``Transaction`` over ``statements``."""

    def __init__(self, statements: TransactionStatements, now: datetime, *, exclusive: bool = False) -> None:
        self._statements, self.execute, self._exclusive = statements, statements.execute, exclusive
        self.now = microseconds(now)
        self._users: dict[str, PostgresUser | None] = {}
        self._spaces: dict[VectorSpace, tuple[int, bool]] | None = None
        self._skips_locked = False
        self._new = NewRows()

    @classmethod
    def read(cls, db: Database, options: PostgresOptions, now: datetime, task: Callable[[PostgresTransaction], T]) -> T:
        statements = TransactionStatements(db, options, writing=False, exclusive=False)
        return statements.run(lambda: task(cls(statements, now)))

    @classmethod
    def write(
        cls, db: Database, options: PostgresOptions, now: datetime, task: Callable[[PostgresTransaction], T],
        asked: Mapping[str, Sequence[str]] | None = None, *, exclusive: bool = False,
    ) -> T:  # fmt: skip
        """Run the task and commit.

        Args:
            db: The connection.
            options: Options of the store.
            now: Time for leases.
            task: The function to run.
            asked: For appends: users to lock unless locked elsewhere, each with the ids to look up in ``known``.
            exclusive: Take the exclusive lock, to change data shared by all users.

        Raises:
            Exclusive: The task needs ``exclusive``.
            CommitUnknown: The answer to COMMIT was lost.
        """
        statements = TransactionStatements(db, options, writing=True, exclusive=exclusive)

        def writing() -> T:
            tx = cls(statements, now, exclusive=exclusive)
            if asked:
                tx._start_together(asked)
            result = task(tx)
            tx.save()
            return result

        return statements.run(writing)

    def need_exclusive(self) -> None:
        if not self._exclusive:
            raise Exclusive

    def save(self) -> None:
        for user in self._users.values():
            if user is not None:
                user.save_counters()
        self.flush()

    # ---- new rows, buffered until the next statement that could read them

    def add(self, table: str, id: str, rows: Iterable[Sequence[Any]]) -> None:
        self._new.add(table, id, rows)

    def due(self, id: str, stage: Stage, when: int) -> None:
        self._new.due(id, stage, when)

    def flush(self) -> None:
        query, values, users = self._new.take()
        if query:
            self.execute(query, *values, scope=",".join(users))

    # ---- users

    def user(self, name: str) -> PostgresUser:
        user = self.find_user(name)
        if user is None:
            query = "INSERT INTO users(user_id, name, terms) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
            id = user_id(name)
            self.execute(query, id, name, units_version, scope=id)
            del self._users[name]
            user = self.find_user(name)
        assert user is not None
        return user

    def find_user(self, name: str) -> PostgresUser | None:
        """Read a user's counters. A write locks the row; a claim over all users skips a locked one."""
        if name not in self._users:
            id = user_id(name)
            if (begun := self._statements.start(id)) is not None:
                rows, spaces = begun
                self._load_spaces(spaces)
            else:
                lock = " FOR UPDATE" if self._statements.writing else ""
                skip = " SKIP LOCKED" if lock and self._skips_locked else ""
                rows = self.execute(f"{USER_OF}%s{lock}{skip}", id, scope=id).fetchall()
            self._users[name] = PostgresUser(self, name, rows[0][0], rows[0][1:], {}) if rows else None
        return self._users[name]

    def _start_together(self, asked: Mapping[str, Sequence[str]]) -> None:
        names = {user_id(name): name for name in asked}
        ids = {id: storable(asked[names[id]]) for id in sorted(names)}  # sorted, against deadlocks
        *columns, spaces = self._statements.start_together(ids)
        self._load_spaces(spaces)
        self._take_free(names, *columns)
        if new := {id: ids[id] for id in ids if names[id] not in self._users}:
            rows = [(id, names[id], units_version) for id in new]
            query = "INSERT INTO users(user_id, name, terms) SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[])"
            self.execute(f"{query} ON CONFLICT DO NOTHING", *map(list, zip(*rows, strict=True)))
            self._take_free(names, *self._statements.more_together(new))

    def _take_free(self, names: Mapping[str, str], users: Iterable[Any], numbers: Iterable[Any]) -> None:
        known: dict[str, dict[str, int | None]] = {}
        for user, id, number in numbers:
            known.setdefault(user, {})[id] = number
        for id, terms, *counters in users:
            self._users[names[id]] = PostgresUser(self, names[id], terms, counters, known.get(id, {}))

    def is_free(self, name: str) -> bool:
        """True if this shared transaction has locked the user, and the user's units are of the current version."""
        user = self._users.get(name)
        return user is not None and user.terms == units_version

    def users(self, *, forgotten: bool = False) -> list[str]:
        query = f"SELECT name FROM users WHERE {_HAS_CONTENT} {_HAS_TRACES if forgotten else ''} ORDER BY name"
        return [name for (name,) in self.execute(query, scope=ALL_USERS)]

    def due_users(self, stage: Stage) -> list[str]:
        """List users whose stage is due; from now on, this transaction skips users whose row is locked elsewhere."""
        self._skips_locked = True
        query = (
            "SELECT name FROM lane JOIN users USING(user_id) WHERE stage = %s AND (due <= %s OR due > %s)"
            " ORDER BY due LIMIT %s"
        )
        values = (stage, self.now + CLOCK_ERROR_US, latest_valid_lease(self.now), MAX_DUE_USERS)
        return [name for (name,) in self.execute(query, *values, scope=ALL_USERS)]

    def parked_users(self) -> list[str]:
        query = "SELECT DISTINCT name FROM batch JOIN users USING(user_id) WHERE done IS NULL AND parked"
        return [name for (name,) in self.execute(query, scope=ALL_USERS)]

    # ---- meta

    def meta(self, key: str) -> bytes | None:
        row = self.execute("SELECT value FROM meta WHERE key = %s", key).fetchone()
        return bytes(row[0]) if row is not None else None

    def set_meta(self, key: str, value: bytes) -> None:
        query = "INSERT INTO meta VALUES (%s, %b) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        self.execute(query, key, value)

    def secret(self) -> bytes:
        secret = self.meta("secret")
        if not secret:
            raise StoreCorrupt("the secret of the turn keys is gone", hint="restore a backup")
        return secret

    def set_secret(self, secret: bytes) -> None:
        self.need_exclusive()
        self.set_meta("secret", secret)

    def is_used(self) -> bool:
        return bool(self._one("SELECT EXISTS (SELECT 1 FROM users WHERE number > 0)"))

    def counters(self, name: str) -> dict[str, Json]:
        body = self.meta(f"counters {name}")
        return dict(json.loads(body)) if body else {}

    def change_counters(self, name: str, change: Callable[[dict[str, Json]], None]) -> None:
        self.need_exclusive()
        counters = self.counters(name)
        change(counters)
        self.set_meta(f"counters {name}", json.dumps(counters).encode())

    # ---- vector spaces

    def _load_spaces(self, rows: Sequence[Any]) -> dict[VectorSpace, tuple[int, bool]]:
        self._spaces = {VectorSpace(model, dims): (id, active) for id, model, dims, active in rows}
        return self._spaces

    def _known_spaces(self) -> dict[VectorSpace, tuple[int, bool]]:
        return self._spaces if self._spaces is not None else self._load_spaces(self.execute(SPACES.text).fetchall())

    def space_ids(self) -> dict[VectorSpace, int]:
        return {space: id for space, (id, _) in self._known_spaces().items()}

    def spaces(self) -> Spaces:
        known = {active: space for space, (_, active) in self._known_spaces().items()}
        return Spaces(known.get(True), known.get(False))

    def set_spaces(self, spaces: Spaces) -> None:
        self.need_exclusive()
        ids = self.space_ids()
        for space, id in ids.items():
            if space not in (spaces.serving, spaces.filling):
                self.execute("DELETE FROM vector WHERE space = %s", id, scope=ALL_USERS)
                self.execute("DELETE FROM space WHERE space = %s", id)
        for target, active in ((spaces.serving, True), (spaces.filling, False)):
            if target in ids:
                self.execute("UPDATE space SET active = %s WHERE space = %s", active, ids[target])
            elif target is not None:
                query = "INSERT INTO space(model, dims, active) VALUES (%s, %s, %s)"
                self.execute(query, target.model, target.dims, active)
        self._spaces = None

    def has_vectors(self) -> bool:
        return bool(self._one("SELECT EXISTS (SELECT 1 FROM vector)"))

    def fill(self) -> None:
        self.need_exclusive()
        for table, which in (("item", ""), ("batch", " AND done IS NULL"), ("lane", "")):
            self.execute(f"DELETE FROM {table} WHERE stage = 'embed'{which}", scope=ALL_USERS)
        target = self.spaces().target
        if target is not None:
            query = (
                "INSERT INTO item SELECT user_id, 'embed', seq, NULL FROM unit WHERE NOT EXISTS (SELECT 1 FROM vector v"
                " WHERE v.user_id = unit.user_id AND v.seq = unit.seq AND v.space = %s)"
            )
            self.execute(query, self.space_ids()[target], scope=ALL_USERS)
        due = "INSERT INTO lane SELECT DISTINCT 'embed', user_id, %s::bigint FROM item WHERE stage = 'embed'"
        self.execute(due, self.now, scope=ALL_USERS)

    def is_filled(self) -> bool:
        if self._one("SELECT EXISTS (SELECT 1 FROM lane WHERE stage = 'embed')"):
            return False
        parked = self._one("SELECT count(*) FROM item WHERE stage = 'embed'")  # with no lane, all of them are
        embedded = "SELECT count(*) FROM vector WHERE space = (SELECT space FROM space ORDER BY active LIMIT 1)"
        return is_complete(parked, self._one(embedded) if parked else 0)

    def renew_indexes(self) -> None:
        self.need_exclusive()
        self.save()
        self.execute("UPDATE users SET revision = revision + 1, floor = revision + 1", scope=ALL_USERS)
        self._users.clear()

    def _one(self, query: str) -> Any:
        """Read one value over all users, after sending the buffered rows."""
        self.flush()
        row = self.execute(query, scope=ALL_USERS).fetchone()
        return row[0] if row is not None else None

    # ---- counts

    def stats(self, user: str | None) -> Stats:
        scope = user_id(user) if user is not None else ALL_USERS
        mine, values = ("user_id = %s", (scope,)) if user is not None else ("true", ())

        def send(query: str) -> Any:
            return self.execute(query, *values, scope=scope)

        names = ("turns", "observations", "insights", "units")
        sums = ", ".join(f"coalesce(sum({name}), 0)::bigint" for name in names)
        serving = "space = (SELECT space FROM space WHERE active)"
        total = send(f"SELECT count(*) FILTER (WHERE {_HAS_CONTENT}), {sums} FROM users WHERE {mine}")
        vectors = send(f"SELECT count(*) FROM vector WHERE {mine} AND {serving}")
        blocks = send(f"SELECT count(*) FROM block WHERE {mine} AND current")
        codes = send(f"SELECT code, count(*) FROM batch WHERE {mine} AND done IS NULL AND code != '' GROUP BY code")
        work = send(_WORK_STATES.format(mine=mine))
        states = {state: dict.fromkeys(map(str, STAGES), 0) for state in ("pending", "failed", "parked")}
        for state, stage, count in work:
            states[state][stage] = count
        users, *sums_of = total.fetchall()[0]
        return Stats(
            users=users,
            **dict(zip(names, sums_of, strict=True)),
            vectors=vectors.fetchall()[0][0],
            blocks=blocks.fetchall()[0][0],
            errors=dict(codes.fetchall()),
            space=self.spaces().serving,
            pending=states["pending"],
            failed=states["failed"],
            parked=states["parked"],
        )
