"""The statements of one database transaction: as few messages and waits as can be.

The first message holds BEGIN, the settings, the locks and the user's row, and is answered as a whole; what follows is
sent in pipeline mode, in which only a read waits. Names and numbers in the text of the first message are digests and
options that were checked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import sql

from memscope_postgres.options import PostgresOptions
from memscope_postgres.queries import (
    FREE_USERS,
    KNOWN,
    LOCKED_USER,
    QUERIES,
    SPACES,
    USER,
    XID,
    BoundQuery,
    quoted,
    quoted_all,
)

T = TypeVar("T")
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
ALL_USERS = ""  # a scope: no user's digest


class Database(psycopg.Connection[Any]):
    """A connection that is closed when an answer does not come: the network may swallow messages without an error."""

    max_wait_s = math.inf
    is_session = False  # of this process's own: no pooler gives the next transaction another one
    begun = 0  # transactions
    timeline = ""  # of the server's history: another one after a failover, and then ids of transactions come again

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        return super().wait(self._limited(gen), *args, **kwargs)

    def _limited(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        begin = time.monotonic()
        try:
            event = next(gen)
            while True:
                ready = yield event
                if not ready and time.monotonic() > begin + self.max_wait_s:
                    self.close()
                    raise psycopg.OperationalError("the server does not answer")
                event = gen.send(ready)
        except StopIteration as end:
            result: T = end.value
            return result

    def prepare_queries(self) -> None:
        """Prepare the queries of messages: at first, and after a rollback, at which psycopg gives up all prepared."""
        self.execute("; ".join(["DEALLOCATE ALL", *(query.prepare() for query in QUERIES)]), prepare=False)

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """Let statements take their time: those that rewrite whole tables. Behind a pooler the server's limit stays."""
        limit, self.max_wait_s = self.max_wait_s, math.inf
        if self.is_session:
            ((timeout,),) = self.execute("SHOW statement_timeout").fetchall()
            self.execute("SET statement_timeout = 0")
        try:
            yield
        finally:
            self.max_wait_s = limit
            if self.is_session and not self.closed:
                self.execute(f"SET statement_timeout = '{timeout}'")


class CommitUnknown(Exception):
    """The connection was lost between COMMIT and its answer."""

    def __init__(self, xid: str, timeline: str, result: Any) -> None:
        super().__init__(xid)
        self.xid, self.timeline, self.result = xid, timeline, result


def settings(options: PostgresOptions, *, local: bool) -> list[str]:
    """Make the statements that set what every transaction needs: for it alone, or for a session of this process's own.

    Every statement here is for rows of one user, found by an index whatever the statistics say.
    """
    timeout_ms = int(options.statement_timeout_s * 1000)
    values = {
        "search_path": f"{options.schema_name}, pg_catalog",
        "statement_timeout": timeout_ms,
        "idle_in_transaction_session_timeout": timeout_ms + 1000,  # the locks of a client that is gone
        "jit": "off",
        "enable_seqscan": "off",
        "plan_cache_mode": "force_generic_plan",
    }
    return [f"SET {'LOCAL ' if local else ''}{name} = {value}" for name, value in values.items()]


def _scope_statements(scope: str) -> list[str]:
    everyone = "on" if scope == ALL_USERS else "off"
    return [f"SET LOCAL memscope.user_id = '{scope}'", f"SET LOCAL memscope.all_users = '{everyone}'"]


def begin(db: Database, options: PostgresOptions, how: str, scope: str) -> list[str]:
    """Plan prepared statements again at each doubling of the transactions: they were planned for smaller tables."""
    db.begun += 1
    replanned = ["DISCARD PLANS"] * (db.begun & (db.begun - 1) == 0)
    return [how, *(replanned if db.is_session else settings(options, local=True)), *_scope_statements(scope)]


def send(db: Database, statements: Sequence[str]) -> list[list[Any]]:
    """Send statements as one message; return the rows of each that has some."""
    cursor = db.execute("; ".join(statements), prepare=False)
    rows: list[list[Any]] = []
    while True:
        if cursor.description is not None:
            rows.append(cursor.fetchall())
        if not cursor.nextset():
            return rows


