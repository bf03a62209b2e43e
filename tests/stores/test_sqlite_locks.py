"""A store keeps SQLite's locks on its file: without them another process removes the log under it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from memscope.records import Select
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import ids, inserts
from stores.sqlite_file import needs_posix, opened

pytestmark = [pytest.mark.slow, needs_posix]

OTHER_PROCESS = """
import asyncio, sys
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import ids, inserts

async def run(path, key):
    store = SQLiteStore(path)
    await store.append("alice", inserts(key))
    print(*await ids(store))
    await store.close()

asyncio.run(run(*sys.argv[1:]))
"""


async def other_process(path: Path, key: str) -> list[str]:
    """Open the store in another process, add a turn, close it; return the keys that it saw."""
    command = [sys.executable, "-c", OTHER_PROCESS, str(path), key]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


async def nothing(store: SQLiteStore, path: Path) -> None:
    pass


async def forget(store: SQLiteStore, path: Path) -> None:
    assert (await store.forget(Select("alice", ids=frozenset({"a"})))).physical == "wiped"


async def second_store(store: SQLiteStore, path: Path) -> None:
    async with opened(path) as second:
        assert await ids(second) == ["a", "b"]


@pytest.mark.parametrize("act", [nothing, forget, second_store])
async def test_two_processes_go_on_seeing_each_other(
    tmp_path: Path, act: Callable[[SQLiteStore, Path], Awaitable[None]]
) -> None:
    path = tmp_path / "memory.db"
    async with opened(path) as store:
        await store.append("alice", inserts("a", "b"))
        await act(store, path)
        await other_process(path, "c")
        await store.append("alice", inserts("d"))
        assert {"b", "c", "d", "e"} <= set(await other_process(path, "e"))
        assert {"b", "c", "d", "e"} <= set(await ids(store))
    assert {"b", "c", "d", "e", "f"} <= set(await other_process(path, "f"))


async def test_a_forked_child_goes_on_after_its_parent_has_closed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    code = f"""
import asyncio, os, sys, warnings
warnings.simplefilter("ignore")
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import inserts
store = SQLiteStore({str(path)!r})
asyncio.run(store.append("alice", inserts("parent")))
if os.fork():
    asyncio.run(store.close())
    os._exit(0)
for key in sys.stdin.readline().split():
    asyncio.run(store.append("alice", inserts(key)))
    print(key, flush=True)
    sys.stdin.readline()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin and child.stdout
        child.wait(60)  # the parent: its child still has the pipes
        await other_process(path, "before")
        print("one two", file=child.stdin, flush=True)
        assert child.stdout.readline() == "one\n"
        assert "one" in await other_process(path, "between")
        print(file=child.stdin, flush=True)
        assert child.stdout.readline() == "two\n"
        print(file=child.stdin, flush=True)
        assert child.stdout.read() == ""
    assert {"parent", "before", "one", "between", "two"} <= set(await other_process(path, "after"))


BUSY_PROCESS = """
import asyncio, sys
from memscope.records import Select
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import inserts

async def run(path, name):
    store = SQLiteStore(path)
    for n in range(60):
        await store.append("alice", inserts(f"{name}-{n}"))
        if n % 7 == 0:
            await store.forget(Select("alice", ids=frozenset({f"{name}-{n}"})))
        if n % 11 == 0:
            await store.close()
            store = SQLiteStore(path)
    await store.close()

asyncio.run(run(*sys.argv[1:]))
"""


async def test_processes_that_forget_open_and_close_lose_and_damage_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    commands = [[sys.executable, "-c", BUSY_PROCESS, str(path), name] for name in "abcd"]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    errors = [await asyncio.to_thread(process.communicate) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, errors
    async with opened(path) as store:
        assert set(await ids(store)) == {f"{name}-{n}" for name in "abcd" for n in range(60) if n % 7}
