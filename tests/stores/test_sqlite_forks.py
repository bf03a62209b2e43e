"""A process that forks while its stores are open: what the child and the parent may still do."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from stores.sqlite_file import needs_posix

pytestmark = [pytest.mark.slow, needs_posix]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


async def test_stores_survive_a_fork(path: Path) -> None:
    """Like a server that opens its store and then forks its workers."""
    code = f"""
import asyncio, os, warnings
warnings.simplefilter("ignore")
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import inserts, ids
store = SQLiteStore({str(path)!r})
asyncio.run(store.append("alice", inserts("parent")))
async def work(name):
    for n in range(25):
        await store.append("alice", inserts(f"{{name}}-{{n}}"))
    assert "parent" in await ids(store)
    await store.close()
children = []
for name in "abcd":
    child = os.fork()
    if not child:
        try:
            asyncio.run(work(name))
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    children.append(child)
codes = [os.waitpid(child, 0)[1] for child in children]
asyncio.run(store.append("alice", inserts("after")))
print(codes, len(asyncio.run(ids(store))))
asyncio.run(store.close())
"""
    done = await asyncio.to_thread(run, code)
    assert done.stdout.strip() == "[0, 0, 0, 0] 102", done.stdout + done.stderr
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_fork_in_the_middle_of_writing_leaves_the_child_a_store(path: Path) -> None:
    code = f"""
import os, signal, threading, warnings
warnings.simplefilter("ignore")
from memscope import MemoryScope
memory = MemoryScope({str(path)!r}, settings={{}})
turn, over = {{"role": "user", "content": "x"}}, threading.Event()
def write():
    while not over.is_set():
        memory.add_turns([turn], user="parent")
writer = threading.Thread(target=write)
writer.start()
codes = []
for _ in range(12):
    child = os.fork()
    if not child:
        signal.alarm(60)
        try:
            memory.add_turns([turn], user="child")
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    codes.append(os.waitpid(child, 0)[1])
over.set()
writer.join()
print(sum(codes), len(memory.list(user="child")))
memory.close()
"""
    done = await asyncio.to_thread(run, code)
    assert done.stdout.strip() == "0 12", done.stdout + done.stderr


async def test_a_fork_waits_for_a_read_that_is_under_way(path: Path) -> None:
    """SQLite's connections share locks; the child would wait for ever for one that its parent's reader held."""
    code = f"""
import asyncio, os, threading, warnings
warnings.simplefilter("ignore")
from memscope.stores.sqlite.engine import Engine
from memscope.stores.sqlite.files import connect
from pathlib import Path
engine = Engine(Path({str(path)!r}), connect)
began, over = threading.Event(), []
def task(db):
    began.set()
    threading.Event().wait(0.3)
    over.append(1)
reader = threading.Thread(target=lambda: asyncio.run(engine.read(task)))
reader.start()
began.wait()
child = os.fork()
if not child:
    os._exit(len(over))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
reader.join()
engine.close()
"""
    done = await asyncio.to_thread(run, code)
    assert (done.stdout.strip(), done.stderr) == ("1", "")


async def test_a_fork_waits_for_an_import_that_is_under_way() -> None:
    """The child would wait for ever for the lock of a module that its parent's thread was importing."""
    code = """
import os, threading, warnings
warnings.simplefilter("ignore")
from memscope.imports import importing
began, over = threading.Event(), []
def load():
    with importing:
        began.set()
        threading.Event().wait(0.3)
        over.append(1)
threading.Thread(target=load).start()
began.wait()
child = os.fork()
if not child:
    os._exit(len(over) + 10 * importing.acquire(timeout=60))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = await asyncio.to_thread(run, code)
    assert done.stdout.strip() == "11", done.stdout + done.stderr
