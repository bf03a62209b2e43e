"""Backups and exports whose process was killed: what they wrote is reached by forget, and does not stay."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import InputError
from memscope.records import Select
from memscope.stores import part_files
from memscope.stores.part_files import PART_SUFFIX, STALE_AFTER_S, part_of
from stores.sqlite_file import made, needs_posix, opened

pytestmark = pytest.mark.slow

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from memscope import AsyncMemoryScope
from memscope_cli.sqlite_recovery import restore
Path.replace = os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
async def main():
    if sys.argv[2] == "restore":
        await restore(sys.argv[1] + "-copy", sys.argv[1])
    async with AsyncMemoryScope(sys.argv[1], settings={}) as memory:
        await getattr(memory.admin, sys.argv[2])(sys.argv[1] + "-copy")
asyncio.run(main())
"""


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await made(tmp_path / "memory.db")


@needs_posix
@pytest.mark.parametrize("verb", ["backup", "export", "restore"])
async def test_forget_reaches_what_a_killed_copy_left(path: Path, verb: str) -> None:
    if verb == "restore":
        async with opened(path) as store:
            await store.backup(path.with_name("memory.db-copy"))
    assert subprocess.run([sys.executable, "-c", KILLED, str(path), verb]).returncode < 0
    (part,) = path.parent.glob(f"*{PART_SUFFIX}*")
    assert b"moved to Berlin" in part.read_bytes()
    async with opened(path) as store:
        report = await store.forget(Select("alice", ids=frozenset({"a"})))
        assert report.physical == "wiped"
    assert not part.exists()


async def test_what_is_being_written_stays_until_it_is_old(path: Path) -> None:
    mine, strangers = part_of(path), path.with_name("film.part")
    for file in (mine, strangers):
        file.touch()
    async with opened(path) as store:
        await store.forget(Select("alice", ids=frozenset({"a"})))
        assert mine.exists()
    for file in (mine, strangers):
        os.utime(file, times=(0, time.time() - STALE_AFTER_S - 60))
    async with opened(path):
        assert not mine.exists()
    assert strangers.exists()


@pytest.mark.parametrize("verb", ["backup", "export"])
async def test_two_copies_to_one_path_are_each_whole(path: Path, verb: str) -> None:
    """The later one takes the place of the earlier, or is refused where the earlier is finished when it begins."""
    copy = path.with_name("memory.db-copy")
    async with AsyncMemoryScope(path, settings={}) as memory:
        copies = [getattr(memory.admin, verb)(copy) for _ in range(2)]
        refused = [one for one in await asyncio.gather(*copies, return_exceptions=True) if isinstance(one, Exception)]
    assert len(refused) <= 1 and all(isinstance(one, InputError) and "exists" in str(one) for one in refused)
    assert not list(path.parent.glob(f"*{PART_SUFFIX}*"))
    assert copy.read_bytes().count(b"moved to Berlin") >= 1


async def test_an_earlier_process_with_this_id_writes_no_more(path: Path) -> None:
    """The case of a container, where the first process has the id 1 each time."""
    part = part_of(path)
    part.touch()
    os.utime(part, times=(0, time.time() - 3600))
    assert part_files.abandoned(path.parent) == [part]


async def test_a_part_that_cannot_be_removed_is_pending(path: Path) -> None:
    stuck = path.with_name(f"x.0{PART_SUFFIX}")
    stuck.mkdir()
    async with AsyncMemoryScope(path, settings={}) as memory:
        report = await memory.forget(user="alice", ids=["a"])
        assert (report.physical, "unfinished" in report.reason) == ("pending", True)
        stuck.rmdir()
        assert (await memory.admin.compact()).physical == "wiped"
