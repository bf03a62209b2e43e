"""Compare Elasticsearch with SQLite on the same data: cost and growth of a retrieve, speed of adding turns.

    MEMSCOPE_TEST_ES_URL=http://127.0.0.1:19200 python benchmarks/elasticsearch.py --size 100000
    ... --users 1                  one user with all turns
    ... --dims 384                 with random vectors; --vectors flat for another field type

``growth``: time of a retrieve with ``--size`` turns relative to 10,000 turns. Queries alternate between these and
SQLite, with warm caches and after merges. ``grouped``: turns per second added by 1,000 concurrent users, relative to
one user who waits for each. ``cpu_ms``: CPU of the node and of this process per added turn (by 1,000 concurrent users,
and in batches) and per retrieve. ``forgotten``: one user's turns, by one call. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import click
import numpy as np
from measuring.stalls import counted

from memscope import AsyncMemoryScope
from memscope.records import ChangeSet, Select, TurnInsert, VectorSpace
from memscope.stores import Store
from memscope.stores.sqlite import SQLiteStore
from memscope_elasticsearch import ElasticsearchStore, Options, parse_location
from memscope_testing.records import turn

WORDS, VOCABULARY = 60, 30_000
SMALL = 10_000
BATCH = 500
QUESTIONS, ROUNDS = 100, 4
ADD_SECONDS = 8.0


@dataclass
class Said:
    """Seeded texts, the same for every store. Words are Zipf-distributed; a question has six words of one text."""

    size: int
    users: int
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def __post_init__(self) -> None:
        ranks = np.arange(1, VOCABULARY + 1)
        self.shares = np.cumsum(1 / ranks**1.07)
        self.queries = [self.chance.randrange(self.users) for _ in range(QUESTIONS)]

    def text(self, seed: int) -> str:
        drawn = np.random.default_rng(seed).random(WORDS) * self.shares[-1]
        return " ".join(f"word{rank}" for rank in np.searchsorted(self.shares, drawn))

    def user(self, number: int) -> str:
        return f"user-{number % self.users}"

    def questions(self) -> list[tuple[str, str]]:
        """Return new questions, one for each of a fixed selection of users."""
        numbers = [n + self.users * self.chance.randrange(self.size // self.users) for n in self.queries]
        return [(self.user(n), " ".join(self.chance.sample(self.text(n).split(), 6))) for n in numbers]


class Directions:
    """An instant embedder: unit vectors seeded by the text's hash."""

    def __init__(self, dims: int) -> None:
        self.space = VectorSpace("directions", dims)
        self.languages = None

    async def measure(self) -> VectorSpace:
        return self.space

    async def embed(self, texts: Sequence[str], **_: Any) -> list[Any]:
        made = [np.random.default_rng(abs(hash(text))).standard_normal(self.space.dims) for text in texts]
        return [(one / np.linalg.norm(one)).astype(np.float32) for one in made]

    async def embed_query(self, text: str, **_: Any) -> Any:
        return (await self.embed([text]))[0]


async def fill(store: Store, said: Said, dims: int | None) -> float:
    """Add turns of each user in sessions of twenty, and return turns per second."""
    begin = time.perf_counter()
    per_user = said.size // said.users
    numbers = [[n * said.users + user for n in range(per_user)] for user in range(said.users)]

    async def add(user: int, numbers: Sequence[int]) -> None:
        name = said.user(user)
        inserts = [
            TurnInsert(turn(f"k{n}", said.text(n), user=name, session=f"s{place // 20}"))
            for place, n in enumerate(numbers)
        ]
        for start in range(0, len(inserts), BATCH):
            part = inserts[start : start + BATCH]
            await store.append(name, part, ChangeSet(done=tuple(draft.turn.key for draft in part)))

    for start in range(0, said.users, 20):
        await asyncio.gather(*(add(user, numbers[user]) for user in range(start, min(start + 20, said.users))))
    taken = time.perf_counter() - begin
    if dims is not None:
        await embed(store, dims)
    return said.size / taken


