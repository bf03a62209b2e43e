"""Blocks in a SQLite file: processes, older files, damaged files, bytes."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memscope.errors import Conflict
from memscope.records import Select
from memscope.stores.sqlite import SQLiteStore, schema
from memscope_cli.sqlite_recovery import recover
from memscope_testing.records import block, ids, inserts
from stores.sqlite_file import made, opened

pytestmark = pytest.mark.slow

PROCESSES, EDITS = 8, 5


def _edit(path: Path, writer: int) -> None:
    async def run() -> None:
        store = SQLiteStore(path)
        done = 0
        while done < EDITS:
            (old,) = await store.blocks("alice")
            try:
                mark = f"{writer}-{done}\n"
                await store.put_blocks("alice", [replace(old, value=old.value + mark, version=old.version + 1)])
                done += 1
            except Conflict:
                continue
        await store.close()

    asyncio.run(run())


async def test_eight_processes_edit_one_block_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with opened(path) as store:
        await store.put_blocks("alice", [block("human")])
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_edit, args=(path, writer)) for writer in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        await asyncio.to_thread(worker.join)
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES
    async with opened(path) as store:
        versions = await store.blocks("alice", versions=True)
    wanted = [f"{writer}-{edit}" for writer in range(PROCESSES) for edit in range(EDITS)]
    assert sorted(versions[-1].value.split()) == sorted(wanted)
    assert [one.version for one in versions] == list(range(1, 2 + len(wanted)))
    assert all(len(one.value.split()) == one.version - 1 for one in versions)  # none half done


async def test_a_file_without_blocks_is_upgraded(tmp_path: Path) -> None:
    path = await made(tmp_path / "memory.db")
    with closing(sqlite3.connect(path)) as db:
        db.executescript("DROP TABLE block; DROP TABLE receipt")
        db.execute("UPDATE meta SET value = 1 WHERE key = 'schema'")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    async with opened(path) as store:
        assert await ids(store) == ["a", "b"]
        assert await store.blocks("alice") == []
        await store.put_blocks("alice", [block("human", "x")])
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)


async def test_backup_and_recovery_keep_every_version(tmp_path: Path) -> None:
    path, versions = tmp_path / "memory.db", [block("human", "one"), block("human", "two", version=2)]
    async with opened(path) as store:
        await store.append("alice", inserts("a"))
        await store.put_blocks("alice", [*versions, block("notes", "x", agent="x")])
        stored = await store.blocks("alice", versions=True)
        await store.backup(tmp_path / "backup.db")
    await recover(path, tmp_path / "recovered.db")
    for name in ("backup.db", "recovered.db"):
        async with opened(tmp_path / name) as store:
            assert await store.blocks("alice", versions=True) == stored


async def test_no_byte_of_a_forgotten_block_stays_in_the_file(tmp_path: Path) -> None:
    path, secret = tmp_path / "memory.db", "the canary sings at four o'clock"
    async with opened(path) as store:
        await store.append("alice", inserts("a"))
        await store.put_blocks("alice", [block("human", secret), block("human", "y", version=2, reason=secret)])
        await store.put_blocks("bob", [block("human", "bob", user="bob")])
        await store.put_blocks("carol", [block("human", secret, user="carol", author="backend", sources=("a",))])
        await store.append("carol", inserts("a", user="carol"))
        assert (await store.forget(Select("alice"))).physical == "wiped"
        assert (await store.forget(Select("carol", ids=frozenset({"a"})))).blocks == 1
        assert [one.value for one in await store.blocks("carol", versions=True)] == ["", ""]
    found = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert secret.encode() not in found
