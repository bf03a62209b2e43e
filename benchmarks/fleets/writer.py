"""One writer of ``fleet.py``: clients that add turns and query until standard input is closed.

Every acknowledged call is reported on stdout as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from memscope import AsyncMemoryScope
from memscope.errors import MemscopeError

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring.stalls import Stalls

CLIENTS = 4
RETRIEVE_SHARE = 0.3  # share of the calls
PATIENCE_S = 120.0  # for a call with its retries
PAUSE_S = (0.05, 0.2)
TOWNS = ("Berlin", "Munich", "Lisbon", "Kyoto", "Oslo")


def tell(**line: Any) -> None:
    os.write(1, (json.dumps(line) + "\n").encode())


class Writer:
    def __init__(self, memory: AsyncMemoryScope, name: str, users: int) -> None:
        self.memory, self.name, self.users = memory, name, users
        self.chance = random.Random(name)
        self.made = 0
        self.seen: Counter[str] = Counter()

    async def client(self) -> None:
        while True:
            await (self.retrieve() if self.chance.random() < RETRIEVE_SHARE else self.add())

    async def add(self) -> None:
        user, self.made = self.chance.randrange(self.users), self.made + 1
        item = f"item-{user}-{self.name}-{self.made}"
        turns = [
            {"role": "user", "content": f"In {self.chance.choice(TOWNS)} I bought {item} for my sister.", "id": item},
            {"role": "assistant", "content": "That sounds like a good present.", "id": f"{item}-reply"},
        ]
        add = partial(self.memory.add_turns, turns, user=f"user-{user}", session="s")
        await self.told("add", add, item=item, turns=len(turns))

    async def retrieve(self) -> None:
        user, town = self.chance.randrange(self.users), self.chance.choice(TOWNS)
        await self.told("retrieve", partial(self.memory.retrieve, f"What did I buy in {town}?", user=f"user-{user}"))

    async def told(self, op: str, call: Callable[[], Awaitable[Any]], **more: Any) -> None:
        """Retry until the call succeeds, as a client would, and report how long that took."""
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE_S:
            try:
                await call()
                return tell(op=op, at=time.monotonic(), ms=round(1000 * (time.monotonic() - began), 2), **more)
            except MemscopeError as error:
                self.seen["failed"] += 1
                if not error.retryable:
                    self.seen["refused"] += 1
                    return print(f"refused: {type(error).__name__}: {error}", file=sys.stderr)
            except Exception as error:
                self.seen["untyped"] += 1
                print(f"untyped: {type(error).__name__}: {error}", file=sys.stderr)
            await asyncio.sleep(self.chance.uniform(*PAUSE_S))
        self.seen["stuck"] += 1


async def main(location: str, name: str, users: int) -> None:
    async with AsyncMemoryScope(location, settings={}) as memory:
        await memory.admin.status()
        tell(op="ready")
        writer, stalls = Writer(memory, name, users), Stalls()
        ticking = asyncio.create_task(stalls.tick())
        clients = [asyncio.create_task(writer.client()) for _ in range(CLIENTS)]
        await asyncio.to_thread(sys.stdin.read)
        for client in (*clients, ticking):
            client.cancel()
        ended = await asyncio.gather(*clients, return_exceptions=True)
        broke = [error for error in ended if not isinstance(error, asyncio.CancelledError)]
        tell(op="end", cpu_s=time.process_time(), **(writer.seen + Counter(untyped=len(broke), stalls=stalls.number)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
