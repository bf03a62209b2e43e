"""The file of the SQLite store: path, lock, checks, connections, and typed errors for SQLite's."""

from __future__ import annotations

import glob
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias
from weakref import WeakSet

from memscope.errors import (
    ConfigError,
    InputError,
    MemscopeError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
    StoreUnavailable,
)
from memscope.shared_file import held, open_lock
from memscope.shared_file import sync as sync
from memscope.stores import held_files
from memscope.stores.part_files import part_of
from memscope.stores.sqlite import schema

log = logging.getLogger("memscope")

OpenMode: TypeAlias = Literal["rw", "rwc", "ro", "immutable"]
Connect: TypeAlias = Callable[[Path, OpenMode], sqlite3.Connection]

MAGIC = b"SQLite format 3\0"
BUSY_S = 10.0
MAX_CHECKED_BYTES = 32 * 1024 * 1024  # larger files are not checked page by page when opened
OLDEST_SQLITE = (3, 35)


def connect(path: Path, mode: OpenMode) -> sqlite3.Connection:
    """Open a connection; replaceable, so that tests can use another file system."""
    query = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    return sqlite3.connect(
        f"{path.as_uri()}?{query}", uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_S
    )


def prepare(db: sqlite3.Connection, *, write: bool) -> sqlite3.Connection:
    """Set the options of every connection; the file is never memory-mapped."""
    settings = ["mmap_size = 0", "temp_store = MEMORY", "secure_delete = ON", "cache_size = -16384"]
    if write:
        settings += ["journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"]
    else:
        settings += ["query_only = ON"]
    for setting in settings:
        db.execute(f"PRAGMA {setting}").fetchall()
    return db


# ---- errors

# SQLITE_ERROR (no such column) and SQLITE_CONSTRAINT (duplicate key) occur only with foreign or damaged tables.
_DAMAGED = frozenset({
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
})  # fmt: skip
_FULL_CODES = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_TRUNCATE})


def typed(error: BaseException, path: Path) -> BaseException:
    """Convert an error of SQLite to one of memscope."""
    if isinstance(error, UnicodeEncodeError):
        return InputError("text is not valid Unicode (a lone surrogate)", hint="replace it by U+FFFD")
    if isinstance(error, UnicodeDecodeError):  # its message quotes content
        return corrupt(path)
    if isinstance(error, MemscopeError) or not isinstance(error, sqlite3.Error | OSError):
        return error
    code = getattr(error, "sqlite_errorcode", 0)
    if "decode to UTF-8" in str(error):
        return corrupt(path, "text is not valid UTF-8")
    typed_error = _typed(code, path, str(error))
    typed_error.__cause__ = error
    return typed_error


def _typed(code: int, path: Path, detail: str) -> StoreError:
    base, name = code & 0xFF, f"{str(path)!r}"
    if base == sqlite3.SQLITE_FULL or code in _FULL_CODES:
        hint = "make room and try again; nothing was half written"
        return StoreFull(f"no room left for {name}", hint=hint, detail=detail)
    if base in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{name} is locked by another program", hint="try again", detail=detail, retry_after=1.0)
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return gone(path)
    if base in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return read_only(path)
    if base in _DAMAGED:
        return corrupt(path, detail)
    return StoreUnavailable(f"{name} cannot be read or written", hint="see its disk and its permissions", detail=detail)


def corrupt(path: Path, detail: str = "") -> StoreCorrupt:
    hint = "nothing was changed; restore a backup, or save what is readable with 'memscope recover'"
    return StoreCorrupt(f"{str(path)!r} is damaged", hint=hint, detail=detail)


def read_only(path: Path) -> StoreReadOnly:
    hint = "reading works; give write permission on file and folder"
    return StoreReadOnly(f"{str(path)!r} cannot be written", hint=hint)


def gone(path: Path) -> StoreGone:
    hint = "the next call opens what is there now"
    return StoreGone(f"{str(path)!r} was removed or replaced while it was open", hint=hint)


# ---- lock


class FileLock:
    """Lock between processes, held for every write and checkpoint.

    SQLite before 3.51.3 can corrupt a WAL file when one connection checkpoints while another resets the WAL
    (sqlite.org/wal.html#walresetbug); this lock keeps them apart. The lock file is never removed: two processes could
    then lock two different files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + "-lock")
        self._file: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        if self._file is None:
            self._file = open_lock(self.path)
        with held(self._file, self.path), in_sqlite.lock:
            yield

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


# SQLite has locks of its own that all connections of a process share. A child forked while another thread held one
# would wait for it forever, so a fork waits until no thread is inside SQLite.

_forking = threading.Lock()
_thread_locks: WeakSet[threading.RLock] = WeakSet()
_paused: list[threading.RLock] = []


class _InSQLite(threading.local):
    """``lock`` is the calling thread's own. It is held while the thread is inside SQLite; only a fork waits for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        with _forking:
            _thread_locks.add(self.lock)


in_sqlite = _InSQLite()


def _pause() -> None:
    _forking.acquire()
    for lock in list(_thread_locks):
        lock.acquire()
        _paused.append(lock)


def _go_on() -> None:
    while _paused:
        _paused.pop().release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_pause, after_in_parent=_go_on, after_in_child=_go_on)


# ---- bytes of the file


