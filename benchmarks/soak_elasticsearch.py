"""Load a cluster of three nodes while nodes are repeatedly killed and restarted.

    python benchmarks/soak_elasticsearch.py --seconds 60

Clients add turns, query, and consolidate with leases. Calls may only fail with retryable typed errors, and a retry must
succeed. Prints one JSON object: ``lost`` (acknowledged turns and their facts that are missing), ``doubled``, ``stuck``
(calls that never succeeded, and turns never consolidated), ``untyped`` errors, ``refused`` (typed errors that are not
retryable), ``stalls`` of the event loop, ``failed`` (calls that succeeded on retry), and ``longest_s``, the longest
time from a first attempt to success.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import click
from measuring.stalls import counted

from memscope import AsyncMemoryScope
from memscope.errors import LeaseLost, MemscopeError
from memscope.records import ChangeSet, Claim, Observation, Select, Turn, TurnInsert
from memscope.stores import Store
from memscope_elasticsearch import ElasticsearchStore
from memscope_testing.records import observation, turn

NODE = Path(__file__).parents[1] / "tests" / "servers" / "elasticsearch" / "node.py"
PORT, NODES = 19270, 3
USERS = [f"user-{number}" for number in range(20)]
WRITERS, ASKERS, WORKERS = 8, 4, 2
LEASE_S = 30.0
PATIENCE_S = 120.0  # for one call with its retries, and for the consolidation at the end
QUIET_S = (2.0, 6.0)  # range of the pauses before a kill and before a restart
T = TypeVar("T")


@dataclass
class Seen:
    lost: int = 0
    doubled: int = 0
    stuck: int = 0
    untyped: int = 0
    refused: int = 0
    failed: int = 0
    kills: int = 0
    turns: int = 0
    questions: int = 0
    longest_s: float = 0.0
    said: dict[str, str] = field(default_factory=dict, repr=False)  # acknowledged text -> user

    async def patiently(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """Retry until the call succeeds, as a client would. Return None if it is stuck or refused."""
        clock = asyncio.get_running_loop().time
        begin = clock()
        while clock() - begin < PATIENCE_S:
            try:
                done = await call()
            except LeaseLost:
                return None
            except MemscopeError as error:
                self.failed += 1
                if not error.retryable:
                    self.refused += 1
                    print(f"refused: {type(error).__name__}: {error}", file=sys.stderr)
                    return None
            except Exception as error:
                self.untyped += 1
                print(f"untyped: {type(error).__name__}: {error}", file=sys.stderr)
            else:
                self.longest_s = max(self.longest_s, round(clock() - begin, 1))
                return done
            await asyncio.sleep(random.uniform(0.05, 0.2))
        self.stuck += 1
        return None


# ---- the load


async def write(store: Store, seen: Seen, name: int) -> None:
    for number in count():
        key, user = f"{name}-{number}", random.choice(USERS)
        draft = TurnInsert(turn(key, f"words of {key}", user=user))
        if await seen.patiently(lambda user=user, draft=draft: store.append(user, [draft])):
            seen.said[f"words of {key}"] = user
        await asyncio.sleep(random.uniform(0, 0.1))


async def ask(memory: AsyncMemoryScope, seen: Seen) -> None:
    while True:
        user = random.choice(USERS)
        await seen.patiently(lambda user=user: memory.retrieve("Which words?", user=user))
        seen.questions += 1
        await asyncio.sleep(random.uniform(0, 0.2))


async def work(store: Store, seen: Seen) -> None:
    while True:
        for claim in await seen.patiently(lambda: store.claim("consolidate", 20, LEASE_S)) or ():
            facts = tuple(
                observation(os.urandom(8).hex(), key, user=claim.user, text=f"fact of {key}") for key in claim.items
            )
            plan = claim.change_set or ChangeSet(new=facts, done=claim.items)
            await seen.patiently(lambda claim=claim, plan=plan: complete(store, claim, plan))
        await asyncio.sleep(0.05)


async def complete(store: Store, claim: Claim, plan: ChangeSet) -> bool:
    if claim.change_set is None:
        await store.save_reply(claim, plan)
    await store.complete(claim)
    return True


# ---- faults


async def node(*what: str) -> None:
    child = await asyncio.create_subprocess_exec(sys.executable, str(NODE), *what, stdout=subprocess.DEVNULL)
    if await child.wait():
        raise RuntimeError(f"node.py {' '.join(what)} failed")


async def trouble(seen: Seen, seconds: float) -> None:
    """Repeatedly kill a node and restart it, until the time is over."""
    clock = asyncio.get_running_loop().time
    until = clock() + seconds
    while clock() < until:
        victim = str(PORT + random.randrange(NODES))
        await asyncio.sleep(random.uniform(*QUIET_S))
        await node("kill", "--port", victim)
        seen.kills += 1
        await asyncio.sleep(random.uniform(*QUIET_S))
        await node("revive", "--port", victim)


# ---- running it


async def checked(store: Store, seen: Seen) -> None:
    """Check that every acknowledged turn is stored once and has one fact."""
    for user in USERS:
        records = [record async for page in store.scan(Select(user)) for record in page]
        texts = Counter(record.text for record in records if isinstance(record, Turn))
        facts = Counter(record.text for record in records if isinstance(record, Observation))
        waiting = {r.key async for page in store.scan(Select(user, pending="consolidate")) for r in page}
        keys = {record.key for record in records if isinstance(record, Turn)}
        seen.turns += len(texts)
        seen.lost += sum(not texts[text] for text, whose in seen.said.items() if whose == user)
        seen.lost += sum(not facts[f"fact of {key}"] for key in keys - waiting)
        seen.doubled += texts.total() - len(texts) + facts.total() - len(facts)
        seen.stuck += len(waiting)


async def consolidated(store: Store) -> bool:
    stats = await store.stats()
    return not sum(counts["consolidate"] for counts in (stats.pending, stats.failed, stats.parked))


async def soak(seconds: float) -> Seen:
    hosts = ",".join(f"127.0.0.1:{port}" for port in range(PORT, PORT + NODES))
    store = ElasticsearchStore(f"elasticsearch://{hosts}/soak?replicas=1&lease_s=3&deadline_s=10&request_s=5")
    await store.open()
    seen, memory = Seen(), AsyncMemoryScope(store)
    load = [write(store, seen, name) for name in range(WRITERS)] + [ask(memory, seen) for _ in range(ASKERS)]
    tasks = [asyncio.create_task(one) for one in load]
    workers = [asyncio.create_task(work(store, seen)) for _ in range(WORKERS)]
    await trouble(seen, seconds)
    await ended(tasks, seen)
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while not await seen.patiently(lambda: consolidated(store)):
                await asyncio.sleep(0.2)
    await ended(workers, seen)
    await checked(store, seen)
    await memory.close()
    return seen


async def ended(tasks: Sequence[asyncio.Task[None]], seen: Seen) -> None:
    """Stop the load, and count tasks that failed before."""
    for task in tasks:
        task.cancel()
    for error in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(error, asyncio.CancelledError):
            seen.untyped += 1
            print(f"ended: {type(error).__name__}: {error}", file=sys.stderr)


async def whole(seconds: float) -> dict[str, Any]:
    await node("start", "--port", str(PORT), "--nodes", str(NODES), "--heap", "512m", "--seconds", "300")
    try:
        return asdict(await soak(seconds))
    finally:
        await node("stop", "--port", str(PORT), "--nodes", str(NODES))


@click.command()
@click.option("--seconds", type=float, default=60.0, show_default=True)
def main(seconds: float) -> None:
    found = asyncio.run(counted(whole(seconds)))
    del found["said"]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
