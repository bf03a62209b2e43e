"""One file, many: processes, threads, loops and users; and what is left of what was forgotten."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import re
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from memscope.errors import InputError, StoreBusy, StoreGone
from memscope.records import ChangeSet, Select, TurnInsert
from memscope.search import units
from memscope.search.snapshot import ROW_DTYPE
from memscope.stores.sqlite import engine, files, secure_erase
from memscope_testing.records import ids, inserts, observation, remember, turn
from stores.sqlite_file import impatient, made, opened

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


# ---- other processes and threads


async def test_another_program_that_holds_the_file_makes_it_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(await made(path), connect=impatient) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy) as raised:
                await store.append("alice", inserts("c"))
            assert raised.value.retryable
            assert raised.value.retry_after
            assert await ids(store) == ["a", "b"]
            other.execute("ROLLBACK")
        await store.append("alice", inserts("c"))


async def test_too_many_waiting_writes_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_WAITING_WRITES", 20)
    async with opened(path) as store:
        go_on = threading.Event()
        holding = asyncio.create_task(store._write(lambda tx: go_on.wait(60)))
        adding = [asyncio.create_task(store.append("alice", inserts(f"k{n}"))) for n in range(200)]
        while not any(task.done() for task in adding):
            await asyncio.sleep(0)
        go_on.set()
        results = await asyncio.gather(*adding, return_exceptions=True)
        await holding
        refused = [result for result in results if isinstance(result, StoreBusy)]
        assert refused
        assert refused[0].retry_after
        assert len(await ids(store)) == 200 - len(refused)


async def test_a_long_turn_is_prepared_before_others_have_to_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    preparing, go_on = threading.Event(), threading.Event()

    def slow(text: str, words: Sequence[str], role: str) -> int:
        if "long" in text:
            preparing.set()
            go_on.wait(120)
        return 0

    monkeypatch.setattr(units, "flags", slow)
    async with opened(path) as store:
        long = asyncio.create_task(store.append("alice", inserts("a", text="A long story. " * 1000)))
        try:
            assert await asyncio.to_thread(preparing.wait, 60)
            await asyncio.wait_for(store.append("bob", [TurnInsert(turn("b", user="bob"))]), 60)
            assert not long.done()
        finally:
            go_on.set()
        assert (await long).outcomes == ("stored",)
        made = (await store.changes("alice", 0)).columns
        made = np.frombuffer(made, ROW_DTYPE)
        assert set(made["number"]) == {1} and list(made["part"]) == list(range(len(made)))
        assert list(made["seq"]) == list(range(made["seq"][0], made["seq"][0] + len(made)))


async def test_a_long_history_shown_again_is_not_prepared_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = inserts("a", "b", text="A long story. " * 1000)
    async with opened(path) as store:
        await store.append("alice", said)
        monkeypatch.setattr(units, "flags", lambda text: pytest.fail("units of a known turn were made"))
        assert (await store.append("alice", said)).outcomes == ("duplicate", "duplicate")


async def test_what_fails_in_a_group_fails_alone(path: Path) -> None:
    async with opened(path) as store:
        good = [store.append("alice", inserts(f"k{n}")) for n in range(50)]
        bad = [store.append("alice", inserts(f"bad-{n}", text="\ud83d")) for n in range(50)]
        results = await asyncio.gather(
            *(task for pair in zip(good, bad, strict=True) for task in pair), return_exceptions=True
        )
        assert sum(isinstance(result, InputError) for result in results) == 50
        assert await ids(store) == [f"k{n}" for n in range(50)]


async def test_a_loop_that_forbids_blocking_calls_reads_all_the_same(path: Path) -> None:
    """Forbid blocking calls like ``langgraph dev``."""
    from blockbuster import blockbuster_ctx

    async with opened(path) as store:
        await store.append("alice", inserts("a"))
        with blockbuster_ctx("memscope"):
            for _ in range(3):  # the first opens a connection, the others find it there
                assert list((await store.fetch("alice", ["a"])).records) == ["a"]
            revision = (await store.changes("alice", 0)).revision
            assert (await store.changes("alice", revision)).revision == revision
            await store.append("alice", inserts("b"))
            assert (await store.changes("alice", revision)).revision > revision


async def test_a_read_that_fails_where_it_is_fails_in_the_thread_with_its_error(path: Path) -> None:
    async with opened(await made(path)) as store:
        await store.fetch("alice", ["a"])
        path.rename(path.with_name("moved.db"))
        with pytest.raises(StoreGone):
            await store.fetch("alice", ["a"])


def _add_all(path: Path, start: object) -> None:
    async def main() -> None:
        async with opened(path) as store:
            start.wait()  # type: ignore[attr-defined]
            for n in range(0, 100, 5):
                await store.append("alice", [TurnInsert(turn(f"k{m}", f"turn {m}")) for m in range(n, n + 5)])

    asyncio.run(main())


async def test_eight_processes_adding_the_same_turns_store_them_once(path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(8)
    workers = [spawn.Process(target=_add_all, args=(path, start)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        await asyncio.to_thread(worker.join)
    assert [worker.exitcode for worker in workers] == [0] * 8
    async with opened(path) as store:
        assert sorted(await ids(store)) == sorted(f"k{n}" for n in range(100))
        assert (await store.stats("alice")).units == 100
        assert await ids(store, pending="consolidate") == await ids(store)


async def test_one_store_serves_several_loops_at_once(path: Path) -> None:
    async with opened(path) as store:

        def other(name: str) -> None:
            async def main() -> None:
                await asyncio.gather(*(store.append("alice", inserts(f"{name}-{n}")) for n in range(20)))

            asyncio.run(main())

        await asyncio.gather(*(asyncio.to_thread(other, name) for name in "abcd"))
        assert len(await ids(store)) == 80


# ---- what is left of what was forgotten


async def test_the_bytes_are_gone(path: Path) -> None:
    """The words, the vectors and the saved replies, wherever SQLite moved them meanwhile."""
    canary = "cnry-{:05d}-{}".format
    async with opened(path) as store:
        for start in range(0, 400, 40):
            given = [
                TurnInsert(turn(f"k{n}", canary(n, "turn") + " words" * (n % 40))) for n in range(start, start + 40)
            ]
            await store.append("alice", given)
        facts = [
            observation(f"o{n}", f"k{n}", text=canary(n, "fact"), data={"c": canary(n, "data")})
            for n in range(0, 400, 3)
        ]
        await remember(store, *facts)
        (claim,) = await store.claim("consolidate", 50, 60, user="alice")
        await store.save_reply(
            claim, ChangeSet(new=(observation("p", "k1", text=canary(1, "plan")),), done=claim.items)
        )
        chosen = [*random.Random(3).sample(range(400), 150), 1]
        for start in range(0, len(chosen), 20):
            report = await store.forget(Select("alice", ids=frozenset(f"k{n}" for n in chosen[start : start + 20])))
            assert (report.physical, report.remaining) == ("wiped", 0)
        left = b"".join(file.read_bytes() for file in path.parent.iterdir())
        found = {int(number) for number in re.findall(rb"cnry-(\d{5})", left)}
        assert not found.intersection(chosen)
        assert found == set(range(400)) - set(chosen)


async def test_a_copy_left_between_the_cells_is_found_and_goes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite leaves some when it spreads the cells of a page over its neighbours; here one is put there by hand."""
    words = b"the canary in the coal mine sang"
    async with opened(path) as store:
        await store.append("alice", inserts("a", "b"))
        await store.append("alice", [TurnInsert(turn("canary", words.decode()))])
    fingerprints, clean = secure_erase._hashes(words, secure_erase.PIECE_BYTES), path.read_bytes()
    assert not secure_erase.traces(path, [fingerprints])  # its own cell is no gap
    gap = next(
        at + 2048 for at in range(8192, len(clean), 8192) if clean[at] == 0x0D and not any(clean[at + 2048 : at + 4096])
    )
    path.write_bytes(clean[:gap] + words[5:] + clean[gap + len(words) - 5 :])
    assert secure_erase.traces(path, [fingerprints])
    async with opened(path) as store:
        report = await store.forget(Select("alice", ids=frozenset({"canary"})))
        assert report.physical == "wiped"
        assert words[5:] not in path.read_bytes()
        assert await ids(store) == ["a", "b"]