async def embed(store: Store, dims: int) -> None:
    embedder = Directions(dims)
    await store.set_vector_space(embedder.space)
    while claims := await store.claim("embed", 1000, 600):
        for claim in claims:
            vectors = await embedder.embed(claim.texts)
            await store.complete(
                claim, ChangeSet(vectors=dict(zip(claim.items, vectors, strict=True)), done=claim.items)
            )


class Spent:
    """Measures the CPU time of a store's node and of this process since its creation."""

    def __init__(self, store: ElasticsearchStore, node_ms: float) -> None:
        self._store, self._node_ms, self._own_s = store, node_ms, time.process_time()

    @classmethod
    async def begin(cls, store: ElasticsearchStore) -> Spent:
        return cls(store, await node_cpu_ms(store))

    async def each(self, count: int) -> dict[str, float]:
        """Return the milliseconds per operation, for ``count`` operations."""
        own_ms = 1000 * (time.process_time() - self._own_s)
        node_ms = await node_cpu_ms(self._store) - self._node_ms
        return {"node": round(node_ms / count, 3), "client": round(own_ms / count, 3)}


async def node_cpu_ms(store: ElasticsearchStore) -> float:
    found = await store.cluster.request("GET", "/_nodes/stats/process")
    return sum(node["process"]["cpu"]["total_in_millis"] for node in found["nodes"].values())


async def adds(store: Store, users: int = 1000) -> tuple[int, float]:
    """Add turns by concurrent users, each waiting for acknowledgement. Return the number of turns and the seconds."""
    count, until = 0, time.perf_counter() + ADD_SECONDS
    said = Said(1, 1)
    text = said.text(1)

    async def say(user: str) -> None:
        nonlocal count
        while time.perf_counter() < until:
            await store.append(user, [TurnInsert(turn(uuid4().hex, text, user=user))])
            count += 1

    begin = time.perf_counter()
    await asyncio.gather(*(say(f"adder-{n}") for n in range(users)))
    return count, time.perf_counter() - begin


@dataclass
class Weighed:
    """Records the sizes of search responses."""

    kilobytes: list[float] = field(default_factory=list)

    def weigh(self, store: ElasticsearchStore) -> None:
        asked: Callable[..., Any] = store.cluster.searches

        async def searches(*args: Any, **more: Any) -> list[Any]:
            answers: list[Any] = await asked(*args, **more)
            text = json.dumps({"responses": answers}, separators=(",", ":"), ensure_ascii=False)
            self.kilobytes.append(len(text.encode()) / 1000)
            return answers

        store.cluster.searches = searches  # type: ignore[method-assign]

    def pairs(self) -> list[float]:
        """Add up the two responses of each search."""
        return [first + second for first, second in zip(self.kilobytes[::2], self.kilobytes[1::2], strict=False)]


@asynccontextmanager
async def store_of(chosen: Options) -> AsyncIterator[ElasticsearchStore]:
    """Open a store with indices of its own, which are deleted at the end."""
    store = ElasticsearchStore(replace(chosen, prefix=f"bench-{uuid4().hex[:8]}"))
    try:
        await store.open()
        yield store
    finally:
        for what in ("mem", "work"):
            await store.cluster.request("DELETE", f"/{store.options.prefix}-{what}-*", ignore_unavailable="true")
        await store.close()


async def settled(store: ElasticsearchStore) -> None:
    """Wait until merges are done and all turns are searchable."""
    for _ in range(300):
        await asyncio.sleep(3)
        found = await store.cluster.request("GET", f"/{store.options.prefix}-mem/_stats/merge")
        if not found["_all"]["total"]["merges"]["current"]:
            return
    raise TimeoutError("the node merges for ever")


class Asked:
    """A filled store, its questions, and the milliseconds that each took."""

    def __init__(self, store: Store, said: Said, dims: int | None) -> None:
        self.store, self.said = store, said
        self.memory = AsyncMemoryScope(store, embedder=Directions(dims) if dims else None)  # type: ignore[arg-type]
        self.taken: list[float] = []

    async def round(self) -> None:
        for user, question in self.said.questions():
            begin = time.perf_counter()
            await self.memory.retrieve(question, user=user)
            self.taken.append(1000 * (time.perf_counter() - begin))

    @property
    def p50(self) -> float:
        return statistics.median(self.taken)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.taken, n=20)[18]


