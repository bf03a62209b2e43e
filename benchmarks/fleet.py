"""Run a fleet on one Elasticsearch cluster: writers, ``memscope worker`` processes, many users, one to three nodes.

    python benchmarks/fleet.py --users 1000 --seconds 60
    python benchmarks/fleet.py --users 50 --seconds 10 --url http://127.0.0.1:19200    on a running node

Four processes add (two turns per call) and query; two workers consolidate and reflect with a model that answers
instantly. A cluster of several nodes loses one and gets it back: ``whole`` is before, ``away`` during, ``back`` after
the outage. All nodes share this machine's cores: the figures for one to three nodes show the cost of replicas and
coordination, not the gain of more machines. Prints one JSON object:

    adds_per_s, retrieve_ms_p50, retrieve_ms_p95, consolidated_per_s (turns)    per phase, as the clients see it
    node_cpu_ms, worker_cpu_ms, writer_cpu_ms    CPU per added turn, including queries and background work
    lost (acknowledged but gone, or without a fact), doubled, untyped
    stuck      turns pending with no progress for a minute, and calls never answered
    stalls     of a writer's event loop
    noticed    whether the check detects a loss that the harness fakes
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import click
from soaking.model import ITEM, heal, server

from memscope.errors import MemscopeError
from memscope.records import Observation, Select, Turn
from memscope_elasticsearch import ElasticsearchStore

HERE = Path(__file__).parent
NODE = HERE.parent / "tests" / "servers" / "elasticsearch" / "node.py"
PORT = 19283
WRITERS, WORKERS = 4, 2
SETTLE_S = 300.0
STUCK_S = 60.0  # time without a single consolidated turn
T = TypeVar("T")
Process = asyncio.subprocess.Process


@dataclass
class WriterReports:
    """Reports of the writers: acknowledged items, and (moment, turns, milliseconds) of each call."""

    said: dict[str, str] = field(default_factory=dict)  # item -> user
    adds: list[tuple[float, int, float]] = field(default_factory=list)
    retrieves: list[tuple[float, int, float]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    writer_cpu_s: float = 0.0

    def hear(self, line: dict[str, Any]) -> None:
        match line.pop("op"):
            case "add":
                self.said[line["item"]] = f"user-{line['item'].split('-')[1]}"
                self.adds.append((line["at"], line["turns"], line["ms"]))
            case "retrieve":
                self.retrieves.append((line["at"], 1, line["ms"]))
            case "end":
                self.writer_cpu_s += line.pop("cpu_s")
                self.seen.update(line)

    def turns(self) -> int:
        return sum(turns for _, turns, _ in self.adds)


@dataclass(frozen=True)
class Mark:
    """A moment between two phases of a run, and the number of turns consolidated until then."""

    at: float
    consolidated: int


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Retry until the cluster, which may have lost a node, answers."""
    until = time.monotonic() + SETTLE_S
    while True:
        try:
            return await call()
        except MemscopeError as error:
            if not error.retryable or time.monotonic() > until:
                raise
        await asyncio.sleep(0.2)


# ---- processes


async def run_node(*what: str) -> None:
    child = await asyncio.create_subprocess_exec(sys.executable, str(NODE), *what, stdout=subprocess.DEVNULL)
    if await child.wait():
        raise RuntimeError(f"node.py {' '.join(what)} failed")


async def start_writer(location: str, number: int, users: int) -> Process:
    command = [sys.executable, str(HERE / "fleets" / "writer.py"), location, f"p{number}", str(users)]
    writer = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdout is not None
    await writer.stdout.readline()  # wait until it has opened the store
    return writer


