"""Soak test: run all operations concurrently for a long time, with faults: what is lost, doubled, leaked, stuck?

    python benchmarks/soak.py --minutes 60

Four processes use one SQLite file through the public API for 200 users; three of them are killed at random and
restarted. Their HTTP model answers, fails or hangs; sometimes the disk is full or the clock jumps. An oracle records
acknowledged operations. At the end the model recovers, pending work is finished, and the store checked by the oracle.

    lost            acknowledged but missing, or without a fact
    doubled         stored twice, as a turn or as a fact
    leaked          another user's or forgotten
    stuck           still pending at the end, or a call of a minute (consolidate and reflect: without a finished batch)
    untyped         errors that are not memscope's
    stalls          steps of a task that computed for 100 ms on the event loop
    busy            passes of the event loop that took 100 ms in total, in the surviving process
    noticed         how many of two faked losses are detected, one of a turn and one of a forget
    gc_ms           longest garbage collection pause on the event loop, in the surviving process
    fds, memory_mb  growth in the last two thirds of the run, in the surviving process; SQLite's page caches (16 MB
                    for each of six connections) fill up in this time
    blocks          Python's allocated blocks at the end / after a third of the run, to detect leaks
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click
from soaking.model import ITEM, heal, server
from soaking.worker import USERS, settings

from memscope import AsyncMemoryScope
from memscope.records import Observation, Turn

PROCESSES = 4
SETTLE_S = 300.0
STATES, STAGES = ("pending", "failed", "parked"), ("consolidate", "reflect")
EVENTS = ("leaked", "doubled", "untyped", "stuck")
MAX_PRINTED_EVENTS = 5  # events printed per kind


class Oracle:
    """The operations that the processes reported, line by line."""

    def __init__(self) -> None:
        self.added: set[str] = set()
        self.forgetting: set[str] = set()
        self.forgot: set[str] = set()
        self.events: dict[str, list[dict[str, Any]]] = {name: [] for name in (*EVENTS, "stall", "end")}

    def hear(self, line: dict[str, Any]) -> None:
        match line["op"]:
            case "added":
                self.added.update(line["items"])
            case "forgetting":
                self.forgetting.add(line["item"])
            case "forgot":
                self.forgot.add(line["item"])
            case other:
                self.events[other].append(line)
                if len(self.events[other]) <= MAX_PRINTED_EVENTS:
                    click.echo(line, err=True)


async def follow(process: asyncio.subprocess.Process, oracle: Oracle) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        if line.endswith(b"\n"):  # skip an incomplete line
            oracle.hear(json.loads(line))


async def run_process(store: Path, url: str, number: int, ends: float, chance: random.Random, oracle: Oracle) -> int:
    """Run one process to the end, with random kills and restarts unless it is the first. Return the number of kills."""
    kills = 0
    while (left := ends - time.monotonic()) > 3:
        name = f"p{number}x{kills}"
        command = [sys.executable, str(Path(__file__).with_name("soaking") / "worker.py"), store, url, name, str(left)]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, limit=1 << 20)
        following = asyncio.create_task(follow(process, oracle))
        try:
            async with asyncio.timeout(chance.uniform(3, 20) if number else None):
                await process.wait()
        except TimeoutError:
            process.kill()
            kills += 1
        await following
        if await process.wait() > 0:
            oracle.hear({"op": "untyped", "call": "process", "error": f"ended with {process.returncode}"})
    return kills


async def settle(memory: AsyncMemoryScope) -> int:
    """Finish pending work with a working model, and return the number of turns still pending."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        await memory.admin.unpark()
        await memory.consolidate()
        for user in range(USERS):
            await memory.reflect(user=f"user-{user}")
        status = await memory.admin.status()
        left = sum(
            status[state][stage] for state in ("pending", "failed", "parked") for stage in ("consolidate", "reflect")
        )
        if not left or time.monotonic() > deadline:
            return left


async def compare(memory: AsyncMemoryScope, oracle: Oracle) -> Counter[str]:
    """Compare the store with the oracle."""
    found: Counter[str] = Counter()
    unlearned: set[str] = set()
    stands: set[str] = set()
    for user in range(USERS):
        records = await memory.list(user=f"user-{user}")
        turns = Counter(item for one in records if isinstance(one, Turn) for item in ITEM.findall(one.text))
        facts = Counter(item for one in records if isinstance(one, Observation) for item in ITEM.findall(one.text))
        named = {item for one in records for item in ITEM.findall(one.text)}
        found["doubled"] += sum(times > 1 for counts in (turns, facts) for times in counts.values())
        found["leaked"] += sum(not item.startswith(f"item-{user}-") for item in named) + len(named & oracle.forgot)
        unlearned |= turns.keys() - facts.keys()
        stands |= turns.keys()
    missing = oracle.added - oracle.forgetting - stands
    found["lost"] = len(missing) + len(unlearned)
    for name, items in (("missing", missing), ("without a fact", unlearned)):
        for item in sorted(items)[:MAX_PRINTED_EVENTS]:
            click.echo(f"{name}: {item}", err=True)
    return found


def tampered(oracle: Oracle) -> Oracle:
    """Copy the oracle with two faked losses: an item that was never added, and a forget that never happened."""
    made = Oracle()
    made.added, made.forgetting = oracle.added | {"item-0-never-1"}, oracle.forgetting
    made.forgot = oracle.forgot | {min(oracle.added - oracle.forgetting)}
    return made


async def soak(minutes: float, folder: Path) -> dict[str, Any]:
    oracle, store = Oracle(), folder / "memory.db"
    ends = time.monotonic() + minutes * 60
    with server() as model:
        url = model.base_url
        runs = [run_process(store, url, n, ends, random.Random(n), oracle) for n in range(PROCESSES)]
        kills = sum(await asyncio.gather(*runs))
        heal(model)
        async with AsyncMemoryScope(store, settings=settings(url)) as memory:
            left = await settle(memory)
            found = await compare(memory, oracle)
            noticed = await compare(memory, tampered(oracle))
            turns = (await memory.admin.status())["turns"]
    click.echo(f"pending in the end: {left}", err=True)
    steady = max(oracle.events["end"], key=lambda end: sum(end["calls"].values()), default={})
    return {
        "lost": found["lost"],
        "doubled": found["doubled"] + len(oracle.events["doubled"]),
        "leaked": found["leaked"] + len(oracle.events["leaked"]),
        "stuck": left + len(oracle.events["stuck"]),
        "untyped": len(oracle.events["untyped"]),
        "stalls": len(oracle.events["stall"]),
        "fds": steady.get("fds"),
        "memory_mb": steady.get("mb"),
        "blocks": steady.get("blocks"),
        "busy": steady.get("busy"),
        "gc_ms": steady.get("gc_ms"),
        "late_ms": steady.get("late_ms"),
        "noticed": noticed["lost"] - found["lost"] + noticed["leaked"] - found["leaked"],
        "calls": steady.get("calls"),
        "kills": kills,
        "added": len(oracle.added),
        "forgotten": len(oracle.forgot),
        "turns": turns,
    }


@click.command()
@click.option("--minutes", default=2.0, show_default=True)
def main(minutes: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        click.echo(json.dumps(asyncio.run(soak(minutes, Path(folder)))))


if __name__ == "__main__":
    main()