async def timed(stores: Sequence[Asked]) -> None:
    """Query the stores in alternation, so that machine load affects all of them. The first round warms the caches."""
    for number in range(ROUNDS + 1):
        for asked in stores:
            await asked.round()
            if not number:
                asked.taken.clear()


async def forget(asked: Asked) -> tuple[int, float]:
    """Forget one user's turns with one call. Return their number and the seconds."""
    begin = time.perf_counter()
    report = await asked.store.forget(Select(asked.said.user(0)))
    return report.turns, time.perf_counter() - begin


async def compared(chosen: Options, size: int, users: int, dims: int | None) -> dict[str, Any]:
    said, few = (Said(turns, min(users, turns)) for turns in (size, min(size, SMALL)))
    with tempfile.TemporaryDirectory() as folder:
        file = SQLiteStore(Path(folder) / "memory.db")
        await file.open()
        async with store_of(chosen) as large, store_of(chosen) as small:
            before = large.cluster.refreshes
            filling = await Spent.begin(large)
            per_second = await fill(large, said, dims)
            filled = await filling.each(size)
            for store, its in ((small, few), (file, said)):
                await fill(store, its, dims)
            for store in (small, large):
                await settled(store)
            forced = 0 if dims else large.cluster.refreshes - before
            big, little, local = (Asked(store, its, dims) for store, its in ((large, said), (small, few), (file, said)))
            requests, refreshes = large.cluster.requests, large.cluster.refreshes
            await timed((big, little, local))
            requests, forced = large.cluster.requests - requests, forced + large.cluster.refreshes - refreshes
            weighed = Weighed()
            weighed.weigh(large)
            asking = await Spent.begin(large)
            await big.round()
            asked = await asking.each(QUESTIONS)
            stats = await large.cluster.request("GET", f"/{large.options.prefix}-mem/_stats/store")
            forgotten, forget_s = await forget(big)
        await file.close()
    return {
        "retrieve_ms_p50": big.p50,
        "retrieve_ms_p95": big.p95,
        "sqlite_ms_p50": local.p50,
        "response_kb": max(weighed.pairs()),
        "requests_per_retrieve": requests / (QUESTIONS * (ROUNDS + 1)),
        "growth": big.p50 / little.p50,
        "fill_per_s": per_second,
        "cpu_ms": {"add_in_batches": filled, "retrieve": asked},
        "bytes_per_unit": stats["_all"]["total"]["store"]["size_in_bytes"] / size,
        "forgotten": forgotten,
        "forget_s": forget_s,
        "forced_refreshes": forced,
    }


async def run(url: str, size: int, users: int, dims: int | None, vectors: str) -> dict[str, Any]:
    chosen = replace(parse_location(url.replace("http://", "elasticsearch://")), vectors=vectors, deadline_s=120.0)
    async with store_of(chosen) as store:
        alone, alone_s = await adds(store, 1)
        adding = await Spent.begin(store)
        together, together_s = await adds(store)
        added = await adding.each(together)
    found = await compared(chosen, size, users, dims)
    found["cpu_ms"] |= {"add": added}
    found |= {"adds_per_s": together / together_s, "grouped": together / together_s / (alone / alone_s), "size": size}
    return {name: value if isinstance(value, dict) else round(value, 2) for name, value in found.items()}


@click.command()
@click.option("--size", type=int, default=SMALL, show_default=True)
@click.option("--users", type=int, default=1000, show_default=True)
@click.option("--dims", type=int, help="length of vectors; none by default")
@click.option("--vectors", default=Options.vectors, show_default=True, help="type of the vector field")
@click.option("--url", default=lambda: os.environ.get("MEMSCOPE_TEST_ES_URL", "http://127.0.0.1:19200"))
def main(size: int, users: int, dims: int | None, vectors: str, url: str) -> None:
    print(json.dumps(asyncio.run(counted(run(url, size, users, dims, vectors)))))


if __name__ == "__main__":
    main()
