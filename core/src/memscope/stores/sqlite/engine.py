"""One process's access to one file: a writer thread for all callers, and connections that read.

A write is a function of the connection. The writer thread takes all waiting writes, runs each in its own savepoint
inside one transaction, commits once, and only then answers: a thousand callers share one disk sync. A failing function
affects no other write; if the commit fails, all of them fail.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from memscope.errors import ClosedError, StoreBusy, StoreFull
from memscope.stores import held_files, part_files
from memscope.stores.sqlite import files
from memscope.stores.sqlite.files import Connect, FileLock, in_sqlite
from memscope.stores.sqlite.reserve import Reserve

T = TypeVar("T")
MAX_WAITING_WRITES = 8192  # queued writes; more are refused
MAX_WRITES_PER_COMMIT = 1024  # writes per transaction
READER_CONNECTIONS = 4
CHECKPOINT_PAGES = 1000  # WAL length that triggers a checkpoint; SQLite's default


@dataclass(slots=True, eq=False)
class WriteRequest:
    """A waiting write. ``alone``: outside any transaction (a checkpoint); ``last_room``: may take the reserve."""

    task: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]
    alone: bool
    last_room: bool
    result: Any = None
    error: BaseException | None = None

    @property
    def shares(self) -> bool:
        """True if other writes may join its transaction."""
        return not (self.alone or self.last_room)


class Engine:
    """Open or create a file; raise typed store errors and leave a refused file unchanged."""

    def __init__(self, path: Path, connect: Connect) -> None:
        self.path = path
        self.pid = os.getpid()
        self._connect = connect
        self._lock, self._reserve = FileLock(path), Reserve(path)
        self._file: held_files.HeldFile | None = None
        self._writer: sqlite3.Connection | None = None
        self._free: deque[sqlite3.Connection] = deque()
        self._brief: deque[sqlite3.Connection] = deque()
        self._waiting: deque[WriteRequest] = deque()
        self._wake = threading.Condition()
        self._closed = False
        try:
            self._with_room(self._open, self._reserve.release)
        except BaseException as error:
            self._release()
            raise files.typed(error, path) from None
        self._readers = ThreadPoolExecutor(READER_CONNECTIONS, thread_name_prefix="memscope-read")
        self._thread = threading.Thread(target=self._serve, name="memscope-write", daemon=True)
        self._thread.start()

    @property
    def read_only(self) -> bool:
        return self._writer is None

    def _open(self) -> None:
        files.check_place(self.path)
        if files.is_new(self.path):
            with self._lock.held():
                if files.is_new(self.path):
                    files.create(self.path, self._connect)
        self._file = self._file or held_files.hold(self.path)
        files.probe(self.path)
        stat = self.path.stat()  # before opening, so that a replacement in between is noticed
        self._place, self._length = (stat.st_dev, stat.st_ino), 0
        with in_sqlite.lock:
            reader = files.open_reader(self.path, self._connect)
            try:
                files.check(reader, self.path)
            except BaseException:
                reader.close()
                raise
        self._free.append(reader)
        if files.writable(self.path):
            with self._lock.held():
                self._writer = files.prepare(self._connect(self.path, "rw"), write=True)
                files.migrate(self._writer, self.path)
                self._reserve.keep()
            files.drop_copies(self.path)
            part_files.sweep(part_files.old(self.path.parent))

    # ---- writing

    async def write(
        self, task: Callable[[sqlite3.Connection], T], *, alone: bool = False, last_room: bool = False
    ) -> T:
        """Run the task in the writer thread, atomically; durable on return."""
        self._writing()  # refuses to write a read-only file
        if len(self._waiting) >= MAX_WAITING_WRITES:
            hint = "add more in one call, or wait"
            raise StoreBusy(f"{MAX_WAITING_WRITES} writes are waiting", hint=hint, retry_after=0.5)
        request = WriteRequest(task, asyncio.get_running_loop().create_future(), alone, last_room)
        with self._wake:
            if self._closed:
                raise ClosedError("the store is closed")
            self._waiting.append(request)
            self._wake.notify()
        result: T = await request.future
        return result

    def _serve(self) -> None:
        while group := self._take():
            try:
                with self._lock.held():
                    self._check_here()
                    self._run(group)
            except BaseException as error:
                self._fail(group, error)
            _answer(group)

    def _take(self) -> list[WriteRequest]:
        """Wait for writes that can share a transaction; return none once closed and drained."""
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._closed)
            group = [self._waiting.popleft()] if self._waiting else []
            while group and group[0].shares and self._waiting and self._waiting[0].shares:
                if len(group) == MAX_WRITES_PER_COMMIT:
                    break
                group.append(self._waiting.popleft())
            return group

    def _run(self, group: list[WriteRequest]) -> None:
        """Run the writes; on a full disk retry after a checkpoint, ``last_room`` also after freeing the reserve."""
        if group[0].shares:
            self._with_room(lambda: self._once(group), self._fold)
            self._reserve.grow()
            return
        try:
            self._with_room(lambda: self._once(group), self._fold, self._give_up_reserve)
        finally:  # refill the reserve before other programs take its room
            self._reserve.keep()
            self._checkpoint_every(CHECKPOINT_PAGES)

    def _give_up_reserve(self) -> None:
        self._checkpoint_every(0)  # a checkpoint at commit would grow the file into the freed room
        self._reserve.release()

    def _checkpoint_every(self, pages: int) -> None:
        self._writing().execute(f"PRAGMA wal_autocheckpoint = {pages}")

    def _once(self, group: list[WriteRequest]) -> None:
        if group[0].alone:
            group[0].result = group[0].task(self._writing())
            self._length = self.path.stat().st_size
        else:
            self._together(group)
            self._check_here()

    def _with_room(self, task: Callable[[], None], *ways: Callable[[], object]) -> None:
        """Run the task; while the disk is full, try the next of the ``ways`` to make room and retry."""
        for make_room in ways:
            try:
                return task()
            except (sqlite3.Error, OSError) as error:
                if not isinstance(files.typed(error, self.path), StoreFull):
                    raise
                self._rollback()
                make_room()
        task()

    def _fold(self) -> None:
        with suppress(sqlite3.Error):  # a full disk: the file may have to grow
            self._writing().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _together(self, group: list[WriteRequest]) -> None:
        db = self._writing()
        db.execute("BEGIN IMMEDIATE")
        for request in group:
            request.error = None
            db.execute("SAVEPOINT request")
            try:
                request.result = request.task(db)
            except BaseException as error:
                if not db.in_transaction:  # SQLite rolled back the whole transaction: the disk is full
                    raise
                db.execute("ROLLBACK TO request")
                request.error = files.typed(error, self.path)
            db.execute("RELEASE request")
        db.execute("COMMIT")

    def _fail(self, group: Iterable[WriteRequest], error: BaseException) -> None:
        with suppress(Exception):
            self._rollback()
        typed_error = files.typed(error, self.path)
        for request in group:
            request.error = request.error or typed_error

    def _rollback(self) -> None:
        if self._writer is not None and self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def _writing(self) -> sqlite3.Connection:
        if self._writer is None:
            raise files.read_only(self.path)
        return self._writer

    # ---- reading

    async def read(self, task: Callable[[sqlite3.Connection], T], *, brief: bool = False) -> T:
        """Run the task in a thread, in one transaction that sees one snapshot of the file.

        A ``brief`` task, which reads a few rows, runs in the caller's thread first: switching threads costs several
        times as much. Its connections never wait for a lock. If it fails (the file is busy, or BlockBuster
        forbids blocking calls), it runs again in a thread, which raises the error if it persists.
        """
        if self._closed:
            raise ClosedError("the store is closed")
        if brief and self._brief:
            with suppress(Exception):
                return self._read(task, self._brief, inline=True)
        free = self._brief if brief and not self._brief else self._free
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, task, free)

    def _read(
        self, task: Callable[[sqlite3.Connection], T], free: deque[sqlite3.Connection], *, inline: bool = False
    ) -> T:
        try:
            with in_sqlite.lock:
                self._check_here(inline=inline)
                db = free.popleft() if free else self._open_reader(waits=free is self._free)
                try:
                    db.execute("BEGIN")
                    result = task(db)
                finally:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    free.append(db)
                return result
        except BaseException as error:
            raise files.typed(error, self.path) from None

    def _open_reader(self, *, waits: bool) -> sqlite3.Connection:
        db = files.open_reader(self.path, self._connect)
        if not waits:
            db.execute("PRAGMA busy_timeout = 0")
        return db

    async def copy(self, target: Path) -> None:
        def task() -> None:
            try:
                with in_sqlite.lock, closing(files.open_reader(self.path, self._connect)) as db:
                    db.execute("PRAGMA query_only = OFF")
                    files.copy(db, target)
            except BaseException as error:
                raise files.typed(error, target) from None

        await asyncio.get_running_loop().run_in_executor(self._readers, task)

    # ---- the file

    def _check_here(self, *, inline: bool = False) -> None:
        """Raise ``StoreGone`` if the open file was removed or replaced; check all pages if it was truncated.

        ``inline`` (in an event loop's thread) raises ``StoreBusy`` instead of reading the whole file.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            raise files.gone(self.path) from None
        if (stat.st_dev, stat.st_ino) != self._place:
            raise files.gone(self.path)
        if stat.st_size < self._length:  # cut, or rebuilt by another process
            if inline:
                raise StoreBusy("the file is to be checked in a thread")
            with closing(files.open_reader(self.path, self._connect)) as db:
                files.check_pages(db, self.path)
        self._length = stat.st_size

    def close(self) -> None:
        """Finish waiting writes; then the last connection folds the WAL into the file."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()
        self._readers.shutdown(wait=True)
        with in_sqlite.lock:
            for db in (*self._free, *self._brief):
                db.close()
        if self._writer is not None:
            with suppress(sqlite3.Error, StoreBusy, OSError), self._lock.held():
                self._writer.close()
                self._reserve.keep()
        self._release()
        self._lock.close()

    def _release(self) -> None:
        if self._file is not None:
            held_files.release(self._file)
            self._file = None


def _answer(group: Iterable[WriteRequest]) -> None:
    """Wake every caller's event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[WriteRequest]] = {}
    for request in group:
        by_loop.setdefault(request.future.get_loop(), []).append(request)
    for loop, requests in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, so no caller waits
            loop.call_soon_threadsafe(_answer_all, requests)


def _answer_all(requests: list[WriteRequest]) -> None:
    for request in requests:
        if request.future.done():  # the caller gave up waiting
            continue
        if request.error is not None:
            request.future.set_exception(request.error)
        else:
            request.future.set_result(request.result)
