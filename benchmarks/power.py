"""Simulate power cuts during the SQLite store's writes: which acknowledged turns survive on disk?

    python benchmarks/power.py --cuts 60                        needs apsw

SQLite runs on a simulated disk (an apsw VFS) with a write cache. At the cut each write since the last sync of its file
is randomly kept, lost, or torn at 512 bytes. ``lost`` counts acknowledged turns that are missing with
``synchronous=FULL``, the store's setting; ``lost_normal`` the same with NORMAL, which must lose some, or the simulation
proves nothing. Not modelled: disks that ignore syncs, lost directory entries.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import click

from memscope.errors import MemscopeError
from memscope.records import Select, TurnInsert
from memscope.stores.sqlite import SQLiteStore, files
from memscope_testing.records import turn

SECTOR = 512
MAX_WRITES = 400  # before a cut
CHECKPOINTS = (16, 64, 1000)  # pages in the WAL; the last is SQLite's default
USERS = 4


# ---- the disk


class Disk:
    """Synced files, and unsynced writes in the cache. The power fails after ``left`` operations."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.platter: dict[str, bytearray] = {}
        self.cache: dict[str, list[tuple[int, bytes | None]]] = {}

    @property
    def dead(self) -> bool:
        return self.left <= 0

    def open(self, name: str) -> None:
        if name not in self.platter:
            path = Path(name)
            self.platter[name] = bytearray(path.read_bytes() if path.exists() else b"")
            self.cache[name] = []

    def operate(self) -> None:
        self.left -= 1
        if self.dead:
            raise apsw.IOError("the power is gone")

    def write(self, name: str, data: bytes, offset: int) -> None:
        self.operate()
        self.cache[name].append((offset, bytes(data)))

    def cut(self, name: str, size: int) -> None:
        self.operate()
        self.cache[name].append((size, None))

    def sync(self, name: str) -> None:
        self.operate()
        for offset, data in self.cache[name]:
            put(self.platter[name], offset, data)
        self.cache[name] = []

    def delete(self, name: str) -> None:
        self.operate()
        self.platter.pop(name, None)
        self.cache.pop(name, None)

    def after_the_cut(self, chance: random.Random) -> Iterator[tuple[str, bytes]]:
        for name, platter in self.platter.items():
            for offset, data in self.cache[name]:
                for part_offset, part in torn(offset, data, chance):
                    put(platter, part_offset, part)
            yield name, bytes(platter)


def torn(offset: int, data: bytes | None, chance: random.Random) -> Iterable[tuple[int, bytes | None]]:
    """Randomly keep all of a write, nothing, or some of its sectors."""
    fate = chance.choice(["kept", "lost", "torn"])
    if fate == "kept":
        return [(offset, data)]
    if fate == "lost" or data is None:
        return []
    starts = range(0, len(data), SECTOR)
    return [(offset + at, data[at : at + SECTOR]) for at in starts if chance.random() < 0.5]


