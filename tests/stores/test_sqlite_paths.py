"""The path of a SQLite store: what is created there, what is refused and left alone; links; the WAL beside it."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from pathlib import Path

import pytest

from memscope.errors import ConfigError, StoreCorrupt
from memscope.stores.sqlite import SQLiteStore
from memscope_cli.sqlite_recovery import recover, restore
from memscope_testing.records import ids, inserts
from stores.sqlite_file import digest, made, needs_posix, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


async def test_the_file_is_for_its_owner_only(path: Path) -> None:
    async with opened(path) as store:
        await store.append("alice", inserts("a"))
        await store.backup(path.with_name("copy.db"))
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


async def test_identifiers_never_become_files(path: Path) -> None:
    async with opened(path) as store:
        for user in ("../x", "..\\x", "/etc/x", "%2e%2e", "con", "x" * 256):
            await store.append(user, inserts("../../k", user=user, session="../s", agent="/a"))
    assert {file.name for file in path.parent.iterdir()} <= {
        "memory.db",
        "memory.db-lock",
        "memory.db-wal",
        "memory.db-shm",
        "memory.db-reserve",
    }


@pytest.mark.parametrize("name", ["file:x?mode=memory", ":memory:", "a b#c?d%e.db", "Köln 搬家.db", "[x].db"])
async def test_a_path_is_a_plain_name(tmp_path: Path, name: str) -> None:
    await made(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 0
    async with opened(tmp_path / name) as store:
        assert await ids(store) == ["a", "b"]


async def test_a_place_that_cannot_be(tmp_path: Path) -> None:
    for wrong in (tmp_path, tmp_path / "missing" / "memory.db"):
        with pytest.raises(ConfigError):
            await SQLiteStore(wrong).open()
    for wrong in ("a\0b", "", 5, None, b"x"):
        with pytest.raises(ConfigError):
            SQLiteStore(wrong)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


async def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch(0o644)
    await made(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@needs_posix
@pytest.mark.parametrize("kind", ["pipe", "socket", "link to a pipe", "link to itself"])
async def test_what_is_no_file_is_refused_and_left_alone(path: Path, tmp_path: Path, kind: str) -> None:
    there = path.with_name("there") if kind == "link to a pipe" else path
    with socket.socket(socket.AF_UNIX) as listening:
        if kind == "socket":
            listening.bind(str(there))
        elif kind != "link to itself":
            os.mkfifo(there)
    if kind.startswith("link"):
        path.symlink_to(there)
    before = {file: kind_of(file) for file in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match="regular file"):
        await SQLiteStore(path).open()
    async with opened(await made(tmp_path / "other.db")) as other:
        with pytest.raises(ConfigError, match="regular file"):
            await other.backup(path)
    with pytest.raises(ConfigError, match="regular file"):
        await restore(tmp_path / "other.db", path)
    assert {file: kind_of(file) for file in before} == before


def kind_of(file: Path) -> tuple[int, int]:
    found = file.lstat()
    return found.st_ino, found.st_mode


@needs_posix
async def test_a_link_and_its_file_are_one_store(tmp_path: Path) -> None:
    """One lock, one WAL; a link to nothing yet makes the file there."""
    disk, home = tmp_path / "disk", tmp_path / "home"
    disk.mkdir()
    home.mkdir()
    link, real = home / "memory.db", disk / "real.db"
    link.symlink_to(real)
    async with opened(link) as store, opened(real) as same:
        await store.append("alice", inserts("a"))
        await same.append("alice", inserts("b"))
        assert await ids(store) == ["a", "b"]
        assert (await store.stats()).details["path"] == str(real.resolve())
        assert list(home.iterdir()) == [link]
    assert link.is_symlink()


async def test_a_wal_beside_an_empty_file_is_kept_and_recovered(path: Path, tmp_path: Path) -> None:
    lost = tmp_path / "lost.db"
    wal = tmp_path / "lost.db-wal"
    async with opened(path) as store:
        await store.append("alice", inserts(*(f"k{n}" for n in range(50))))
        shutil.copy(f"{path}-wal", wal)
    lost.touch()
    before = digest(wal)
    with pytest.raises(StoreCorrupt, match="memscope recover"):
        await SQLiteStore(lost).open()
    assert digest(wal) == before
    assert (await recover(lost, tmp_path / "saved.db"))["turns"] == 50
    report = await restore(path, lost)
    assert digest(Path(f"{report['kept']}-wal")) == before
