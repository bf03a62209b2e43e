"""Measure how fast turns become durable: a thousand concurrent users, compared with a loop that commits each turn.

    python benchmarks/ingest.py [DATA] [--sync-ms 3.5] [--import N]

``turns_per_s``: 1,000 concurrent users, each adding one turn after another with ``add_turns``.
``commit_each_turns_per_s``: one turn after another, each with its own commit. ``locomo_s``: all conversations of DATA,
one session per call. The ratio depends on the disk, since the loop waits ``sync_ms`` (measured here) for each turn;
``--sync-ms`` slows down every commit by that time, as a slower disk would. ``stalls``: event loop stalls over 100 ms.

``--import N`` instead imports N turns (DATA repeated, 5,000 per user) while another user adds turn after turn:
``turns_per_s``, ``cpu_us`` per turn in this process and ``makers_cpu_us`` in the processes that derive units,
``add_ms_p50`` and ``add_ms_max`` of the other user, ``rss_mb`` (peak memory of this process), and ``left``, the turns
missing after the import was stopped half-way and restarted.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sqlite3
import statistics
import tempfile
import time
from itertools import cycle, groupby
from pathlib import Path
from typing import Any

import click
from measuring.datasets import Conversation, conversations
from measuring.stalls import counted

from memscope import AsyncMemoryScope
from memscope.records import Scope, Turn
from memscope.records.serialization import to_json
from memscope.search.unit_processes import IDLE_S
from memscope.stores.sqlite import SQLiteStore, files
from memscope.transfer.export_lines import EXPORT_FORMAT

USERS, TURNS = 1000, 20
TURNS_ONE_BY_ONE = 400
IMPORTED_PER_USER = 5000
WORDS = "I moved to a smaller flat near the river last week, and the cat still looks for the old window"


class SlowDisk(sqlite3.Connection):
    """A connection that delays every commit with changes."""

    seconds = 0.0

    def execute(self, statement: str, /, *values: Any) -> sqlite3.Cursor:
        waits = statement == "COMMIT" and self.total_changes != getattr(self, "_seen", 0)
        cursor = super().execute(statement, *values)
        if waits and self.seconds:
            self._seen = self.total_changes
            time.sleep(self.seconds)
        return cursor


def connect(path: Path, mode: files.OpenMode) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, factory=SlowDisk)


def sync_ms(folder: Path) -> float:
    """Measure the milliseconds of a small write with fsync."""
    file, times = os.open(folder / "probe", os.O_RDWR | os.O_CREAT), []
    for number in range(100):
        begin = time.perf_counter()
        os.pwrite(file, os.urandom(8192), number * 8192)
        os.fsync(file)
        times.append((time.perf_counter() - begin) * 1000)
    os.close(file)
    return statistics.median(times)


def said(user: int, number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"{WORDS}, {user}, {number}."}]


async def together(memory: AsyncMemoryScope) -> float:
    async def one(user: int) -> None:
        for number in range(TURNS):
            await memory.add_turns(said(user, number), user=f"user-{user}", session="s")

    begin = time.perf_counter()
    await asyncio.gather(*map(one, range(USERS)))
    return USERS * TURNS / (time.perf_counter() - begin)


async def one_by_one(memory: AsyncMemoryScope) -> float:
    begin = time.perf_counter()
    for number in range(TURNS_ONE_BY_ONE):
        await memory.add_turns(said(number % USERS, -number), user=f"user-{number % USERS}", session="s")
    return TURNS_ONE_BY_ONE / (time.perf_counter() - begin)


async def add_all(memory: AsyncMemoryScope, data: list[Conversation]) -> float:
    begin = time.perf_counter()
    for conversation in data:
        for session, turns in groupby(conversation.turns, lambda turn: turn.get("session")):
            await memory.add_turns(list(turns), user=conversation.id, session=session)
    return time.perf_counter() - begin


async def measure(folder: Path, data: Path | None) -> dict[str, float | None]:
    store = SQLiteStore(folder / "memory.db", connect=connect if SlowDisk.seconds else files.connect)
    async with AsyncMemoryScope(store, settings={}) as memory:
        result: dict[str, float | None] = {"commit_each_turns_per_s": round(await one_by_one(memory))}
        result["turns_per_s"] = round(await together(memory))
        result["locomo_s"] = round(await add_all(memory, list(conversations(data))), 3) if data else None
        assert (await store.stats()).turns >= USERS * TURNS
    return result


def exported(path: Path, number: int, data: Path) -> None:
    """Write an export of ``number`` turns."""
    told = [
        (turn, to_json(Turn("", Scope(""), turn["role"], turn["speaker"], turn["content"], turn["time"], turn["time"])))
        for conversation in conversations(data)
        for turn in conversation.turns
    ]
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"memscope": EXPORT_FORMAT, "secret": os.urandom(32).hex()}) + "\n")
        for index, (turn, record) in zip(range(number), cycle(told), strict=False):
            record |= {"key": str(index), "scope": [f"user{index // IMPORTED_PER_USER}", None, turn["session"]]}
            file.write(json.dumps({"turn": record, "pending": True}) + "\n")
        file.write(json.dumps({"end": number + 1}) + "\n")


def spent() -> float:
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


async def imported(folder: Path, number: int, data: Path) -> dict[str, float]:
    path, waits, ended = folder / "export.jsonl", list[float](), asyncio.Event()
    exported(path, number, data)
    async with AsyncMemoryScope(folder / "memory.db", settings={}) as memory:

        async def other() -> None:
            while not ended.is_set():
                begin = time.perf_counter()
                await memory.add_turns(said(0, len(waits)), user="another", session="s")
                waits.append(1000 * (time.perf_counter() - begin))
                await asyncio.sleep(0.02)

        adding, begin, cpu = asyncio.create_task(other()), time.perf_counter(), spent()
        first = asyncio.create_task(memory.admin.import_(path, strict=False))
        while (await memory.admin.runtime.services.store.stats()).turns < number / 2 and not first.done():
            await asyncio.sleep(0.1)
        first.cancel()
        await asyncio.wait([first])
        counts = await memory.admin.import_(path, strict=False)
        took, cpu = time.perf_counter() - begin, spent() - cpu
        ended.set()
        await adding
        stored = (await memory.admin.runtime.services.store.stats()).turns - len(waits)
    await asyncio.sleep(2 * IDLE_S)  # until idle processes have ended
    makers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "turns_per_s": round(number / took),
        "cpu_us": round(1e6 * cpu / number, 1),
        "makers_cpu_us": round(1e6 * (makers.ru_utime + makers.ru_stime) / number, 1),
        "add_ms_p50": round(statistics.median(waits), 1),
        "add_ms_max": round(max(waits), 1),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "left": number - stored,
        "known": counts["turn_duplicate"],
    }


@click.command()
@click.argument("data", type=click.Path(exists=True, path_type=Path), required=False)
@click.option("--sync-ms", "slower", type=float, default=0.0, help="Let every commit take this much longer.")
@click.option("--import", "imports", type=int, help="Import so many turns instead.")
def main(data: Path | None, slower: float, imports: int | None) -> None:
    SlowDisk.seconds = slower / 1000
    with tempfile.TemporaryDirectory() as folder:
        if imports:
            if not data:
                raise click.UsageError("--import needs DATA")
            print(json.dumps(asyncio.run(imported(Path(folder), imports, data))))
            return
        probed = sync_ms(Path(folder)) + slower
        result = asyncio.run(counted(measure(Path(folder), data)))
    ratio = result["turns_per_s"] / result["commit_each_turns_per_s"]
    print(json.dumps({**result, "ratio": round(ratio, 1), "sync_ms": round(probed, 2)}))


if __name__ == "__main__":
    main()