@contextmanager
def reading(path: Path) -> Iterator[Callable[[int, int], bytes]]:
    """Yield a function that reads so many bytes from an offset on. It leaves SQLite's locks alone."""
    held = held_files.held_file(path) if held_files.IS_POSIX else None
    descriptor = held.descriptors[0] if held else held_files.open_bytes(path)
    try:
        yield partial(os.pread if held_files.IS_POSIX else _seek_and_read, descriptor)
    finally:
        if held is None:
            os.close(descriptor)


def _seek_and_read(descriptor: int, size: int, offset: int) -> bytes:  # pragma: no cover
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


# ---- open


def plain_path(path: object) -> Path:
    """Resolve links, so that a file has one lock and one WAL; ``file:`` and ``:memory:`` are plain names."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigError(f"not a path of a file: {text!r}", hint="give the path of a file")
    place = Path(os.path.realpath(os.path.expanduser(text)))
    if not place.name:  # the root, beside which no lock can be
        check_place(place)
    return place


def check_place(path: Path) -> None:
    if path.is_dir():
        raise ConfigError(f"{str(path)!r} is a folder", hint="give the path of a file")
    if not path.parent.is_dir():
        raise ConfigError(f"the folder {str(path.parent)!r} does not exist", hint="create it, or choose another path")
    if path.is_symlink() or (path.exists() and not path.is_file()):  # an unresolved link is broken
        raise ConfigError(f"{str(path)!r} is not a regular file", hint="give the path of a file")


def new_place(path: object) -> Path:
    """Check and return the path of a file to create."""
    target = plain_path(path)
    check_place(target)
    if target.exists():
        raise InputError(f"{str(target)!r} exists", hint="choose a new name")
    return target


def create(path: Path, connect: Connect) -> None:
    """Create a new store atomically: readers see no file, or a complete one. Call it under the lock."""
    new = path.with_name(path.name + "-new")
    remove(new)
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(connect(new, "rw")) as db:
            schema.create(db)
        sync(new)
        remove(path)  # SQLite would take a leftover WAL for the new file's
        os.replace(new, path)
    except BaseException:
        remove(new)
        raise
    sync(path.parent)


def is_new(path: Path) -> bool:
    """Return whether a store may be created here; an empty file beside a non-empty WAL is a damaged store."""
    return not path.exists() or (path.stat().st_size == 0 and not wal_bytes(path))


def wal_bytes(path: Path) -> int:
    wal = path.with_name(path.name + "-wal")
    return wal.stat().st_size if wal.exists() else 0


def probe(path: Path) -> None:
    """Refuse a foreign, damaged or newer file by its header, before SQLite touches it."""
    with reading(path) as read:
        head = read(100, 0)
    if not head and wal_bytes(path):
        raise corrupt(path, "an empty file beside a non-empty WAL")
    if len(head) < 100 or head[:16] != MAGIC:
        raise StoreCorrupt(f"{str(path)!r} is not a memscope store", hint="nothing was changed; choose another path")
    if int.from_bytes(head[68:72], "big") != schema.APPLICATION_ID:
        raise StoreCorrupt(f"{str(path)!r} belongs to another program", hint="nothing was changed; choose another path")
    schema.refuse_newer(int.from_bytes(head[60:64], "big"), path)


def check(db: sqlite3.Connection, path: Path) -> None:
    """Check every page of a small file, of a large one only its structure and length."""
    schema.refuse_newer(schema.version(db), path)
    if file_bytes(db) <= MAX_CHECKED_BYTES:
        check_pages(db, path)
    db.execute("SELECT count(*) FROM meta").fetchone()


def file_bytes(db: sqlite3.Connection) -> int:
    """Return the length of the file after a checkpoint."""
    (pages,), (size,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return int(pages * size)


def check_pages(db: sqlite3.Connection, path: Path) -> None:
    """Check every page with ``quick_check``; use a new connection, since pages read before are cached."""
    report = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if report != "ok":
        raise corrupt(path, report)


def open_reader(path: Path, connect: Connect) -> sqlite3.Connection:
    """Open a connection that never writes or checkpoints; in a read-only folder it reads the file without its WAL."""
    try:
        return _opened(path, "ro", connect)
    except sqlite3.OperationalError as error:
        unreadable = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
        if os.access(path.parent, os.W_OK) or getattr(error, "sqlite_errorcode", 0) & 0xFF not in unreadable:
            raise
    if wal_bytes(path):
        log.warning("store %s: its folder cannot be written, so the latest changes cannot be read", path)
    return _opened(path, "immutable", connect)


def _opened(path: Path, mode: OpenMode, connect: Connect) -> sqlite3.Connection:
    db = connect(path, mode)
    try:
        prepare(db, write=False)
        db.execute("SELECT 1 FROM meta").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


# ---- copies


def copy(db: sqlite3.Connection, target: Path) -> None:
    """Write a consistent copy while others write, atomically, mode 0600."""
    part = part_of(target)
    remove(part)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        db.execute("VACUUM INTO ?", (str(part),))
        sync(part)
        os.replace(part, target)
        sync(target.parent)
    finally:
        remove(part)


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Upgrade an older file after copying it. Call it under the lock."""
    stored = schema.version(db)
    if stored < schema.SCHEMA_VERSION:
        copy(db, path.with_name(f"{path.name}-before-{schema.SCHEMA_VERSION}"))
        schema.upgrade(db)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def drop_copies(path: Path) -> None:
    """Remove the copies that ``migrate`` made: forgotten records must not survive in them."""
    for old in path.parent.glob(f"{glob.escape(path.name)}-before-*"):
        remove(old)


def remove(path: Path) -> None:
    for name in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal", "-reserve"))):
        with suppress(FileNotFoundError):
            name.unlink()
