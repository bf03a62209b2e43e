"""Backup, restore and recover, as functions and as commands."""

from __future__ import annotations

import asyncio
import json
import random
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError, InputError, StoreBusy, StoreCorrupt, StoreFull, StoreTooNew
from memscope_cli import page_reader, sqlite_recovery
from memscope_cli.app import cli
from memscope_cli.sqlite_recovery import recover, restore
from stores.sqlite_file import needs_posix

PAGE = 8192


def opened(path):
    return AsyncMemoryScope(path, settings={})


async def fill(path, count=300, user="alice"):
    turns = [{"role": "user", "content": f"turn {n} " + "word " * 30, "id": f"t{n}"} for n in range(count)]
    async with opened(path) as memory:
        await memory.add_turns(turns, user=user)


async def keys(path, user="alice"):
    async with opened(path) as memory:
        return [turn.key for turn in await memory.list(user=user, kinds=["turn"])]


@pytest.fixture
async def store(tmp_path):
    path = tmp_path / "memory.db"
    await fill(path)
    return path


@pytest.fixture
async def backup(store, tmp_path):
    async with opened(store) as memory:
        await memory.admin.backup(tmp_path / "backup.db")
    return tmp_path / "backup.db"


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


# -------------------------------------------------------------------------------------------------------------- restore


async def test_a_backup_takes_the_place_of_a_store(store, backup, tmp_path):
    async with opened(store) as memory:
        await memory.add_turns([{"role": "user", "content": "later", "id": "later"}], user="alice")
    report = await restore(backup, store)
    assert report["kept"] is None
    assert await keys(store) == [f"t{n}" for n in range(300)]
    async with opened(store) as memory:
        assert await memory.retrieve("turn 17", user="alice")
    assert names(tmp_path) == ["backup.db", "memory.db", "memory.db-lock", "memory.db-reserve"]
    assert store.stat().st_mode & 0o077 == 0


async def test_a_backup_makes_a_store_where_there_is_none(backup, tmp_path):
    await restore(backup, tmp_path / "new.db")
    assert len(await keys(tmp_path / "new.db")) == 300


