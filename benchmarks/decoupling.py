"""Time retrieves while the chat model hangs: ``python benchmarks/decoupling.py [--seconds S] [--rounds N]``.

Alternates retrieves on their own with retrieves while consolidation waits for its model, on one SQLite file. Prints one
JSON object: ``ratio`` of the two medians; ``while_waiting`` is the number of retrieves behind the second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measuring.stalls import counted

from memscope import AsyncMemoryScope

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from servers.faults import FaultServer

USER = "alice"
TURNS = 1000
TOWNS = ("Berlin", "Munich", "Lisbon", "Kyoto", "Oslo")


async def fill(memory: AsyncMemoryScope) -> None:
    said = [f"On trip {n} to {TOWNS[n % 5]} I bought {n} stamps and wrote to friend {n % 37}." for n in range(TURNS)]
    await memory.add_turns([{"role": "user", "content": text} for text in said], user=USER)


async def timed(memory: AsyncMemoryScope, query: str) -> float:
    began = time.perf_counter()
    await memory.retrieve(query, user=USER)
    return time.perf_counter() - began


async def alone(memory: AsyncMemoryScope, count: int) -> list[float]:
    return [await timed(memory, f"stamps from {TOWNS[n % 5]} for friend {n % 37}") for n in range(count)]


async def during(memory: AsyncMemoryScope, server: FaultServer, count: int) -> list[float]:
    """Time up to ``count`` retrieves, from the call of the model until it answers."""
    asked = server.counts["chat"]
    work = asyncio.create_task(memory.consolidate(user=USER))
    while server.counts["chat"] == asked:
        await asyncio.sleep(0.01)
    times = []
    while not work.done() and len(times) < count:
        times += await alone(memory, 1)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return times


async def measure(seconds: float, rounds: int, count: int) -> dict[str, float]:
    with (
        FaultServer(latency={"dist": "constant", "seconds": seconds}) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        chat = {"model": "test-chat", "base_url": server.base_url, "key": "none"}
        async with AsyncMemoryScope(Path(folder) / "memory.db", settings={"chat": chat}) as memory:
            await fill(memory)
            await alone(memory, count)
            quiet, busy = [], []
            for _ in range(rounds):
                quiet += await alone(memory, count)
                busy += await during(memory, server, count)
    ratio = statistics.median(busy) / statistics.median(quiet)
    alone_ms = round(1000 * statistics.median(quiet), 3)
    return {"ratio": round(ratio, 3), "alone_ms": alone_ms, "while_waiting": len(busy)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="that the model takes")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--count", type=int, default=200, help="retrieves a round, each way")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(counted(measure(given.seconds, given.rounds, given.count)))))
