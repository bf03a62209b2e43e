"""Transactions of one process: one connection per thread, group commit, and retries after a lost connection.

A task is a function of a transaction. It runs in a thread, in pipeline mode: statements are sent without waiting for
earlier answers, and only reads wait. Writes for a user wait while another write for this user runs, then share one
transaction. Waiting appends of several users share one too. If a shared transaction fails, each task runs again in its
own. An append whose user is locked by another process leaves the group and waits alone. If the connection is lost
before COMMIT was sent, the task is retried; after COMMIT, the server is asked whether the transaction was committed
(``pg_xact_status``). The outcome stays unknown if the server crashed or failed over meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import conninfo
from psycopg.types.numeric import Int8Dumper

from memscope.errors import ClosedError, StoreBusy
from memscope_postgres import schema
from memscope_postgres.arrays import Array, ArrayDumper
from memscope_postgres.failures import RETRIED_CODES, OutcomeUnknown, is_lost, outcome_unknown, typed
from memscope_postgres.options import PostgresOptions
from memscope_postgres.queries import BoundQuery
from memscope_postgres.statements import CommitUnknown, Database, read_at_once, settings
from memscope_postgres.transaction import Exclusive, PostgresTransaction

T = TypeVar("T")
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # errors are raised; do not print them as well
Task: TypeAlias = Callable[[PostgresTransaction], Any]
MAX_QUEUED_WRITES = 8192  # queued writes; more are refused
MAX_GROUP_WRITES = 256  # writes in one transaction
MAX_SHARED_TRANSACTIONS = 2  # concurrent transactions for several users: one computes, one syncs
USER_LOCKED = object()  # result of a write that was left out because another process has locked its user
MAX_PREPARED_STATEMENTS = 300  # prepared statements per connection
MAX_TASK_RETRIES = 10  # after a serialization failure or deadlock
NETWORK_SETTINGS = {  # of libpq; the last four detect a connection that the network dropped silently
    "connect_timeout": "5",
    "application_name": "memscope",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "20000",
}
RECONNECT_PAUSE_S = 0.05  # before the next attempt to connect; doubles each time
MAX_RECONNECT_PAUSE_S = 1.0


@dataclass(slots=True, eq=False)
class QueuedWrite:
    user: str
    task: Task
    asked: Sequence[str]  # for an append: ids that the task looks up; empty for any other write
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    @property
    def shares(self) -> bool:
        """True if its transaction may contain writes of other users."""
        return bool(self.asked)


class TransactionRunner:
    """Connections to one server, opened on demand."""

    def __init__(self, options: PostgresOptions, clock: Callable[[], datetime] | None) -> None:
        self.options, self.pid = options, os.getpid()
        self._clock, self._ahead = clock, timedelta(0)
        self._free: deque[Database] = deque()
        self._waiting: deque[QueuedWrite] = deque()
        self._busy: set[str] = set()  # users with a running write
        self._serving = self._sharing = 0  # writing threads; those of them with a shared transaction
        self._lock = threading.Lock()
        self._prepared = self._closed = False
        self._preparing = threading.Lock()
        self._threads = ThreadPoolExecutor(options.connections, thread_name_prefix="memscope-postgres")

    def now(self) -> datetime:
        """Estimate the server's time, by which all processes measure leases."""
        return self._clock() if self._clock is not None else datetime.now(UTC) + self._ahead

    # ---- for the event loop

    async def run(self, task: Callable[[Database], T]) -> T:
        """Run a function of a connection in a thread, outside any transaction."""
        if self._closed:
            raise ClosedError("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._attempt, task)

    async def read(self, task: Callable[[PostgresTransaction], T]) -> T:
        """Run the task on one snapshot of the database."""
        return await self.run(lambda db: PostgresTransaction.read(db, self.options, self.now(), task))

    async def read_at_once(self, id: str, *calls: BoundQuery) -> list[list[Any]]:
        """Run queries about one user in one message."""
        return await self.run(lambda db: read_at_once(db, self.options, id, *calls))

    async def write(self, task: Callable[[PostgresTransaction], T], user: str | None, asked: Sequence[str] = ()) -> T:
        """Run the task with its users locked; durable on return."""
        if user is None:
            return await self.run(lambda db: self._alone(db, task))
        if self._closed:
            raise ClosedError("the store is closed")
        request = QueuedWrite(user, task, asked, asyncio.get_running_loop().create_future())
        with self._lock:
            if len(self._waiting) >= MAX_QUEUED_WRITES:
                raise StoreBusy(f"{MAX_QUEUED_WRITES} writes are waiting", hint="add more in one call", retry_after=0.5)
            self._waiting.append(request)
            self._start_thread(request)
        result: T = await request.future
        return result

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        self._drop_free()

    # ---- writes in a thread

    def _start_thread(self, request: QueuedWrite) -> None:
        is_taken = request.user in self._busy or (request.shares and self._sharing == MAX_SHARED_TRANSACTIONS)
        if self._serving < self.options.connections and not is_taken:
            self._serving += 1
            self._threads.submit(self._serve)

    def _serve(self) -> None:
        """Run queued writes until none is left that this thread may take."""
        while group := self._take():
            try:
                self._run_group(group)
            except BaseException as error:
                for request in group:
                    request.error = request.error or error
            _answer(self._release(group))

    def _take(self) -> list[QueuedWrite]:
        """Take the next writes of one user without a running write, or appends of several such users."""
        with self._lock:
            group, left, passed = list[QueuedWrite](), deque[QueuedWrite](), set(self._busy)
            for request in self._waiting:
                fits = request.user not in passed and len(group) < MAX_GROUP_WRITES and self._fits(request, group)
                if fits:
                    group.append(request)
                else:
                    passed.add(request.user)
                    left.append(request)
            self._waiting = left
            self._busy |= {request.user for request in group}
            self._sharing += bool(group) and group[0].shares
            self._serving -= not group
            return group

    def _fits(self, request: QueuedWrite, group: Sequence[QueuedWrite]) -> bool:
        if not group:
            return not request.shares or self._sharing < MAX_SHARED_TRANSACTIONS
        return request.shares if group[0].shares else request.user == group[0].user

    def _release(self, group: Sequence[QueuedWrite]) -> list[QueuedWrite]:
        """Release the users, queue the ``USER_LOCKED`` writes again to run alone, and return the finished ones."""
        with self._lock:
            self._busy -= {request.user for request in group}
            self._sharing -= group[0].shares
            held = [request for request in group if request.result is USER_LOCKED]
            for request in held:
                request.asked, request.result = (), None
                self._waiting.append(request)
                self._start_thread(request)
        return [request for request in group if request not in held]

    def _run_group(self, group: Sequence[QueuedWrite]) -> None:
        """Run the group in one transaction; if that fails, each write in its own."""
        asked: dict[str, list[str]] = {}
        for request in group if group[0].shares else ():
            asked.setdefault(request.user, []).extend(request.asked)

        def task(tx: PostgresTransaction) -> list[Any]:
            return [one.task(tx) if not asked or tx.is_free(one.user) else USER_LOCKED for one in group]

        try:
            results = self._attempt(lambda db: self._alone(db, task, asked))
        except Exception as error:
            if len(group) == 1 or isinstance(error, OutcomeUnknown):  # any may be committed: do not run one again
                raise
            for request in group:
                try:
                    request.result = self._attempt(lambda db, one=request: self._alone(db, one.task))  # type: ignore[misc]
                except BaseException as one_error:
                    request.error = one_error
        else:
            for request, result in zip(group, results, strict=True):
                request.result = result

    def _alone(
        self, db: Database, task: Callable[[PostgresTransaction], T], asked: Mapping[str, Sequence[str]] | None = None
    ) -> T:
        try:
            return PostgresTransaction.write(db, self.options, self.now(), task, asked)
        except Exclusive:
            return PostgresTransaction.write(db, self.options, self.now(), task, exclusive=True)

    # ---- connections

    def _attempt(self, task: Callable[[Database], T]) -> T:
        """Run the task. Retry lost connections until the deadline, conflicts ``MAX_TASK_RETRIES`` times."""
        deadline, pause, retries = time.monotonic() + self.options.deadline_s, RECONNECT_PAUSE_S, 0
        unknown: CommitUnknown | None = None
        while True:
            db: Database | None = None
            try:
                db = self._take_connection()
                if unknown is not None and self._was_committed(db, unknown, deadline):
                    result: T = unknown.result
                    return result
                unknown = None
                return task(db)
            except CommitUnknown as error:
                unknown = error
                self._drop_free()
            except BaseException as error:
                if isinstance(error, psycopg.Error) and error.sqlstate in RETRIED_CODES and retries < MAX_TASK_RETRIES:
                    retries += 1
                    continue
                if not is_lost(error, db) or time.monotonic() > deadline:
                    raise self._typed(error, unknown) from None
                self._drop_free()  # idle connections were probably lost too
                time.sleep(pause)
                pause = min(2 * pause, MAX_RECONNECT_PAUSE_S)
            finally:
                self._put_back(db)

    def _typed(self, error: BaseException, unknown: CommitUnknown | None) -> BaseException:
        if unknown is None or not isinstance(error, psycopg.Error):
            return typed(error, self.options.address)
        return outcome_unknown(self.options.address)

    def _was_committed(self, db: Database, unknown: CommitUnknown, deadline: float) -> bool:
        """Ask the server whether a transaction was committed whose COMMIT was not answered.

        Raises:
            OutcomeUnknown: The server crashed or failed over, so the transaction id may have been reused.
        """
        if _timeline(db) != unknown.timeline:  # read it again: a pooler may have switched servers
            raise outcome_unknown(self.options.address)
        deadline = max(
            deadline, time.monotonic() + self.options.statement_timeout_s + 2
        )  # by then the server has cancelled it
        while True:
            row = db.execute("SELECT pg_xact_status(%s::xid8)", (unknown.xid,)).fetchone()
            if row is None or row[0] != "in progress":
                return row is not None and row[0] == "committed"
            if time.monotonic() > deadline:
                raise psycopg.OperationalError("the transaction does not end")
            time.sleep(RECONNECT_PAUSE_S)

    def _take_connection(self) -> Database:
        with suppress(IndexError):
            return self._free.pop()
        db = self._connect()
        try:
            with self._preparing:
                if not self._prepared:
                    schema.prepare(db, self.options.schema_name)
                    self._prepared = True
            if db.is_session:
                db.prepare_queries()
                db.prepare_threshold = 2
        except BaseException:
            db.close()
            raise
        return db

    def _put_back(self, db: Database | None) -> None:
        if db is None:
            return
        if db.closed or db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            db.close()
        else:
            self._free.append(db)

    def _connect(self) -> Database:
        client = {**NETWORK_SETTINGS, **self.options.client}
        db = Database.connect(conninfo.make_conninfo(**client), autocommit=True)
        db.max_wait_s = 2 * self.options.statement_timeout_s + 1  # a message may contain several statements
        db.adapters.register_dumper(Array, ArrayDumper)
        db.adapters.register_dumper(int, Int8Dumper)  # one integer type, so that one prepared statement fits
        db.prepare_threshold, db.prepared_max = None, MAX_PREPARED_STATEMENTS
        asked = datetime.now(UTC)
        row = db.execute("SELECT pg_backend_pid(), clock_timestamp()", prepare=False).fetchone()
        assert row is not None
        self._ahead = row[1] - (asked + (datetime.now(UTC) - asked) / 2)  # assume the server read its clock midway
        db.is_session = row[0] == db.info.backend_pid  # otherwise there is a pooler between
        if db.is_session:
            db.execute("; ".join(settings(self.options, local=False)))
        db.timeline = _timeline(db)
        return db

    def _drop_free(self) -> None:
        with suppress(IndexError):
            while True:
                self._free.pop().close()


def _timeline(db: Database) -> str:
    """Identify the server's history; the value changes after a failover or a crash.

    A crash may lose a transaction that was not on disk yet, and its id is then reused. It also changes the start time
    of the server or, if only one of its processes died, the reset time of its statistics. A standby or a hosted server
    may not reveal the timeline of its log.
    """
    begun = "pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_bgwriter)"
    for values in (f"left(pg_walfile_name(pg_current_wal_lsn()), 8), {begun}", begun):
        with suppress(psycopg.DatabaseError):
            return str(db.execute(f"SELECT concat_ws(' ', {values})", prepare=False).fetchall()[0][0])
    raise psycopg.OperationalError("the server does not tell its history")


def _answer(group: Sequence[QueuedWrite]) -> None:
    """Wake every caller's event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[QueuedWrite]] = {}
    for request in group:
        by_loop.setdefault(request.future.get_loop(), []).append(request)
    for loop, requests in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, so no caller waits
            loop.call_soon_threadsafe(_answer_all, requests)


def _answer_all(requests: Sequence[QueuedWrite]) -> None:
    for request in requests:
        if request.future.done():  # the caller gave up waiting
            continue
        if request.error is not None:
            request.future.set_exception(request.error)
        else:
            request.future.set_result(request.result)
