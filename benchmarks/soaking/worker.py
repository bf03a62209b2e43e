"""One process of ``soak.py``: run all operations of the public API concurrently on a shared store.

Each operation is reported as a line of JSON on stdout once it is acknowledged; deletions also before they start.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memscope import AsyncMemoryScope
from memscope.errors import MemscopeError
from memscope.records import Record, Scope, Turn, WorkReport
from memscope.stores.sqlite import SQLiteStore
from memscope.transfer.copy import copy

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring.stalls import Stalls
from soaking.model import ITEM

USERS = 200
CONCURRENT_OPERATIONS = 6  # concurrent operations
CALL_S = 60.0  # longer than any deadline
CACHE_MB = 16  # small enough to fill up in the first third, so that later growth is not the cache
STEPS = tuple(timedelta(hours=hours) for hours in (0, 0, 0, 2, -2, 24, -24))


def tell(**line: Any) -> None:
    """Write a line unbuffered, so that it survives if this process is killed."""
    os.write(1, (json.dumps(line) + "\n").encode())


def settings(url: str) -> dict[str, Any]:
    model = {"model": "m", "base_url": url, "key": "k", "deadline_s": 3.0, "query_deadline_s": 1.0}
    model |= {"first_pause_s": 0.05}
    return {
        "chat": model,
        "embedding": model,
        "lease_s": 3.0,
        "retry_s": 0.2,
        "idle_s": 1.0,
        "index_cache_mb": CACHE_MB,
        "plugins": {"allow": []},
    }


class Batches:
    """A plugin that records when a batch of each user was last finished."""

    def __init__(self) -> None:
        self.done: dict[str, float] = {}

    def memscope_after_consolidate(self, scope: Scope) -> None:
        self.done[scope.user] = time.monotonic()

    memscope_after_reflect = memscope_after_consolidate


class Process:
    """State of a process: its memory, and the known items of each user."""

    def __init__(self, memory: AsyncMemoryScope, batches: Batches, name: str, folder: Path) -> None:
        self.memory, self.batches, self.name, self.folder = memory, batches, name, folder
        self.chance = random.Random(name)
        self.made = 0
        self.keys: list[tuple[int, str, str]] = []  # user, key, item
        self.memories: list[tuple[int, str, str]] = []
        self.forgotten: set[str] = set()
        self.typed: Counter[str] = Counter()

    def item(self, user: int) -> str:
        self.made += 1
        return f"item-{user}-{self.name}-{self.made}"

    def any_user(self) -> int:
        return min(int(self.chance.expovariate(1 / 30)), USERS - 1)  # a few users get most operations

    def check(self, user: int, records: list[Record]) -> None:
        """Report other users' records, and items that this process knew to be forgotten before the call."""
        for record in records:
            for item in ITEM.findall(record.text):
                if record.scope.user != f"user-{user}" or not item.startswith(f"item-{user}-"):
                    tell(op="leaked", why="foreign", item=item)

    # ---- operations

    async def add(self) -> None:
        user = self.any_user()
        items = [self.item(user) for _ in range(self.chance.choice([1, 1, 2, 8]))]
        turns = [{"role": "user", "content": f"I keep {item} at home.", "id": f"id-{item}"} for item in items]
        turns.append({"role": "assistant", "content": None})
        for _ in range(20):  # a turn with an id can be resent until it is acknowledged
            try:
                report = await self.memory.add_turns(turns, user=f"user-{user}", session=f"s{self.chance.randrange(3)}")
            except MemscopeError as error:
                self.typed[error.code] += 1
                await asyncio.sleep(0.2)
                continue
            tell(op="added", items=items)
            self.keys += [(user, key, item) for key, item in zip(report.keys, items, strict=False)]
            return

    async def add_memory(self) -> None:
        user = self.any_user()
        item = self.item(user)
        made = await self.memory.add_memory(f"Remember {item}.", user=f"user-{user}")
        tell(op="added", items=[item])
        self.memories.append((user, made.id, item))

    async def update(self) -> None:
        if self.memories:
            user, id, item = self.chance.choice(self.memories)
            await self.memory.update(id, text=f"Remember {item} well.", user=f"user-{user}")

    async def forget(self) -> None:
        kept = self.chance.choice([self.keys, self.memories])
        if kept:
            user, id, item = kept.pop(self.chance.randrange(len(kept)))
            tell(op="forgetting", item=item)
            await self.memory.forget(ids=[id], user=f"user-{user}")
            tell(op="forgot", item=item)
            self.forgotten.add(item)

    async def retrieve(self) -> None:
        user, gone = self.any_user(), frozenset(self.forgotten)
        found = await self.memory.retrieve("What do I keep at home?", user=f"user-{user}", k=20)
        records: list[Record] = [one for hit in found for one in (hit.turn, hit.insight, *hit.observations) if one]
        self.check(user, records)
        self.check_gone(records, gone)

    async def list(self) -> None:
        user, gone = self.any_user(), frozenset(self.forgotten)
        records = await self.memory.list(user=f"user-{user}", limit=500)
        self.check(user, records)
        self.check_gone(records, gone)
        items = Counter((item, one.key) for one in records if isinstance(one, Turn) for item in ITEM.findall(one.text))
        for (item, _), times in items.items():
            if times > 1:
                tell(op="doubled", item=item)

    def check_gone(self, records: Any, gone: frozenset[str]) -> None:
        for item in gone.intersection(item for one in records for item in ITEM.findall(one.text)):
            tell(op="leaked", why="forgotten", item=item)

    async def consolidate(self) -> None:
        await self._work_off(self.memory.consolidate)

    async def reflect(self) -> None:
        await self._work_off(self.memory.reflect)

    async def _work_off(self, call: Callable[..., Awaitable[WorkReport]]) -> None:
        """Process all pending work of a user. The call counts as stuck if no batch finishes within ``CALL_S``."""
        user = f"user-{self.any_user()}"
        work = asyncio.ensure_future(call(user=user))
        try:
            while not (await asyncio.wait([work], timeout=CALL_S))[0]:
                if time.monotonic() - self.batches.done.get(user, 0.0) > CALL_S:
                    tell(op="stuck", call=call.__name__)
                    return
            await work
        finally:
            work.cancel()

    async def move(self) -> None:
        """Export and import. Records forgotten in between must stay forgotten."""
        path, user = self.folder / f"{self.item(0)}.jsonl", f"user-{self.any_user()}"
        try:
            await self.memory.admin.export(path, user=user)
            await self.memory.admin.import_(path)
        finally:
            path.unlink(missing_ok=True)

    async def backup(self) -> None:
        path = self.folder / f"{self.item(0)}.backup"
        try:
            await self.memory.admin.backup(path)
        finally:
            path.unlink(missing_ok=True)

    async def copy(self) -> None:
        target = SQLiteStore(self.folder / f"copy-{self.name.partition('x')[0]}.db")
        try:
            await copy(self.memory.admin.runtime.services.store, target, user=f"user-{self.any_user()}")
        finally:
            await target.close()

    async def upkeep(self) -> None:
        chosen = self.chance.random()
        if chosen < 0.5:
            await self.memory.admin.unpark()
        elif chosen < 0.8:
            await self.memory.admin.sweep(user=f"user-{self.any_user()}")
        elif chosen < 0.9:
            await self.memory.admin.compact()
        else:
            await self.memory.admin.status()

    async def line(self) -> None:
        weights = {
            self.add: 30, self.retrieve: 25, self.list: 5, self.add_memory: 5, self.update: 3, self.forget: 6,
            self.consolidate: 8, self.reflect: 5, self.move: 1, self.backup: 0.3, self.copy: 0.5, self.upkeep: 1,
        }  # fmt: skip
        while True:
            (call,) = self.chance.choices(list(weights), list(weights.values()))
            await self.attempt(call)
            await asyncio.sleep(self.chance.random() * 0.1)

    async def attempt(self, call: Callable[[], Awaitable[None]]) -> None:
        lasting = call in (self.consolidate, self.reflect)
        try:
            async with asyncio.timeout(None if lasting else CALL_S):
                await call()
            self.typed["ok"] += 1
        except MemscopeError as error:
            self.typed[error.code] += 1
        except TimeoutError:
            tell(op="stuck", call=call.__name__)
        except Exception as error:
            frames = [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)]
            tell(op="untyped", call=call.__name__, error=f"{type(error).__name__}: {error}"[:200], at=frames[-4:])