async def test_a_large_file_is_wiped_by_compact(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure_erase, "MAX_REBUILT_BYTES", 1)
    monkeypatch.setattr(secure_erase, "traces", lambda path, marks: True)
    async with opened(path) as store:
        await store.append("alice", inserts("a", "b"))
        report = await store.forget(Select("alice", ids=frozenset({"a"})))
        assert (report.physical, "compact" in report.reason) == ("pending", True)
        assert (await store.compact()).physical == "wiped"
        assert await ids(store) == ["b"]


async def test_a_reader_of_an_older_state_makes_the_wipe_pending(path: Path) -> None:
    async with opened(path, connect=impatient) as store:
        await store.append("alice", inserts("a", "b"))
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM record").fetchone()
            report = await store.forget(Select("alice", ids=frozenset({"a"})))
            assert report.physical == "pending"
            assert report.reason
            assert await ids(store) == ["b"]
        assert (await store.compact()).physical == "wiped"


# ---- nobody's statement reaches another's rows

TENANT = ("record", "source", "history", "tombstone", "unit", "gone", "vector", "item", "batch")


async def test_every_statement_names_the_user(path: Path) -> None:
    """Statements that a user's operations send to SQLite: each statement on a table of users' data has a user in it."""
    seen: list[str] = []

    def traced(path: Path, mode: files.OpenMode) -> sqlite3.Connection:
        db = files.connect(path, mode)
        db.set_trace_callback(seen.append)
        return db

    async with opened(path, connect=traced) as store:
        seen.clear()
        await store.append("alice", [*inserts("a", "b"), TurnInsert(turn("-"), b"base")])
        await remember(store, observation("o", "a", name="n"), observation("p", "a", "b"))
        for stage in ("consolidate", "reflect", "embed"):
            for claim in await store.claim(stage, 2, 60):  # type: ignore[arg-type]
                await store.save_reply(claim, ChangeSet())
                await store.extend(claim, 60)
                await store.complete(claim, ChangeSet(done=claim.items))
        await store.fetch("alice", ["a", 1])
        await store.history("alice", "o")
        assert await ids(store, session="s", agent="x", text="t", filter={"a": 1}, pending="reflect") == []
        await store.changes("alice", 0)
        await store.stats("alice")
        await store.forget(Select("alice", ids=frozenset({"a"})))
        await store.add_tombstones("alice", ["x"])
        await store.unpark("reflect", "alice")
    statements = {re.sub(r"\s+", " ", text) for text in seen}
    touching = [text for text in statements if re.search(rf"\b(FROM|INTO|UPDATE|JOIN) ({'|'.join(TENANT)})\b", text)]
    assert len(touching) > 40
    for text in touching:
        assert re.search(r"\buser\"? = \d|VALUES \(\d|\(\"?user\"?,", text), text