@needs_posix
async def test_a_restore_through_a_link_replaces_the_file_it_names(store, backup, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(store)
    async with opened(store) as memory:
        await memory.add_turns([{"role": "user", "content": "later", "id": "later"}], user="alice")
        with pytest.raises(StoreBusy):
            await restore(backup, link)
    await restore(backup, link)
    assert link.is_symlink()
    assert await keys(store) == await keys(link) == [f"t{n}" for n in range(300)]
    assert names(tmp_path) == ["backup.db", "link.db", "memory.db", "memory.db-lock", "memory.db-reserve"]


async def test_a_damaged_store_is_kept_beside_the_restored_one(store, backup):
    damaged = b"\0" * 4096 + store.read_bytes()[4096:]
    store.write_bytes(damaged)
    report = await restore(backup, store)
    assert Path(report["kept"]).read_bytes() == damaged
    assert len(await keys(store)) == 300


async def test_a_restore_says_what_was_forgotten_since_the_backup(store, backup):
    async with opened(store) as memory:
        await memory.forget(user="alice", ids=["t3", "t7"])
        await memory.add_turns([{"role": "user", "content": "later", "id": "later"}], user="alice")
        await memory.forget(user="alice", ids=["later"])
    assert (await restore(backup, store))["returned"] == {"alice": ["t3", "t7"]}
    assert (await restore(backup, store))["returned"] == {}


async def test_a_restore_names_the_full_disk_not_the_backup(store, backup, monkeypatch):
    def copy(*_):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(sqlite_recovery.files, "copy", copy)
    with pytest.raises(StoreFull, match=re.escape(repr(str(store.parent)))):
        await restore(backup, store)


def test_the_command_says_that_what_was_forgotten_is_back(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(cli, ["--store", str(tmp_path / "m.db"), "--user", "alice", *arguments])

    assert run("add", "My sister Kim is a nurse.", "--id", "kim").exit_code == 0
    assert run("backup", str(tmp_path / "b.db")).exit_code == 0
    assert run("forget", "--everything", "--yes").exit_code == 0
    result = run("restore", str(tmp_path / "b.db"), "--yes")
    assert result.exit_code == 6 and "back in the store: 1 record; forget" in " ".join(result.output.split())
    assert "alice  kim" in result.output


@pytest.mark.parametrize("spoil", ["text", "torn", "newer", "foreign", "missing"])
async def test_a_bad_backup_changes_nothing(store, backup, spoil, tmp_path):
    errors = {"newer": StoreTooNew, "missing": InputError}
    if spoil == "text":
        backup.write_text("no database " * 50)
    elif spoil == "torn":
        backup.write_bytes(backup.read_bytes()[: 5 * PAGE])
    elif spoil == "missing":
        backup.unlink()
    else:
        with closing(sqlite3.connect(backup)) as db:
            db.execute("PRAGMA user_version = 99" if spoil == "newer" else "PRAGMA application_id = 7")
    before = store.read_bytes()
    with pytest.raises(errors.get(spoil, StoreCorrupt)):
        await restore(backup, store)
    assert store.read_bytes() == before
    assert not [name for name in names(tmp_path) if "part" in name or "replaced" in name]


async def test_a_foreign_database_is_never_replaced(backup, tmp_path):
    foreign = tmp_path / "mail.db"
    with closing(sqlite3.connect(foreign)) as db:
        db.execute("CREATE TABLE mail(text)")
    before = foreign.read_bytes()
    with pytest.raises(StoreCorrupt):
        await restore(backup, foreign)
    assert foreign.read_bytes() == before


async def test_a_store_that_another_process_has_open_is_not_replaced(store, backup):
    holding = (
        "import sys; from memscope import MemoryScope\n"
        "with MemoryScope(sys.argv[1], settings={}) as memory:\n"
        "    memory.admin.status(); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", holding, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreBusy):
            await restore(backup, store)
        process.stdin.close()
    assert len(await keys(store)) == 300
    await restore(backup, store)


async def test_a_store_that_this_process_has_open_is_not_replaced(store, backup):
    async with opened(store) as memory:
        with pytest.raises(StoreBusy):
            await restore(backup, store)
        assert len(await memory.list(user="alice")) == 300


async def test_odd_places_are_refused(store, backup, tmp_path):
    with pytest.raises(InputError, match="the same file"):
        await restore(store, store)
    with pytest.raises(ConfigError):
        await restore(backup, tmp_path)
    with pytest.raises(ConfigError):
        await restore(backup, tmp_path / "no" / "memory.db")


# -------------------------------------------------------------------------------------------------------------- recover


async def test_a_sound_store_is_recovered_wholly(store, tmp_path):
    new = tmp_path / "new.db"
    async with opened(store) as memory:
        note = await memory.add_memory("Prefers tea", user="alice", name="drink")
        await memory.update(note.id, user="alice", text="Prefers coffee")
        await memory.forget(user="alice", ids=["t7"])
        before = await memory.admin.status()
    exported = await lines(store, tmp_path / "before.jsonl")
    report = await recover(store, new)
    assert report["lost"] == {"turns": 0, "observations": 0, "insights": 0}
    assert (report["turns"], report["observations"], report["unsure"], report["unreadable_rows"]) == (300, 1, 0, 0)
    assert await lines(new, tmp_path / "after.jsonl") == exported
    async with opened(new) as memory:
        assert (await memory.admin.status())["pending"] == before["pending"]
        assert (await memory.add_turns([{"role": "user", "content": "x", "id": "t7"}], user="alice")).forgotten == 1
        assert await memory.retrieve("turn 17", user="alice")


async def lines(path, to):
    """The export, without the place of each record among the others."""
    async with opened(path) as memory:
        await memory.admin.export(to)
    told = [json.loads(line) for line in to.read_text(encoding="utf-8").splitlines()]
    for line in told:
        line.get("turn", {}).pop("seq", None)
    return told


async def test_what_only_the_wal_holds_is_recovered(tmp_path):
    """A process that was killed leaves committed pages in its WAL."""
    path = tmp_path / "memory.db"
    killed = (
        "import os, sys; from memscope import MemoryScope\n"
        "memory = MemoryScope(sys.argv[1], settings={})\n"
        "memory.add_turns([{'role': 'user', 'content': f'turn {n}'} for n in range(50)], user='alice')\n"
        "os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert path.with_name("memory.db-wal").stat().st_size > 0
    before = path.read_bytes()
    assert (await recover(path, tmp_path / "new.db"))["turns"] == 50
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["header", "first page", "middle", "cut", "random"])
async def test_a_damaged_store_gives_what_is_readable_and_says_what_is_lost(store, tmp_path, damage):
    content = bytearray(store.read_bytes())
    spoilt = {
        "header": range(100),
        "first page": range(PAGE),
        "middle": range(len(content) // 2, len(content) // 2 + PAGE),
    }
    pages = random.Random(1).sample(range(1, len(content) // PAGE), 5)
    places = spoilt.get(damage, [page * PAGE + byte for page in pages for byte in range(0, PAGE, 7)])
    if damage == "cut":
        del content[len(content) * 3 // 4 :]
    else:
        for place in places:
            content[place] ^= 0xA5
    store.write_bytes(content)
    report = await recover(store, tmp_path / "new.db")
    assert store.read_bytes() == content
    saved = await keys(tmp_path / "new.db")
    assert report["turns"] == len(saved) > 100
    assert set(saved) <= {f"t{n}" for n in range(300)}
    if not report["unsure"]:
        assert report["lost"]["turns"] == 300 - len(saved)
    if damage in ("header", "first page"):
        assert len(saved) == 300
    async with opened(tmp_path / "new.db") as memory:
        for turn in await memory.list(user="alice"):
            assert turn.text == f"turn {turn.key[1:]} " + "word " * 30


async def test_long_turns_are_read_over_many_pages(tmp_path):
    long = "".join(f"{n} 北京 " for n in range(20_000))
    async with opened(tmp_path / "memory.db") as memory:
        await memory.add_turns([{"role": "user", "content": long, "id": "long"}], user="alice")
    await recover(tmp_path / "memory.db", tmp_path / "new.db")
    async with opened(tmp_path / "new.db") as memory:
        assert (await memory.get("long", user="alice")).text == long


async def test_a_file_that_holds_nothing_gives_an_empty_store(tmp_path):
    (tmp_path / "noise.db").write_bytes(random.Random(2).randbytes(20 * PAGE + 17))
    report = await recover(tmp_path / "noise.db", tmp_path / "new.db")
    assert (report["turns"], report["secret"]) == (0, False)
    with pytest.raises(InputError, match="exists"):
        await recover(tmp_path / "noise.db", tmp_path / "new.db")
    with pytest.raises(InputError, match="no file"):
        await recover(tmp_path / "nothing.db", tmp_path / "other.db")


async def test_pages_are_read_as_sqlite_reads_them(tmp_path):
    """The reader against SQLite itself: all types, long values, an index, several page sizes."""
    for size in (512, 1024, 4096, 65536):
        path = tmp_path / f"{size}.db"
        rows = [(n, None, n * 1.5, f"text {n} " * (n % 90), b"\0" * (n % 3000), -(7**n % 2**60)) for n in range(300)]
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(f"PRAGMA page_size = {size}")
            db.execute("CREATE TABLE plain(a, b, c, d, e, f)")
            db.execute("CREATE TABLE keyed(a PRIMARY KEY, d) WITHOUT ROWID")
            db.execute("BEGIN")
            db.executemany("INSERT INTO plain VALUES (?, ?, ?, ?, ?, ?)", rows)
            db.executemany("INSERT INTO keyed VALUES (?, ?)", [(row[0], row[3]) for row in rows])
            db.execute("COMMIT")
        with page_reader.opened(path) as pages:
            found = list(pages.rows())
        assert pages.broken == 0
        plain = sorted(tuple(row.values) for row in found if len(row.values) == 6)
        keyed = sorted(tuple(row.values) for row in found if row.rowid is None)
        assert plain == sorted(rows)
        assert keyed == sorted((row[0], row[3]) for row in rows)


# ------------------------------------------------------------------------------------------------------------- commands


def run(*args, store):
    return CliRunner().invoke(cli, ["--store", str(store), *map(str, args)])


def test_the_commands(tmp_path):
    store = tmp_path / "memory.db"
    asyncio.run(fill(store))
    backup, new = tmp_path / "b.db", tmp_path / "new.db"
    assert run("backup", backup, store=store).exit_code == 0
    assert run("backup", backup, store=store).exit_code == 2
    asked = run("restore", backup, store=store)
    assert (asked.exit_code, "--yes" in asked.stderr) == (2, True)
    assert json.loads(run("restore", backup, "--yes", "--json", store=store).stdout)["store"] == str(store)
    done = run("recover", store, new, store=store)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "nothing was lost")
    assert run("restore", new, "--yes", store=store).exit_code == 0
    assert run("restore", new, "--yes", store=":memory:").exit_code == 2


def test_a_loss_is_exit_code_6(tmp_path):
    store = tmp_path / "memory.db"
    asyncio.run(fill(store))
    content = store.read_bytes()
    store.write_bytes(content[: len(content) // 2])
    done = run("recover", store, tmp_path / "new.db", store=store)
    assert done.exit_code == 6
    assert "lost:" in done.stderr
