"""The file: damaged, foreign, newer, read-only, full, deleted; its upgrade; copies; forks, many writers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memscope.errors import InputError, MemscopeError, StoreCorrupt, StoreError, StoreFull, StoreGone, StoreTooNew
from memscope.records import Select, TurnInsert
from memscope.stores.sqlite import SQLiteStore, files, schema
from memscope_testing.records import get, ids, inserts, observation, remember, turn
from stores.sqlite_file import digest, made, needs_posix, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


# ---- damaged, foreign, newer


def foreign_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs(x)")
        db.commit()


FOREIGN = {
    "text": lambda path: path.write_text("Dear diary, " * 50),
    "short": lambda path: path.write_bytes(b"SQLite format 3\0"),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "sqlite": foreign_sqlite,
}


@pytest.mark.parametrize("kind", FOREIGN)
async def test_a_foreign_file_is_refused_and_left_alone(path: Path, kind: str) -> None:
    FOREIGN[kind](path)
    before = digest(path)
    with pytest.raises(StoreCorrupt) as raised:
        await SQLiteStore(path).open()
    assert path.name in str(raised.value)
    assert digest(path) == before


async def test_a_newer_file_is_refused_and_left_alone(path: Path) -> None:
    await made(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = digest(path)
    with pytest.raises(StoreTooNew):
        await SQLiteStore(path).open()
    assert digest(path) == before


async def test_a_newer_version_in_the_wal_is_seen(path: Path) -> None:
    await made(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
        before = digest(path)
        with pytest.raises(StoreTooNew):
            await SQLiteStore(path).open()
        assert digest(path) == before


async def test_damage_is_refused_or_harmless_and_never_a_crash(path: Path) -> None:
    """Random bytes flipped, random cuts: an error of ours, or the right records. What is refused is left as it is."""
    await made(path, *(f"k{n}" for n in range(60)))
    async with opened(path) as store:
        texts = {id: (await get(store, id)).text for id in await ids(store)}
    whole, chance, refused = path.read_bytes(), random.Random(7), 0
    for round in range(60):
        data = bytearray(whole)
        if round % 4:
            for _ in range(chance.choice([1, 8, 200])):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        else:
            del data[chance.randrange(1, len(data)) :]
        for leftover in path.parent.iterdir():
            leftover.unlink()
        path.write_bytes(data)
        before, store = digest(path), SQLiteStore(path)
        try:
            await store.open()
        except MemscopeError:
            assert digest(path) == before
            refused += 1
            continue
        with contextlib.suppress(StoreCorrupt):
            found = [record async for page in store.scan(Select("alice")) for record in page]
            assert all(texts[record.key] == record.text for record in found)  # type: ignore[union-attr]
            await store.append("alice", inserts("new"))
        await store.close()
    assert refused > 10


async def test_a_cut_file_is_refused_untouched(path: Path) -> None:
    await made(path, *(f"k{n}" for n in range(200)))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    before = digest(path)
    with pytest.raises(StoreCorrupt, match="recover"):
        await SQLiteStore(path).open()
    assert digest(path) == before


# ---- read-only


@needs_posix
@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o755), (0o444, 0o555), (0o644, 0o555)])
async def test_what_cannot_be_written_can_be_read(file_mode: int, folder_mode: int) -> None:
    """In a process without root's rights: reading works, the first write is refused."""
    folder = Path(tempfile.mkdtemp(prefix="memscope-"))
    try:
        path = await made(folder / "memory.db")
        path.parent.chmod(0o755)
        (folder / "memory.db-lock").unlink()
        path.chmod(file_mode)
        folder.chmod(folder_mode)
        code = f"""
import asyncio, os, concurrent.futures.thread
from memscope.errors import StoreReadOnly
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import inserts, ids
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
async def main():
    store = SQLiteStore({str(path)!r})
    await store.open()
    assert await ids(store) == ["a", "b"], await ids(store)
    assert (await store.stats("alice")).details["read_only"]
    try:
        await store.append("alice", inserts("c"))
    except StoreReadOnly:
        print("refused")
    await store.close()
asyncio.run(main())
"""
        done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


# ---- full


def limited(pages: list[int]) -> files.Connect:
    """Connections to files that cannot grow beyond ``pages[0]`` pages."""

    def connect(path: Path, mode: files.OpenMode) -> sqlite3.Connection:
        db = files.connect(path, mode)
        if pages[0]:
            db.execute(f"PRAGMA max_page_count = {pages[0]}")
        return db

    return connect


async def test_a_full_disk_loses_nothing_and_writes_nothing_by_halves(path: Path) -> None:
    await made(path)
    limit = [0]
    async with opened(path) as store:
        limit[0] = (await store.stats()).details["bytes"] // 8192 + 3
    async with opened(path, connect=limited(limit)) as store:
        with pytest.raises(StoreFull) as raised:
            await store.append("alice", [TurnInsert(turn(f"big-{n}", "much to say " * 200)) for n in range(200)])
        assert raised.value.retryable
        assert await ids(store) == ["a", "b"]
        assert (await store.stats("alice")).turns == 2
    async with opened(path) as store:
        given = [TurnInsert(turn(f"big-{n}", "much to say " * 200)) for n in range(200)]
        assert set((await store.append("alice", given)).outcomes) == {"stored"}


