"""Restore a SQLite store from a backup, and recover the readable records of a damaged store into a new one.

No other process may have the files open.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from memscope import validation
from memscope.errors import InputError, MemscopeError, StoreBusy, StoreCorrupt, StoreFull
from memscope.records.serialization import to_json
from memscope.stores import checksummed
from memscope.stores.part_files import part_of
from memscope.stores.sqlite import SQLiteStore, files
from memscope.transfer import Progress, jsonl
from memscope_cli import page_reader
from memscope_cli.page_reader import RawRow, Value

T = TypeVar("T")
RowHandler: TypeAlias = "Callable[[RawRow, SalvagedRows, sqlite3.Connection], None]"

SALVAGED_FORMAT = 3  # export format of the intermediate file; from 4 on, a last line is required

# -------------------------------------------------------------------------------------------------------------- restore


async def restore(backup: str | Path, target: str | Path) -> Mapping[str, Any]:
    """Replace a store with a copy of a backup, atomically.

    The old file is deleted once the new one is in place; a damaged old file is kept under another name.

    Args:
        backup: a file written by ``memory.admin.backup``.
        target: the file of the store, which no process may have open, including this one.

    Returns:
        ``store``: the path; ``bytes``: its size; ``kept``: the new path of a damaged old file, or None; ``returned``:
        ids, by user, of records that were forgotten since the backup and are in the store again.

    Raises:
        InputError: a file does not exist, or both are the same.
        StoreCorrupt: the backup is damaged; ``StoreTooNew``: written by a newer memscope. Nothing is changed.
        StoreBusy: a process has the target open. Nothing is changed.
    """
    return await asyncio.to_thread(_restore, validation.path(backup), validation.path(target))


def _restore(backup: Path, target: Path) -> Mapping[str, Any]:
    backup, target = files.plain_path(backup), files.plain_path(target)
    files.check_place(target)
    if not backup.is_file():
        raise InputError(f"there is no file {str(backup)!r}")
    if target.exists() and backup.samefile(target):
        raise InputError("backup and store are the same file", hint="give another --store")
    new = part_of(target)
    try:
        _copy(backup, new)
        returned = _forgotten_since(new, target)
        old = _swap(new, target)
    finally:
        files.remove(new)
    return {
        "store": str(target), "bytes": target.stat().st_size, "kept": old and str(old), "returned": returned,
    }  # fmt: skip


def _copy(backup: Path, new: Path) -> None:
    """Check the backup, copy it, and check the copy."""
    try:
        files.probe(backup)
        with closing(files.open_reader(backup, files.connect)) as db:
            _check_whole(db, backup)
            db.execute("PRAGMA query_only = OFF")
            files.copy(db, new)
        with closing(files.open_reader(new, files.connect)) as db:
            _check_whole(db, new)
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        fault = files.typed(error, backup)
        raise files.typed(error, new.parent) if isinstance(fault, StoreFull) else fault from None


def _check_whole(db: sqlite3.Connection, path: Path) -> None:
    files.check(db, path)
    files.check_pages(db, path)


def _forgotten_since(new: Path, target: Path) -> dict[str, list[str]]:
    """List by user the ids in the backup that the store has forgotten; none if the store cannot be read."""
    try:
        if files.is_new(target):
            return {}
        files.probe(target)  # SQLite removes the WAL of an empty file
        with closing(files.open_reader(target, files.connect)) as db:
            forgotten = db.execute("SELECT name, id FROM tombstone JOIN users USING(user) ORDER BY name, id").fetchall()
    except (sqlite3.Error, UnicodeDecodeError, MemscopeError):  # damaged, or so old that it has no such table
        return {}
    returned: dict[str, list[str]] = {}
    query = "SELECT 1 FROM record JOIN users USING(user) WHERE users.name = ? AND id = ?"
    with closing(files.open_reader(new, files.connect)) as db:
        for user, id in forgotten:
            if db.execute(query, (user, id)).fetchone():
                returned.setdefault(user, []).append(id)
    return returned


def _swap(new: Path, target: Path) -> Path | None:
    """Replace the target. Return the new path of the old file if it was damaged, else None."""
    lock = files.FileLock(target)
    try:
        with lock.held():
            if files.is_new(target):
                os.replace(new, target)
                return None
            sound = _checkpoint(target)
            old = _free_name(target, "replaced" if sound else "damaged")
            _move(target, old)
            try:
                os.replace(new, target)
            except BaseException:
                _move(old, target)
                raise
            files.sync(target.parent)
    finally:
        lock.close()
    if sound:
        files.remove(old)
    return None if sound else old


def _checkpoint(target: Path) -> bool:
    """Merge the WAL into the file. Return False if the file is damaged; raise ``StoreBusy`` if it is open elsewhere."""
    try:
        files.probe(target)
        with closing(files.connect(target, "rw")) as db:
            db.execute("PRAGMA busy_timeout = 500")
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete":
                return True
            raise _in_use(target)
    except StoreCorrupt as error:
        if "another program" in str(error):
            raise
        return False
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if isinstance(files.typed(error, target), StoreCorrupt):
            return False
        raise _in_use(target) from None


def _in_use(target: Path) -> StoreBusy:
    return StoreBusy(
        f"{str(target)!r} is in use", hint="stop the processes that use it, then restore; nothing was changed"
    )


def _free_name(path: Path, what: str) -> Path:
    names = (path.with_name(f"{path.name}-{what}{number}") for number in ("", *map(str, range(2, 1000))))
    return next(name for name in names if not name.exists())


def _move(path: Path, to: Path) -> None:
    """Move a file together with its WAL."""
    for end in ("-wal", "-shm", "-journal", ""):
        with suppress(FileNotFoundError):
            os.replace(path.with_name(path.name + end), to.with_name(to.name + end))


# -------------------------------------------------------------------------------------------------------------- recover


async def recover(damaged: str | Path, target: str | Path, *, progress: Progress | None = None) -> Mapping[str, Any]:
    """Copy the readable records of a damaged store into a new one. Forgotten records stay forgotten.

    Args:
        damaged: the file of the store, which is only read.
        target: the file to create.
        progress: called with the number of processed records and the total, or None if that is unknown.

    Returns:
        Counts of saved records, of ``lost`` ones by the damaged file's own counters, and of ``unsure`` users, whose
        counters cannot be read.

    Raises:
        InputError: the damaged file does not exist, or the target does.
        StoreCorrupt: nothing can be read.
    """
    source, new, folder = await asyncio.to_thread(_check_paths, validation.path(damaged), validation.path(target))
    try:
        lines = Path(folder.name, "salvaged.jsonl")
        salvaged = await asyncio.to_thread(_salvage, source, lines)
        return await _import_rows(salvaged, lines, new, progress)
    finally:
        await asyncio.to_thread(folder.cleanup)


def _check_paths(damaged: Path, target: Path) -> tuple[Path, Path, tempfile.TemporaryDirectory[str]]:
    """Check both paths and create a temporary folder next to the target."""
    source = files.plain_path(damaged)
    if not source.is_file():
        raise InputError(f"there is no file {str(damaged)!r}")
    new = files.new_place(target)
    return source, new, tempfile.TemporaryDirectory(prefix="memscope-", dir=new.parent)


async def _import_rows(salvaged: SalvagedRows, lines: Path, new: Path, progress: Progress | None) -> Mapping[str, Any]:
    part = part_of(new)
    store = await asyncio.to_thread(_new_store, part)
    try:
        await store.open()
        limits = jsonl.UNLIMITED
        counts = await jsonl.import_(store, lines, user=None, strict=False, progress=progress, limits=limits)
        stats = await store.stats()
        await store.close()
        await asyncio.to_thread(_install, part, new)
    finally:
        await store.close()
        await asyncio.to_thread(_clear, part)
    saved = {"turns": stats.turns, "observations": stats.observations, "insights": stats.insights}
    lost = {kind: max(0, salvaged.expected[kind] - number) for kind, number in saved.items()}
    return {
        "store": str(new),
        **saved,
        "lost": lost,
        "unsure": len(salvaged.users.keys() - salvaged.counted),
        "unreadable_rows": salvaged.broken + counts.get("broken", 0),
        "secret": salvaged.secret is not None,
    }


def _new_store(part: Path) -> SQLiteStore:
    _clear(part)
    return SQLiteStore(part)


def _clear(part: Path) -> None:
    files.remove(part)
    part.with_name(part.name + "-lock").unlink(missing_ok=True)


def _install(part: Path, target: Path) -> None:
    os.replace(part, target)
    files.sync(target.parent)


@dataclass
class SalvagedRows:
    """State collected from salvaged rows: user names by row id, expected counts, the secret of the turn keys."""

    users: dict[int, str] = field(default_factory=dict)
    counted: set[int] = field(default_factory=set)
    expected: Counter[str] = field(default_factory=Counter)
    secret: bytes | None = None
    broken: int = 0


SPOOL_TABLES = """
CREATE TABLE record(kind, user, number, body, PRIMARY KEY(kind, user, number)) WITHOUT ROWID;
CREATE TABLE history(user, number, version, body, PRIMARY KEY(user, number, version)) WITHOUT ROWID;
CREATE TABLE tombstone(user, id, PRIMARY KEY(user, id)) WITHOUT ROWID;
CREATE TABLE receipt(user, id, body, PRIMARY KEY(user, id)) WITHOUT ROWID;
CREATE TABLE item(user, stage, number, PRIMARY KEY(user, stage, number)) WITHOUT ROWID;
CREATE TABLE block(user, agent, label, version, body, PRIMARY KEY(user, agent, label, version)) WITHOUT ROWID;
"""


def _salvage(source: Path, lines: Path) -> SalvagedRows:
    """Collect the readable rows in a temporary database, then write them in order as lines of an export."""
    with closing(sqlite3.connect("", isolation_level=None)) as spool, page_reader.opened(source) as pages:
        spool.executescript(SPOOL_TABLES + "BEGIN;")
        salvaged = SalvagedRows()
        for row in pages.rows():
            _dispatch(row, salvaged, spool)
        salvaged.broken += pages.broken
        with open(os.open(lines, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            for line in _export_lines(salvaged, spool):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return salvaged


def _dispatch(row: RawRow, salvaged: SalvagedRows, spool: sqlite3.Connection) -> None:
    """Recognize the table of a row (``schema.TABLES``) by the types of its values, and drop rows of other tables."""
    for shape, handle in ROW_SHAPES:
        if len(row.values) == len(shape) and all(map(isinstance, row.values, shape)):
            handle(row, salvaged, spool)


def _collect_user(row: RawRow, salvaged: SalvagedRows, spool: sqlite3.Connection) -> None:
    if row.rowid is None:
        return
    _, name, _, _, _, _, turns, observations, insights, _ = row.values
    salvaged.users[row.rowid] = str(name)
    salvaged.counted.add(row.rowid)
    for kind, number in zip(("turns", "observations", "insights"), (turns, observations, insights), strict=True):
        salvaged.expected[kind] += number if isinstance(number, int) else 0


def _collect_record(row: RawRow, salvaged: SalvagedRows, spool: sqlite3.Connection) -> None:
    user, number, kind, body = row.values[0], row.values[1], row.values[2], row.values[-1]
    if (record := _decoded(checksummed.decode, body, salvaged)) is not None:
        salvaged.users.setdefault(int(str(user)), record.scope.user)
        spool.execute("INSERT OR IGNORE INTO record VALUES (?, ?, ?, ?)", (kind, user, number, body))


def _decoded(decode: Callable[[str], T], body: Value, salvaged: SalvagedRows) -> T | None:
    """Decode a body. If its checksum does not match, count it as broken and return None."""
    try:
        return decode(str(body))
    except MemscopeError:
        salvaged.broken += 1
        return None


def _collect_block(row: RawRow, salvaged: SalvagedRows, spool: sqlite3.Connection) -> None:
    user, agent, label, version, _, body = row.values
    if (block := _decoded(checksummed.decode_block, body, salvaged)) is not None:
        salvaged.users.setdefault(int(str(user)), block.scope.user)
        spool.execute("INSERT OR IGNORE INTO block VALUES (?, ?, ?, ?, ?)", (user, agent, label, version, body))


def _row_copier(table: str, columns: int, decode: Callable[[str], object] | None = None) -> RowHandler:
    """Make a function that copies rows whose last value can be decoded or, without ``decode``, that have no rowid."""
    insert = f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * columns)})"

    def handle(row: RawRow, salvaged: SalvagedRows, spool: sqlite3.Connection) -> None:
        sound = _decoded(decode, row.values[-1], salvaged) is not None if decode else row.rowid is None
        if sound:
            spool.execute(insert, row.values[:columns])

    return handle


def _collect_secret(row: RawRow, salvaged: SalvagedRows, spool: sqlite3.Connection) -> None:
    if row.values[0] == "secret" and isinstance(row.values[1], bytes):
        salvaged.secret = row.values[1]


ROW_SHAPES: tuple[tuple[tuple[type, ...], RowHandler], ...] = (
    ((int, int, int, str, *[object] * 14, str), _collect_record),
    ((object, str, str, int, int, int, int, int, int, int), _collect_user),
    ((int, int, int, str), _row_copier("history", 4, checksummed.decode)),
    ((int, str, str, int, int, str), _collect_block),
    ((int, str, str), _row_copier("receipt", 3, checksummed.decode_receipt)),
    ((int, str), _row_copier("tombstone", 2)),
    ((int, str, int, object), _row_copier("item", 3)),
    ((str, bytes), _collect_secret),
)


def _export_lines(salvaged: SalvagedRows, spool: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Yield the lines of the export, tombstones first, so that forgotten records are not imported."""
    yield {"memscope": SALVAGED_FORMAT, "secret": (salvaged.secret or os.urandom(32)).hex()}
    for user, id in spool.execute("SELECT user, id FROM tombstone ORDER BY user, id"):
        if user in salvaged.users:
            yield {"forgotten": id, "user": salvaged.users[user]}
    for (body,) in spool.execute("SELECT body FROM receipt ORDER BY user, id"):
        yield {"receipt": to_json(checksummed.decode_receipt(body))}
    for kind, user, number, body in spool.execute("SELECT kind, user, number, body FROM record ORDER BY 1, 2, 3"):
        yield _record_line(spool, jsonl.LINE_KINDS[kind], user, number, body)
    for user, agent, label in spool.execute("SELECT DISTINCT user, agent, label FROM block ORDER BY 1, 2, 3"):
        yield _block_line(spool, user, agent, label)


def _block_line(spool: sqlite3.Connection, user: int, agent: str, label: str) -> dict[str, Any]:
    """Renumber the readable versions of a block, since some may be lost."""
    query = "SELECT body FROM block WHERE user = ? AND agent = ? AND label = ? ORDER BY version"
    bodies = [body for (body,) in spool.execute(query, (user, agent, label))]
    blocks = [replace(checksummed.decode_block(body), version=number) for number, body in enumerate(bodies, 1)]
    *older, last = map(to_json, blocks)
    return {"block": last, "versions": older}


def _record_line(spool: sqlite3.Connection, kind: str, user: int, number: int, body: str) -> dict[str, Any]:
    stage = jsonl.STAGE_OF_KIND.get(kind)
    pending = spool.execute("SELECT 1 FROM item WHERE user = ? AND stage = ? AND number = ?", (user, stage, number))
    line: dict[str, Any] = {kind: to_json(checksummed.decode(body)), "pending": pending.fetchone() is not None}
    query = "SELECT body FROM history WHERE user = ? AND number = ? ORDER BY version"
    if versions := [to_json(checksummed.decode(old)) for (old,) in spool.execute(query, (user, number))]:
        line["versions"] = versions
    return line