async def start_worker(location: str, model: str, home: str) -> Process:
    """Start the deployed program, with a home folder of its own."""
    settings = {"STORE": location, "CHAT__MODEL": "m", "CHAT__BASE_URL": model, "CHAT__KEY": "k"}
    settings |= {"IDLE_S": "1"}  # consolidate without waiting for full batches
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSCOPE_")}
    environment |= {f"MEMSCOPE_{name}": value for name, value in settings.items()}
    environment |= {"XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home}
    command = [sys.executable, "-m", "memscope_cli.app", "worker"]
    return await asyncio.create_subprocess_exec(*command, env=environment, stdout=subprocess.DEVNULL)


async def listen(process: Process, reports: WriterReports) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        reports.hear(json.loads(line))


@contextmanager
def ended(processes: list[Process]) -> Iterator[None]:
    """Kill all of them at the end of the block, even after an error."""
    try:
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                process.kill()


def cpu_s(process: Process) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- one cluster


async def mark(store: ElasticsearchStore) -> Mark:
    stats = await patiently(store.stats)
    return Mark(time.monotonic(), stats.turns - waiting(stats))


def waiting(stats: Any) -> int:
    return sum(counts["consolidate"] for counts in (stats.pending, stats.failed, stats.parked))


async def load(store: ElasticsearchStore, seconds: float, nodes: int) -> dict[str, tuple[Mark, Mark]]:
    """Run the load, and return start and end of each phase."""
    begin = await mark(store)
    await asyncio.sleep(seconds / min(nodes, 2))
    whole = await mark(store)
    if nodes == 1:
        return {"whole": (begin, whole)}
    await run_node("kill", "--port", str(PORT))
    await asyncio.sleep(seconds / 2)
    away = await mark(store)
    await run_node("revive", "--port", str(PORT))
    joined = await mark(store)
    await asyncio.sleep(seconds / 2)
    return {"whole": (begin, whole), "away": (whole, away), "back": (joined, await mark(store))}


def figures(reports: WriterReports, begin: Mark, end: Mark) -> dict[str, float]:
    seconds = end.at - begin.at
    added = sum(turns for at, turns, _ in reports.adds if begin.at <= at < end.at)
    taken = [ms for at, _, ms in reports.retrieves if begin.at <= at < end.at]
    return {
        "adds_per_s": round(added / seconds, 1),
        "retrieves_per_s": round(len(taken) / seconds, 1),
        "retrieve_ms_p50": round(statistics.median(taken), 1),
        "retrieve_ms_p95": round(statistics.quantiles(taken, n=20)[18], 1),
        "consolidated_per_s": round((end.consolidated - begin.consolidated) / seconds, 1),
    }


async def settled(store: ElasticsearchStore) -> int:
    """Wait until the workers finish or make no progress, and return the number of turns left."""
    left, until = waiting(await patiently(store.stats)), time.monotonic() + STUCK_S
    while left and time.monotonic() < until:
        await asyncio.sleep(0.5)
        if (now := waiting(await patiently(store.stats))) < left:
            left, until = now, time.monotonic() + STUCK_S
    return left


async def compare(store: ElasticsearchStore, said: Mapping[str, str]) -> Counter[str]:
    """Check that every acknowledged item is stored once, in a turn and in a fact of its user."""
    found: Counter[str] = Counter()
    turns, facts = Counter[str](), Counter[str]()
    for user in set(said.values()):
        records = [record async for page in store.scan(Select(user)) for record in page]
        turns.update(item for one in records if isinstance(one, Turn) for item in ITEM.findall(one.text))
        facts.update(item for one in records if isinstance(one, Observation) for item in ITEM.findall(one.text))
    found["lost"] = len(said.keys() - turns.keys()) + len(turns.keys() - facts.keys())
    found["doubled"] = sum(times > 1 for counts in (turns, facts) for times in counts.values())
    found["noticed"] = len({*said, "item-0-never-1"} - turns.keys()) - len(said.keys() - turns.keys())
    return found


async def node_cpu_ms(store: ElasticsearchStore) -> int:
    found = await patiently(lambda: store.cluster.request("GET", "/_nodes/stats/process"))
    return sum(node["process"]["cpu"]["total_in_millis"] for node in found["nodes"].values())


async def measured(hosts: str, nodes: int, users: int, seconds: float) -> dict[str, Any]:
    location = f"elasticsearch://{hosts}/fleet-{uuid4().hex[:8]}?shards={nodes}&replicas={int(nodes > 1)}&lease_s=5"
    store, reports = ElasticsearchStore(location), WriterReports()
    await store.open()
    with server() as model, tempfile.TemporaryDirectory() as home:
        heal(model)
        before = await node_cpu_ms(store)
        workers = [await start_worker(location, model.base_url, home) for _ in range(WORKERS)]
        writers = await asyncio.gather(*(start_writer(location, number, users) for number in range(WRITERS)))
        with ended([*writers, *workers]):
            listening = [asyncio.create_task(listen(writer, reports)) for writer in writers]
            parts = await load(store, seconds, nodes)
            for writer in writers:
                assert writer.stdin is not None
                writer.stdin.close()
            await asyncio.gather(*listening)
            left = await settled(store)
            worker_cpu_s = sum(map(cpu_s, workers))  # raises if a worker has died
            for worker in workers:
                worker.send_signal(signal.SIGTERM)
            codes = [await process.wait() for process in (*writers, *workers)]
        calls = model.counts["chat"]
    spent = await node_cpu_ms(store) - before
    found = await compare(store, reports.said)
    await removed(store)
    return {
        **{name: figures(reports, *marks) for name, marks in parts.items()},
        "turns": reports.turns(),
        "model_calls": calls,
        "node_cpu_ms": round(spent / reports.turns(), 2) if nodes == 1 else None,  # unknown for nodes that were killed
        "worker_cpu_ms": round(1000 * worker_cpu_s / reports.turns(), 2),
        "writer_cpu_ms": round(1000 * reports.writer_cpu_s / reports.turns(), 2),
        "lost": found["lost"],
        "doubled": found["doubled"],
        "stuck": left + reports.seen["stuck"] + sum(map(bool, codes)),
        "untyped": reports.seen["untyped"] + reports.seen["refused"],
        "failed": reports.seen["failed"],
        "stalls": reports.seen["stalls"],
        "noticed": found["noticed"],
    }


async def removed(store: ElasticsearchStore) -> None:
    for what in ("mem", "work"):
        await store.cluster.request("DELETE", f"/{store.options.prefix}-{what}-*", ignore_unavailable="true")
    await store.close()


async def on_own_nodes(nodes: int, users: int, seconds: float) -> dict[str, Any]:
    own = ("--port", str(PORT), "--nodes", str(nodes))
    await run_node("start", *own, "--heap", "512m", "--seconds", "300")
    try:
        return await measured(",".join(f"127.0.0.1:{PORT + n}" for n in range(nodes)), nodes, users, seconds)
    finally:
        await run_node("stop", *own)


async def fleet(nodes: tuple[int, ...], users: int, seconds: float, url: str | None) -> dict[str, Any]:
    if url is not None:
        found = {"nodes_1": await measured(url.removeprefix("http://"), 1, users, seconds)}
    else:
        found = {}
        for number in nodes:
            found[f"nodes_{number}"] = await on_own_nodes(number, users, seconds)
            print(f"nodes: {number}", json.dumps(found[f"nodes_{number}"]), file=sys.stderr)
    sums = {key: sum(one[key] for one in found.values()) for key in ("lost", "doubled", "stuck", "untyped")}
    noticed = min(one["noticed"] for one in found.values())
    return {**found, **sums, "noticed": noticed, "users": users, "shared_cores": os.cpu_count()}


@click.command()
@click.option("--users", default=1000, show_default=True)
@click.option("--seconds", default=60.0, show_default=True, help="Of the load on a cluster; more while a node is away.")
@click.option("--nodes", multiple=True, type=click.IntRange(1, 9), default=(1, 3), show_default=True)
@click.option("--url", help="A node that is there, instead of clusters of its own.")
def main(users: int, seconds: float, nodes: tuple[int, ...], url: str | None) -> None:
    print(json.dumps(asyncio.run(fleet(nodes, users, seconds, url))))


if __name__ == "__main__":
    main()
