"""Imports of many lines: memory that does not grow with them, progress, and Ctrl-C in the middle."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections import Counter
from itertools import cycle, islice
from pathlib import Path

import pytest

from memscope import AsyncMemoryScope, MemoryScope
from memscope.errors import StoreFull
from memscope.records import AddReport, ChangeSet, Select, TurnInsert
from memscope.stores.sqlite import SQLiteStore
from memscope.transfer import jsonl
from memscope.validation import Limits
from memscope_cli.commands.turns import Added
from memscope_testing.records import turn

pytestmark = pytest.mark.slow

FEW, MANY = 2_000, 8_000
WORDS = ("tea", "bread", "train", "garden", "letter")
STATUS = Path("/proc/self/status")  # the peak that getrusage tells counts the process that started this one
PEAK = f"""
import sys
from memscope_cli.app import cli
try:
    cli(sys.argv[1:])
finally:
    print(*(line.split()[1] for line in open("{STATUS}") if line.startswith("VmHWM")), file=sys.stderr)
"""


def turns(count: int) -> list[dict[str, str]]:
    said = islice(cycle(WORDS), count)
    return [{"role": "user", "content": word, "id": f"m{n}", "session": f"s{n // 20}"} for n, word in enumerate(said)]


def in_lines(count: int) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in turns(count)).encode()


async def exported(folder: Path, count: int, *, done: bool) -> Path:
    """An export of so many turns, consolidated or waiting."""
    path = folder / f"{count}.jsonl"
    store = SQLiteStore(folder / f"{count}.db")
    await store.open()
    inserts = [TurnInsert(turn(one["id"], one["content"], session=one["session"])) for one in turns(count)]
    for start in range(0, count, 1000):
        part = inserts[start : start + 1000]
        await store.append("alice", part, ChangeSet(done=tuple(one.turn.key for one in part)) if done else ChangeSet())
    await jsonl.export(store, path, user=None, progress=None)
    await store.close()
    return path


def peak(*args: object, input: bytes = b"") -> int:
    """The most memory that a process of the program had, in kB."""
    command = [sys.executable, "-c", PEAK, *map(str, args)]
    done = subprocess.run(command, input=input, capture_output=True, timeout=300)
    assert done.returncode == 0
    return int(done.stderr.splitlines()[-1])


@pytest.mark.skipif(not STATUS.exists(), reason="where a process reads its peak")
async def test_memory_does_not_grow_with_the_lines(tmp_path):
    """Apart from what is bounded: SQLite's cache of 16 MB, and those of words."""
    adding, importing = {}, {}
    for count in (FEW, MANY):
        adding[count] = peak("--store", tmp_path / f"{count}.db", "--user", "alice", "add", "-", input=in_lines(count))
        path = tmp_path / f"{count}.jsonl"
        with MemoryScope(tmp_path / f"{count}.db", settings={}) as memory:
            memory.admin.export(path)
        importing[count] = peak("--store", tmp_path / f"{count}-imported.db", "import", path)
    assert adding[MANY] <= 1.2 * adding[FEW] and importing[MANY] <= 1.2 * importing[FEW]


async def test_a_repeated_import_keeps_nothing_of_what_is_here(tmp_path):
    path, held = await exported(tmp_path, MANY, done=True), {}
    store = SQLiteStore(tmp_path / f"{MANY}.db")
    await store.open()

    def measure(done: int, total: int | None) -> None:
        gc.collect()  # what only waits to be collected, also of earlier tests, is not held
        held[done] = tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        counts = await jsonl.import_(store, path, user=None, strict=False, limits=Limits(), progress=measure)
    finally:
        tracemalloc.stop()
        await store.close()
    assert counts["turn_duplicate"] == MANY
    grown = held[MANY] - held[MANY // 2]  # what is bounded, a cache for example, is full by then
    assert grown < 40 * MANY // 2  # bytes a line; a key alone is over 100


async def test_turns_that_wait_here_are_done_after_an_import_that_knows_them_as_done(tmp_path):
    path = await exported(tmp_path, 1200, done=True)
    async with AsyncMemoryScope(tmp_path / "here.db", settings={}) as memory:
        store = memory.admin.runtime.services.store
        await store.append("alice", [TurnInsert(turn("m7", WORDS[7 % 5], session="s0"))])
        counts = await memory.admin.import_(path)
        assert (counts["turn_stored"], counts["turn_duplicate"]) == (1199, 1)
        assert not [page async for page in store.scan(Select("alice", pending="consolidate")) if page]


async def test_progress_tells_how_many_lines_there_are(tmp_path):
    path, told = await exported(tmp_path, 1200, done=False), []
    async with AsyncMemoryScope(tmp_path / "here.db", settings={}) as memory:
        await memory.admin.import_(path, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 1202) for done in range(200, 1202, 200)]


@pytest.mark.skipif(os.name == "nt", reason="signals")
async def test_an_import_goes_on_where_it_was_interrupted(tmp_path):
    path, store = await exported(tmp_path, FEW, done=False), tmp_path / "here.db"
    command = [sys.executable, "-m", "memscope_cli.app", "--store", str(store), "import", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            with MemoryScope(store, settings={}) as memory:
                while not memory.admin.status()["turns"]:
                    assert process.poll() is None
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=60)
                stopped = memory.admin.status()["turns"]
        finally:
            process.kill()
    assert process.returncode == 130 and "same command" in said
    assert 0 < stopped < FEW and stopped % jsonl.LINES_PER_WRITE in (
        0,
        jsonl.LINES_PER_WRITE - 1,
    )  # the header is a line of the first
    done = subprocess.run([*command, "--json"], capture_output=True, timeout=120, check=True)
    counts = json.loads(done.stdout)
    assert (counts["turn_stored"], counts["turn_duplicate"]) == (FEW - stopped, stopped)
    with MemoryScope(store, settings={}) as memory:
        keys = Counter(found.key for found in memory.list(user="alice", kinds=["turn"]))
    assert len(keys) == keys.total() == FEW


async def test_an_import_that_the_store_ends_says_what_stays(tmp_path, monkeypatch):
    path = await exported(tmp_path, 1200, done=False)
    async with AsyncMemoryScope(tmp_path / "here.db", settings={}) as memory:
        store, appended = memory.admin.runtime.services.store, []

        async def full(user, inserts, changes):
            if appended:
                raise StoreFull("no room left", hint="make room")
            appended.append(await append(user, inserts, changes))
            return appended[0]

        append = store.append
        monkeypatch.setattr(store, "append", full)
        with pytest.raises(StoreFull, match="make room"):
            await memory.admin.import_(path)
        monkeypatch.undo()
        counts = await memory.admin.import_(path)
        assert (counts["turn_duplicate"], counts["turn_stored"]) == (200, 1000)


@pytest.mark.parametrize(("listed", "held"), [(True, 2 * FEW), (False, FEW)])
def test_the_keys_of_added_turns_are_kept_where_they_are_listed(listed, held):
    added = Added(listed)
    for batch in range(2):
        added.count(AddReport(stored=FEW, duplicates=0, keys=tuple(f"{batch}-{n}" for n in range(FEW))))
    assert (len(added.keys), added.counts["stored"]) == (held, 2 * FEW)
