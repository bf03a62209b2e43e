"""Compare PostgreSQL with SQLite: the same calls alternate between both in one run; prints ratios of medians.

``undisturbed`` is the ratio of the 10th percentiles, for machines that are busy with other work.

    python benchmarks/postgres.py [--sizes 1000,10000] [--users 1000]

Starts its own server (tests/servers/postgres.py), with fsync, and connects to its socket.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click

from memscope import AsyncMemoryScope
from memscope.stores.sqlite import SQLiteStore
from memscope_postgres import PostgresStore

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from servers.postgres import PostgresServer

WORDS = [f"word{n}" for n in range(3000)]
FILL_TURNS = 500  # per call
Call = Callable[[AsyncMemoryScope, int], Awaitable[Any]]


class Pair:
    """Two memories that receive the same calls."""

    def __init__(self, sqlite: AsyncMemoryScope, postgres: AsyncMemoryScope) -> None:
        self.memories = (sqlite, postgres)
        self.random = random.Random(7)

    def text(self, words: int = 20) -> str:
        return " ".join(self.random.choices(WORDS, k=words))

    def turns(self, count: int) -> list[dict[str, Any]]:
        return [{"role": "user", "content": self.text()} for _ in range(count)]

    async def fill(self, user: str, count: int) -> None:
        while count > 0:
            turns = self.turns(min(count, FILL_TURNS))
            for memory in self.memories:
                await memory.add_turns(turns, user=user)
            count -= FILL_TURNS

    async def compare(self, call: Call, times: int, before: Call | None = None) -> dict[str, float]:
        """Time the call on both in alternation. ``before`` runs before each call and is not timed."""
        seconds: tuple[list[float], list[float]] = ([], [])
        for n in range(times):
            for side in (0, 1) if n % 2 else (1, 0):
                if before is not None:
                    await before(self.memories[side], n)
                begin = time.perf_counter()
                await call(self.memories[side], n)
                seconds[side].append(time.perf_counter() - begin)
        sqlite, postgres = (round(statistics.median(side) * 1000, 2) for side in seconds)
        quick = [statistics.quantiles(side, n=10)[0] for side in seconds]
        ratios = {"ratio": round(postgres / sqlite, 2), "undisturbed": round(quick[1] / quick[0], 2)}
        return {"sqlite_ms": sqlite, "postgres_ms": postgres, **ratios}


async def measure(pair: Pair, sizes: list[int], users: int) -> dict[str, Any]:
    added = pair.turns(5000)
    queries = [pair.text(5) for _ in range(200)]

    async def forget_index(memory: AsyncMemoryScope, n: int) -> None:
        memory.admin.runtime.services.store._cache.clear()  # type: ignore[attr-defined]

    def add(count: int, user: str = "a") -> Call:
        return lambda memory, n: memory.add_turns(added[n * count : (n + 1) * count], user=user)

    async def of_fifty(memory: AsyncMemoryScope, n: int) -> None:
        await asyncio.gather(*(memory.add_turns([added[50 * n + i]], user=f"u{i}") for i in range(50)))

    async def of_one(memory: AsyncMemoryScope, n: int) -> None:
        await asyncio.gather(*(memory.add_turns([added[100 * n + i]], user="one") for i in range(100)))

    figures: dict[str, Any] = {
        "add 1": await pair.compare(add(1), 100),
        "add 100": await pair.compare(add(100, "b"), 20),
        "50 users at once": await pair.compare(of_fifty, 10),
        "one user, 100 at once": await pair.compare(of_one, 8),
    }
    for size in sizes:
        user = f"of {size}"
        await pair.fill(user, size)

        def ask(memory: AsyncMemoryScope, n: int, user: str = user) -> Awaitable[Any]:
            return memory.retrieve(queries[n], user=user)

        await pair.compare(ask, 10)
        figures[f"hot, {size} turns"] = await pair.compare(ask, 100)
        figures[f"after a write, {size} turns"] = await pair.compare(ask, 30, add(1, user))
        figures[f"cold, {size} turns"] = await pair.compare(ask, 8, forget_index)
    for n in range(users):
        for memory in pair.memories:
            await memory.add_turns(added[n : n + 10], user=f"many {n}")

    async def of_all(memory: AsyncMemoryScope, n: int) -> None:
        await asyncio.gather(*(memory.add_turns([added[1000 * n + i % 1000]], user=f"many {i}") for i in range(users)))

    figures[f"{users} users at once"] = at_once = await pair.compare(of_all, 5)
    for side in ("sqlite", "postgres"):
        at_once[f"{side}_adds_per_s"] = round(1000 * users / at_once[f"{side}_ms"])
    user = f"of {sizes[0]}"
    hot = await pair.compare(lambda memory, n: memory.retrieve(queries[n], user=user), 100)
    figures[f"hot, {sizes[0]} turns, beside {users} users"] = hot
    alone = figures[f"hot, {sizes[0]} turns"]  # SQLite's times show how busy the machine was
    figures["growth with users"] = round(hot["undisturbed"] / alone["undisturbed"], 2)
    return figures


async def run(sizes: list[int], users: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, PostgresServer(autovacuum_naptime="60s") as server:
        url = f"postgresql://memscope@/memscope?host={server.folder}&port={server.port}"
        sqlite = AsyncMemoryScope(SQLiteStore(Path(folder) / "memory.db"))
        async with sqlite, AsyncMemoryScope(PostgresStore(url)) as postgres:
            return await measure(Pair(sqlite, postgres), sizes, users)


@click.command()
@click.option("--sizes", default="1000,10000", help="turns of a user, of each size one")
@click.option("--users", type=int, default=1000)
def main(sizes: str, users: int) -> None:
    figures = asyncio.run(run([int(size) for size in sizes.split(",")], users))
    for name, figure in figures.items():
        print(f"{name:40s} {json.dumps(figure)}")
    print(json.dumps({"hot_ratio": max(one["ratio"] for name, one in figures.items() if name.startswith("hot"))}))


if __name__ == "__main__":
    main()