def put(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


class CachedFile(apsw.VFSFile):
    """A real file whose writes are recorded by the disk."""

    def __init__(self, inherit: str, name: Any, flags: list[int], disk: Disk) -> None:
        super().__init__(inherit, name, flags)
        self._disk = disk
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else name
        disk.open(self._name)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.write(self._name, data, offset)
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:
        self._disk.cut(self._name, size)
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:
        self._disk.sync(self._name)


class CachedDisk(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        self.disk, self.inherit = disk, ""
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return CachedFile(self.inherit, name, flags, self.disk)

    def xDelete(self, name: str, sync: bool) -> None:
        self.disk.delete(name)
        super().xDelete(name, sync)


# ---- SQLite on that disk


class Connection:
    """The part of ``sqlite3.Connection`` that the store uses, over apsw."""

    def __init__(self, path: Path, vfs: str, change: Callable[[str], str], checkpoint: int) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self._db, self._change = apsw.Connection(str(path), flags=flags, vfs=vfs), change
        self.execute("PRAGMA locking_mode = EXCLUSIVE")  # a Python VFS has no shared memory
        self.execute(f"PRAGMA wal_autocheckpoint = {checkpoint}")

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction

    def execute(self, statement: str, values: Any = ()) -> Any:
        try:
            return Cursor(self._db, self._db.execute(self._change(statement), values))
        except apsw.Error as error:
            raise as_sqlite3(error) from None

    def executemany(self, statement: str, rows: Any) -> Any:
        try:
            return Cursor(self._db, self._db.executemany(statement, rows))
        except apsw.Error as error:
            raise as_sqlite3(error) from None

    def close(self) -> None:
        with suppress(apsw.Error):
            self._db.close()


class Cursor:
    def __init__(self, db: apsw.Connection, cursor: Any) -> None:
        self.lastrowid, self.rowcount = db.last_insert_rowid(), db.changes()
        self.fetchone, self.fetchall, self.__iter = cursor.fetchone, cursor.fetchall, cursor

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__iter)


def as_sqlite3(error: apsw.Error) -> sqlite3.Error:
    made = sqlite3.OperationalError(str(error))
    made.sqlite_errorcode = getattr(error, "extendedresult", 0)
    return made


def on(vfs: str, change: Callable[[str], str], checkpoint: int) -> files.Connect:
    """Connect through the simulated disk for writing; read-only connections use the real file."""

    def connect(path: Path, mode: files.OpenMode) -> Any:
        return Connection(path, vfs, change, checkpoint) if mode == "rw" else files.connect(path, "immutable")

    return connect


# ---- one cut


async def say_until_dark(path: Path, connect: files.Connect) -> list[str]:
    """Add turns for several users until the power fails, and return the acknowledged ones."""
    store, said = SQLiteStore(path, connect=connect), []

    async def line(user: str) -> None:
        for number in range(10_000):
            key = f"{user}-{number}"
            await store.append(user, [TurnInsert(turn(key, f"words of {key}", user=user))])
            said.append(key)

    await asyncio.gather(*(line(f"user{number}") for number in range(USERS)), return_exceptions=True)
    with suppress(MemscopeError):
        await store.close()
    return said


async def stored(path: Path) -> set[str]:
    store = SQLiteStore(path)
    keys = {record.key for user in await store.users() async for page in store.scan(Select(user)) for record in page}
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return keys


def cut(template: Path, folder: Path, chance: random.Random, change: Callable[[str], str]) -> tuple[int, int, int]:
    """Return the number of lost acknowledged turns, of all acknowledged turns, and whether the file is damaged."""
    path = folder / "memory.db"
    shutil.copy(template, path)
    disk = Disk(chance.randrange(1, MAX_WRITES))
    name = f"disk-{chance.random()}"
    vfs = CachedDisk(name, disk)
    said = asyncio.run(say_until_dark(path, on(name, change, chance.choice(CHECKPOINTS))))
    vfs.unregister()
    for old in folder.iterdir():
        old.unlink()
    for name, content in disk.after_the_cut(chance):
        Path(name).write_bytes(content)
    try:
        keys = asyncio.run(stored(path))
    except (MemscopeError, AssertionError, sqlite3.Error):
        return len(said), len(said), 1
    return len(set(said) - keys), len(said), 0


def cuts(number: int, seed: int, change: Callable[[str], str]) -> dict[str, int]:
    lost = said = corrupt = 0
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template.db"
        store = SQLiteStore(template)
        asyncio.run(store.open())
        asyncio.run(store.close())
        for round in range(number):
            place = Path(folder) / str(round)
            place.mkdir()
            found = cut(template, place, random.Random(seed * 100_003 + round), change)
            lost, said, corrupt = lost + found[0], said + found[1], corrupt + found[2]
    return {"lost": lost, "acknowledged": said, "corrupt": corrupt}


def normal(statement: str) -> str:
    return statement.replace("synchronous = FULL", "synchronous = NORMAL")


@click.command()
@click.option("--cuts", "number", type=int, default=60)
@click.option("--seed", type=int, default=1)
def main(number: int, seed: int) -> None:
    begin = time.monotonic()
    full = cuts(number, seed, lambda statement: statement)
    if not full["acknowledged"]:
        raise SystemExit("nothing was acknowledged before a cut: nothing was measured")
    weak = {f"{name}_normal": count for name, count in cuts(number, seed, normal).items()}
    print(json.dumps({**full, **weak, "cuts": number, "seconds": round(time.monotonic() - begin, 1)}))


if __name__ == "__main__":
    main()
