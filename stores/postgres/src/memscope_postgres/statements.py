"""The statements of one database transaction, sent with as few round trips as possible.

The first message contains BEGIN, settings, locks and the read of the user's row, and takes one round trip. Later
statements are sent in pipeline mode, in which only reads wait. The first message has no bound parameters, so its text
contains only digests, quoted literals and validated options.
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
    """A connection that closes itself after ``max_wait_s`` without an answer: a network can drop messages silently."""

    max_wait_s = math.inf
    is_session = False  # the server session is ours alone, without a pooler that may switch it
    begun = 0  # transactions begun so far
    timeline = ""  # see engine._timeline; after a failover it differs, and transaction ids may be reused

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
        """Prepare ``QUERIES``; call it again after a rollback, since psycopg then drops all prepared statements."""
        self.execute("; ".join(["DEALLOCATE ALL", *(query.prepare() for query in QUERIES)]), prepare=False)

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """Lift the timeouts for statements that rewrite whole tables; behind a pooler the server's timeout stays."""
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
    """Build the SET statements every transaction needs: ``local`` to one transaction, or for the whole session.

    Queries concern the rows of one user, so an index is right even if the table's statistics suggest a scan.
    """
    timeout_ms = int(options.statement_timeout_s * 1000)
    values = {
        "search_path": f"{options.schema_name}, pg_catalog",
        "statement_timeout": timeout_ms,
        "idle_in_transaction_session_timeout": timeout_ms + 1000,  # release the locks of a client that disappeared
        "jit": "off",
        "enable_seqscan": "off",
        "plan_cache_mode": "force_generic_plan",
    }
    return [f"SET {'LOCAL ' if local else ''}{name} = {value}" for name, value in values.items()]


def _scope_statements(scope: str) -> list[str]:
    everyone = "on" if scope == ALL_USERS else "off"
    return [f"SET LOCAL memscope.user_id = '{scope}'", f"SET LOCAL memscope.all_users = '{everyone}'"]


def begin(db: Database, options: PostgresOptions, how: str, scope: str) -> list[str]:
    """Build the statements that begin a transaction; discard plans at powers of two, since tables have grown."""
    db.begun += 1
    replanned = ["DISCARD PLANS"] * (db.begun & (db.begun - 1) == 0)
    return [how, *(replanned if db.is_session else settings(options, local=True)), *_scope_statements(scope)]


def send(db: Database, statements: Sequence[str]) -> list[list[Any]]:
    """Send statements as one message and return one list of rows per statement that yields rows."""
    cursor = db.execute("; ".join(statements), prepare=False)
    rows: list[list[Any]] = []
    while True:
        if cursor.description is not None:
            rows.append(cursor.fetchall())
        if not cursor.nextset():
            return rows


def read_at_once(db: Database, options: PostgresOptions, id: str, *calls: BoundQuery) -> list[list[Any]]:
    """Run queries about one user as a transaction in one message, and return the rows of each query."""
    with rolled_back(db):
        return send(db, [*begin(db, options, READ, id), *_statements(db, calls), "COMMIT"])


def _statements(db: Database, calls: Iterable[BoundQuery]) -> list[str]:
    return [call.statement(is_prepared=db.is_session) for call in calls]


class TransactionStatements:
    """A transaction that begins when its first statement is sent."""

    def __init__(self, db: Database, options: PostgresOptions, *, writing: bool, exclusive: bool) -> None:
        self._db, self._options, self.writing, self._exclusive = db, options, writing, exclusive
        self._scope: str | None = None  # users visible now: digests, or ALL_USERS; None before BEGIN
        self._stack = ExitStack()
        self._xid = ""  # transaction id, to ask the server later whether it was committed

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
        """Begin, and read the user's row and the vector spaces; None if the transaction has already begun."""
        if self._scope is not None:
            return None
        return self._begin(id, (LOCKED_USER if self.writing else USER).call(quoted(id)), SPACES.call())

    def start_together(self, asked: Mapping[str, Sequence[str]]) -> list[list[Any]]:
        """Begin, lock the users that are not locked elsewhere, and read their rows, known ids and the spaces."""
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
        """Send a statement; fetching rows from the cursor waits for the answer.

        Args:
            query: The statement.
            values: Its parameters.
            scope: Digests of the users whose rows it may see, ``ALL_USERS``, or None for tables without a user.
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
    """Roll back after an error, so that the connection can be reused."""
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):
            if db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                db.rollback()
                if db.is_session:
                    db.prepare_queries()
        raise