class SteppingClock:
    """A clock that jumps ahead and back."""

    step = STEPS[0]

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.step


# ---- faults


async def trouble(process: Process, clock: SteppingClock, store: Path) -> None:
    while True:
        await asyncio.sleep(process.chance.uniform(2, 8))
        clock.step = process.chance.choice(STEPS)
        if process.chance.random() < 0.5:
            await full_disk(store.with_name(f"{store.name}-wal"), process.chance.uniform(0.2, 1.0))


async def full_disk(wal: Path, seconds: float) -> None:
    """Prevent files of this process from growing beyond the current size of the WAL for some seconds."""
    size, hard = wal.stat().st_size if wal.exists() else 0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        await asyncio.sleep(seconds)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def measured() -> dict[str, int]:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "fds": len(os.listdir("/proc/self/fd")),
        "mb": pages * resource.getpagesize() >> 20,
        "blocks": sys.getallocatedblocks(),
    }


async def main(store: Path, url: str, name: str, seconds: float) -> None:
    clock = SteppingClock()
    stalls = Stalls(lambda ms, seen: tell(op="stall", ms=ms, at=seen))
    batches = Batches()
    async with AsyncMemoryScope(store, settings=settings(url), clock=clock, plugins=[batches]) as memory:
        await memory.admin.start()
        process = Process(memory, batches, name, store.parent)
        work = [process.line() for _ in range(CONCURRENT_OPERATIONS)] + [trouble(process, clock, store), stalls.tick()]
        tasks = [asyncio.create_task(one) for one in work]
        await asyncio.sleep(seconds / 3)
        early = measured()
        await asyncio.sleep(seconds * 2 / 3)
        late = measured()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    growth: dict[str, float] = {key: late[key] - early[key] for key in ("fds", "mb")}
    growth["blocks"] = round(late["blocks"] / early["blocks"], 2)
    tell(
        op="end",
        calls=process.typed,
        busy=stalls.busy,
        late_ms=round(stalls.late * 1000),
        gc_ms=round(stalls.longest_collection * 1000),
        **growth,
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])))
