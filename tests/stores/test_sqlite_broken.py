"""The file of an open store is cut, rebuilt or damaged, and its disk is full."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from memscope.errors import MemscopeError, StoreCorrupt
from memscope.records import ChangeSet, Select, VectorSpace
from memscope.stores.sqlite import files
from memscope_testing.records import ids, inserts
from stores.sqlite_file import made, needs_posix, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


async def test_a_file_that_is_cut_while_open_acknowledges_nothing_more(path: Path) -> None:
    async with opened(await made(path, *(f"k{n}" for n in range(300)))) as store:
        await store.append("alice", inserts("before"))
        os.truncate(path, path.stat().st_size // 2)
        for n in range(3):
            with pytest.raises(StoreCorrupt):
                await store.append("alice", inserts(f"after-{n}"))
        with pytest.raises(StoreCorrupt):
            await store.fetch("alice", ["before"])


async def test_a_file_that_another_process_rebuilt_smaller_is_no_cut_one(path: Path) -> None:
    async with opened(await made(path, *(f"k{n}" for n in range(300)))) as store:
        size = path.stat().st_size
        async with opened(path) as other:
            await other.forget(Select("alice", ids=frozenset(f"k{n}" for n in range(290))))
            assert (await other.compact()).physical == "wiped"
        assert path.stat().st_size < size
        assert len(await ids(store)) == 10
        await store.append("alice", inserts("after"))


async def test_a_file_that_became_smaller_is_checked_in_a_thread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    check = files.check_pages

    def checked(db: sqlite3.Connection, at: Path) -> None:
        threads.append(threading.get_ident())
        check(db, at)

    async with opened(await made(path, *(f"k{n}" for n in range(300)))) as store:
        await store.fetch("alice", ["k1"])  # from now on such a read is in the caller's thread
        async with opened(path) as other:
            await other.forget(Select("alice", ids=frozenset(f"k{n}" for n in range(290))))
            await other.compact()
        monkeypatch.setattr(files, "check_pages", checked)
        assert (await store.fetch("alice", ["k295"])).records
    assert threads and threading.get_ident() not in threads


async def test_bits_flipped_under_an_open_store_are_typed_errors(path: Path, tmp_path: Path) -> None:
    base = await made(tmp_path / "base.db", *(f"k{n}" for n in range(60)))
    chance, refused = random.Random(5), 0
    for round in range(30):
        shutil.copy(base, path)
        async with opened(path) as store:
            await store.append("alice", inserts(f"new-{round}"))
            data = bytearray(path.read_bytes())
            for _ in range(chance.choice([8, 64, 400])):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            with path.open("r+b") as file:
                file.write(data)
            for call in (
                lambda: ids(store),
                lambda: store.append("alice", inserts("after")),
                lambda: store.changes("alice", 0),
                lambda: store.stats(),
                lambda: store.backup(tmp_path / f"copy-{len(os.listdir(tmp_path))}.db"),
                lambda: store.forget(Select("alice")),
                lambda: store.compact(),
            ):
                try:
                    await call()
                except MemscopeError:
                    refused += 1
        for leftover in path.parent.glob(f"{path.name}*"):
            leftover.unlink()
    assert refused > 30


@needs_posix
async def test_a_full_disk_forgets(path: Path) -> None:
    """The WAL reached the end of the disk: its room serves again once it is folded into the file."""
    code = f"""
import asyncio, resource, signal
from memscope.records import Select, TurnInsert
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import inserts, ids, turn
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
async def main():
    store = SQLiteStore({str(path)!r})
    await store.append("alice", inserts("a", "b"))
    size = store.path.stat().st_size
    while (await store.stats()).details["wal_bytes"] < size:
        await store.append("bob", [TurnInsert(turn("", user="bob"))])
    room = (await store.stats()).details["wal_bytes"] + 4096
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    receipt = await store.forget(Select("alice", ids=frozenset("a")))
    print(receipt.turns, receipt.physical, await ids(store))
    await store.close()
asyncio.run(main())
"""
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "1 wiped ['b']\n", done.stderr


async def test_a_vector_of_another_length_is_a_typed_error(path: Path) -> None:
    async with opened(path) as store:
        await store.set_vector_space(VectorSpace("m", 4))
        await store.append("alice", inserts("a", "b"))
        (claim,) = await store.claim("embed", 10, 60)
        vectors = {item: [1.0, 0.0, 0.0, 0.0] for item in claim.items}
        await store.complete(claim, ChangeSet(vectors=vectors, done=claim.items))
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE vector SET data = x'00' WHERE seq = 1")
        db.commit()
    async with opened(path) as store:
        with pytest.raises(StoreCorrupt):
            await store.changes("alice", 0)