@needs_posix
async def test_a_file_size_limit_is_a_full_disk(path: Path) -> None:
    code = f"""
import asyncio, resource, signal
from memscope.errors import StoreFull
from memscope.records import TurnInsert
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import inserts, ids, turn
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
async def main():
    store = SQLiteStore({str(path)!r})
    await store.append("alice", inserts("a", "b"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    try:
        await store.append("alice", [TurnInsert(turn(f"k{{n}}", "long " * 400)) for n in range(300)])
    except StoreFull:
        print("full", await ids(store))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await store.append("alice", inserts("c"))
    print(await ids(store))
    await store.close()
asyncio.run(main())
"""
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["full ['a', 'b']", "['a', 'b', 'c']"], done.stderr


# ---- deleted, replaced


@needs_posix
async def test_a_file_that_goes_away_is_said_so(path: Path) -> None:
    async with opened(path) as store:
        await store.append("alice", inserts("a"))
        path.unlink()
        with pytest.raises(StoreGone):
            await store.append("alice", inserts("b"))
        await store.append("alice", inserts("c"))
        assert await ids(store) == ["c"]


@needs_posix
async def test_a_replaced_file_is_opened_anew(path: Path, tmp_path: Path) -> None:
    other = await made(tmp_path / "other.db", "x", "y")
    async with opened(path) as store:
        await store.append("alice", inserts("a"))
        os.replace(other, path)
        for leftover in ("-wal", "-shm"):
            Path(f"{path}{leftover}").unlink(missing_ok=True)
        with pytest.raises(StoreGone):
            await ids(store)
        assert await ids(store) == ["x", "y"]


# ---- upgrades


@pytest.fixture
def next_schema(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This memscope as its next version will be: one schema later."""

    def step(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE users ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'")

    monkeypatch.setattr(schema, "MIGRATIONS", {schema.SCHEMA_VERSION: step})
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    yield


def colours(path: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT colour FROM users").fetchall()


async def test_an_older_file_is_upgraded_and_its_copy_goes(path: Path, request: pytest.FixtureRequest) -> None:
    await made(path)
    request.getfixturevalue("next_schema")
    async with opened(path) as store:
        assert await ids(store) == ["a", "b"]
        await store.append("alice", inserts("c"))
    assert colours(path) == [("red",)]
    assert not list(path.parent.glob("*before*"))
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)
        assert db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == (schema.SCHEMA_VERSION,)


async def test_an_upgrade_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await made(path)

    def broken(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE users ADD COLUMN colour TEXT")
        raise sqlite3.OperationalError("the power went")

    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", {schema.SCHEMA_VERSION: broken})
        patched.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
        with pytest.raises(MemscopeError):
            await SQLiteStore(path).open()
    (copy,) = path.parent.glob("*before*")
    for file in (path, copy):
        with closing(sqlite3.connect(file)) as db:
            assert db.execute("SELECT count(*) FROM record").fetchone() == (2,)
    async with opened(path) as store:
        assert await ids(store) == ["a", "b"]
    assert not list(path.parent.glob("*before*"))  # forgotten turns must not live on in it


async def test_other_terms_are_made_from_the_texts_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await made(path)
    async with opened(path) as store:
        await remember(store, observation("o", "a"))
        before = await store.changes("alice", 0)
    for module in ("local", "local.records", "local.index_changes"):
        monkeypatch.setattr(f"memscope.stores.{module}.units_version", "other")
    async with opened(path) as store:
        after = await store.changes("alice", before.revision)
        assert after.whole
        assert len(after.columns) == len(before.columns)
        assert after.terms == before.terms
        assert (await store.changes("alice", after.revision)).columns == b""
        assert (await store.stats("alice")).units == 3


# ---- copies


async def test_a_backup_under_load_is_whole(path: Path, tmp_path: Path) -> None:
    async with opened(path) as store:
        await store.append("alice", inserts("first"))

        async def write() -> None:
            for n in range(100):
                await store.append("alice", inserts(f"k{n}"))

        writing = asyncio.create_task(write())
        await store.backup(tmp_path / "copy.db")
        await writing
        with pytest.raises(InputError):
            await store.backup(tmp_path / "copy.db")
    async with opened(tmp_path / "copy.db") as copy:
        found = await ids(copy)
        assert found == ["first", *(f"k{n}" for n in range(len(found) - 1))]


async def test_a_store_that_cannot_be_made_leaves_no_file_of_its_own(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(schema, "create", full)
    with pytest.raises(StoreError):
        await SQLiteStore(path).open()
    assert [file.name for file in path.parent.iterdir()] == ["memory.db-lock"]