def read_at_once(db: Database, options: PostgresOptions, id: str, *calls: BoundQuery) -> list[list[Any]]:
    """Run queries about one user in a transaction that is one message; return the rows of each."""
    with rolled_back(db):
        return send(db, [*begin(db, options, READ, id), *_statements(db, calls), "COMMIT"])


def _statements(db: Database, calls: Iterable[BoundQuery]) -> list[str]:
    return [call.statement(is_prepared=db.is_session) for call in calls]


class TransactionStatements:
    """A transaction that begins with its first statement."""

    def __init__(self, db: Database, options: PostgresOptions, *, writing: bool, exclusive: bool) -> None:
        self._db, self._options, self.writing, self._exclusive = db, options, writing, exclusive
        self._scope: str | None = None  # of the statements: users' digests, or ALL_USERS; None before the first
        self._stack = ExitStack()
        self._xid = ""  # by which the server can be asked what became of the transaction

    def run(self, task: Callable[[], T]) -> T:
        """Run the task and commit.

        Raises:
            CommitUnknown: The answer to COMMIT was lost.
        """
        is_done = False
        try:
            with rolled_back(self._db), self._stack:
                result = task()
                if self._scope is not None:
                    is_done = self.writing
                    self._db.execute("COMMIT")
        except psycopg.OperationalError as error:
            if is_done and (self._db.closed or self._db.broken):
                raise CommitUnknown(self._xid, self._db.timeline, result) from error
            raise
        return result

    def start(self, id: str) -> list[list[Any]] | None:
        """Begin with a user: return its row and the vector spaces, None if the transaction began before."""
        if self._scope is not None:
            return None
        return self._begin(id, (LOCKED_USER if self.writing else USER).call(quoted(id)), SPACES.call())

    def start_together(self, asked: Mapping[str, Sequence[str]]) -> list[list[Any]]:
        """Begin with the users whom nobody holds: return their rows, the numbers of ids asked for, the spaces."""
        return self._begin(",".join(asked), *self._free(asked), SPACES.call())

    def more_together(self, asked: Mapping[str, Sequence[str]]) -> list[list[Any]]:
        cursors = [self._db.execute(one, prepare=False) for one in _statements(self._db, self._free(asked))]
        return [cursor.fetchall() for cursor in cursors]

    def _free(self, asked: Mapping[str, Sequence[str]]) -> tuple[BoundQuery, BoundQuery]:
        pairs = [(user, id) for user, ids in asked.items() for id in ids]
        known = KNOWN.call(quoted_all(user for user, _ in pairs), sql.quote([id for _, id in pairs], self._db))
        return FREE_USERS.call(quoted_all(asked)), known

    def _begin(self, scope: str, *calls: BoundQuery) -> list[list[Any]]:
        self._scope = scope
        statements = begin(self._db, self._options, WRITE if self.writing else READ, scope)
        if self.writing:
            statements.append(f"LOCK TABLE space IN {'EXCLUSIVE' if self._exclusive else 'ROW SHARE'} MODE")
            calls = (XID.call(), *calls)
        rows = send(self._db, [*statements, *_statements(self._db, calls)])
        if self.writing:
            self._xid = str(rows.pop(0)[0][0])
        self._stack.enter_context(self._db.pipeline())
        return rows

    def execute(self, query: str, *values: Any, scope: str | None = None) -> psycopg.Cursor[Any]:
        """Send a statement; the rows of its cursor wait for the answer.

        Args:
            query: The statement.
            values: Its parameters.
            scope: The users whose rows the statement may see, ``ALL_USERS``, or None for tables without users.
        """
        if self._scope is None:
            self._begin(scope or ALL_USERS)
        elif scope is not None and scope != self._scope and not (scope and scope in self._scope):
            self._scope = scope
            for statement in _scope_statements(scope):
                self._db.execute(statement)
        return self._db.execute(query, values, binary=True)


@contextmanager
def rolled_back(db: Database) -> Iterator[None]:
    """Roll back after an error, so that the connection serves again."""
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):
            if db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                db.rollback()
                if db.is_session:
                    db.prepare_queries()
        raise
