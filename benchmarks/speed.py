"""Compare the cost of a retrieve with a lower bound, in one run, for one user unless ``--users`` is set.

    python benchmarks/speed.py --size 10000 [--users 1000] [--texts DATA] [--dims 384]

``floor`` is the minimum work of exact search in arrays (look up the terms, slice their postings, one concatenation, one
matrix-vector product). ``fts5`` gets the best 150 rows of SQLite's full-text search, without further ranking.
``fts5_ratio``: median CPU time of a retrieve / of ``fts5`` for the same queries, robust on a busy machine.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from measuring.datasets import conversations
from measuring.stalls import counted
from numpy.typing import NDArray

from memscope import AsyncMemoryScope
from memscope.languages.en.words import STOP_WORDS
from memscope.records import VectorSpace
from memscope.search.units import MAX_WHOLE_CHARS, chunks
from memscope.text.terms import terms

START = datetime(2025, 1, 1, tzinfo=UTC)
QUERIES, COLD = 80, 5
BATCH = 5000


class RandomVectors:
    """An embedder without cost: a random unit vector for every text, cached for queries."""

    languages = None

    def __init__(self, dims: int) -> None:
        self.space = VectorSpace("random", dims)
        self._queries: dict[str, NDArray[np.float32]] = {}

    async def measure(self) -> VectorSpace:
        return self.space

    async def embed(self, texts: Sequence[str], *, deadline_s: float | None = None) -> NDArray[np.float32]:
        rows = np.stack([np.random.default_rng(hash(text) & 0xFFFF).standard_normal(self.space.dims) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        if text not in self._queries:
            self._queries[text] = (await self.embed([text]))[0]
        return self._queries[text]


# ----------------------------------------------------------------------------------------------------------- the texts


def generated(seed: int = 0) -> Iterator[str]:
    """Yield short and long texts of invented, Zipf-distributed words, each text one unit."""
    chance = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    vocabulary = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(30_000)]
    weights = [1 / (rank + 20) for rank in range(len(vocabulary))]
    while True:
        length = max(3, int(chance.lognormvariate(3.5, 0.8)))
        yield " ".join(chance.choices(vocabulary, weights, k=length))[:MAX_WHOLE_CHARS]


def material(path: str | None) -> tuple[Iterator[str], Callable[[Sequence[str]], list[str]]]:
    """Return an endless iterator of texts, and a function that derives queries from texts."""
    if path is None:
        return generated(), _some_words
    told = [conversation for part in path.split(",") for conversation in conversations(part)]
    texts = [part for conversation in told for turn in conversation.turns for part in chunks(turn["content"])]
    questions = [question.text for conversation in told for question in conversation.questions]
    for told_or_asked in (texts, questions):
        random.Random(0).shuffle(told_or_asked)
    return cycle(texts), lambda _: questions[:QUERIES]


def _some_words(texts: Sequence[str]) -> list[str]:
    chance = random.Random(1)
    return [
        " ".join(chance.sample(text.split(), min(6, len(text.split())))) for text in chance.choices(texts, k=QUERIES)
    ]


def turns(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Build turns of two people: sessions of twenty turns, four sessions per day."""
    return [
        {
            "id": str(i),
            "role": "person",
            "speaker": ("Ada", "Ben")[i % 2],
            "content": text,
            "time": START + timedelta(hours=6 * (i // 20), seconds=30 * (i % 20)),
            "session": str(i // 20),
        }
        for i, text in enumerate(texts)
    ]


# ----------------------------------------------------------------------------------------------------------- the store


async def fill(memory: AsyncMemoryScope, user: str, texts: Sequence[str]) -> None:
    told = turns(texts)
    for start in range(0, len(told), BATCH):
        await memory.add_turns(told[start : start + BATCH], user=user)


Clock = Callable[[], float]


async def timed(
    memory: AsyncMemoryScope, queries: Sequence[str], user: str, clock: Clock = time.perf_counter
) -> list[float]:
    spent = []
    for query in queries:
        start = clock()
        await memory.retrieve(query, user=user)
        spent.append(1000 * (clock() - start))
    return spent


async def hot(memory: AsyncMemoryScope, queries: Sequence[str], user: str) -> list[float]:
    await timed(memory, queries, user)
    while memory.admin.runtime.services.store._sorting:  # type: ignore[attr-defined]
        await asyncio.sleep(0.05)
    return await timed(memory, queries, user)


async def cold(path: Path, dims: int, queries: Sequence[str], users: Sequence[str]) -> float:
    """Time the first query after opening the file."""
    spent = []
    for query, user in zip(queries[:COLD], cycle(users), strict=False):
        async with AsyncMemoryScope(path, embedder=RandomVectors(dims)) as memory:
            await memory.retrieve("warm up the interpreter", user="nobody")
            spent += await timed(memory, [query], user)
    return statistics.median(spent)


async def add(memory: AsyncMemoryScope, texts: Sequence[str], user: str) -> float:
    spent = []
    for text in texts:
        start = time.perf_counter()
        await memory.add_turns([{"role": "user", "content": text}], user=user)
        spent.append(1000 * (time.perf_counter() - start))
    return statistics.median(spent)


# ------------------------------------------------------------------------------------------------------ the comparison


Probe = Callable[[str], object]


def floor(texts: Sequence[str], dims: int) -> Probe:
    told = [terms(text) for text in texts]
    flat = np.array([term for one in told for term in one], np.uint32)
    rows = np.repeat(np.arange(len(told), dtype=np.int32), [len(one) for one in told])
    order = np.argsort(flat, kind="stable")
    vocabulary, starts = np.unique(flat[order], return_index=True)
    postings, starts = rows[order], np.append(starts, len(flat))
    matrix = np.random.default_rng(0).standard_normal((len(told), dims), dtype=np.float32)
    vector = matrix[0].copy()

    def ask(query: str) -> object:
        at = np.minimum(np.searchsorted(vocabulary, np.array(terms(query), np.uint32)), len(vocabulary) - 1)
        return np.concatenate([postings[starts[i] : starts[i + 1]] for i in at]), matrix @ vector

    return ask


def fts5(texts: Sequence[str], path: Path) -> Probe:
    """Build a contentless FTS5 table with two stemmed columns: the text, and the neighbouring texts.

    The word "scope1" stands for the user, since a contentless table has no other way to filter by user.
    """
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, around, content='', tokenize='porter unicode61')")
    around = (f"{before} {after}" for before, after in zip(["", *texts[:-1]], [*texts[1:], ""], strict=True))
    rows = zip(range(len(texts)), (f"scope1 {text}" for text in texts), around, strict=True)
    connection.executemany("INSERT INTO t(rowid, body, around) VALUES (?, ?, ?)", rows)
    connection.execute("INSERT INTO t(t) VALUES ('optimize')")
    connection.commit()

    def ask(query: str) -> object:
        asked = [word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS]
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(asked))
        best = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t, 1.0, 0.5) LIMIT 150"
        return connection.execute(best, [f"body : scope1 AND ({match})"]).fetchall()

    return ask


# --------------------------------------------------------------------------------------------------------- the figures


async def beside(
    memory: AsyncMemoryScope, queries: Sequence[str], user: str, probe: Probe, clock: Clock = time.perf_counter
) -> tuple[list[float], list[float]]:
    """Time retrieve and probe in alternation, so that neither has the CPU caches to itself."""
    retrieves, probes = [], []
    for query in queries:
        retrieves += await timed(memory, [query], user, clock)
        probes += alone([query], probe, clock)
    return retrieves, probes


def alone(queries: Sequence[str], probe: Probe, clock: Clock = time.perf_counter) -> list[float]:
    spent = []
    for query in queries:
        start = clock()
        probe(query)
        spent.append(1000 * (clock() - start))
    return spent


async def measure(size: int, users: int, texts: str | None, dims: int, folder: Path) -> dict[str, float]:
    endless, ask = material(texts)
    told = list(islice(endless, size))
    queries, path = ask(told), folder / "memory.db"
    async with AsyncMemoryScope(path, embedder=RandomVectors(dims)) as memory:
        await fill(memory, "user", told)
        while not await memory.flush():
            pass
        await hot(memory, queries, "user")
        matches = fts5(told, folder / "fts5.db")
        alone(queries, matches)
        spent, floors = await beside(memory, queries, "user", floor(told, dims))
        cpu, fts5_cpu = await beside(memory, queries, "user", matches, time.process_time)  # of all threads
        figures = {
            "retrieve_ms_p50": statistics.median(spent),
            "retrieve_ms_p95": statistics.quantiles(spent, n=20)[-1],
            "floor_ms_p50": statistics.median(floors),
            "fts5_ms_p50": statistics.median(alone(queries, matches)),
            "fts5_ratio": statistics.median(cpu) / statistics.median(fts5_cpu),
            "index_mb": memory.admin.runtime.services.store._cache.nbytes / 2**20,  # type: ignore[attr-defined]
            "add_ms_p50": await add(memory, told[:50], "another"),
        }
    figures["cold_ms"] = await cold(path, dims, queries, ["user"])
    figures["ratio"] = figures["retrieve_ms_p50"] / figures["floor_ms_p50"]
    if users > 1:
        figures |= await growth(path, users, told, queries, dims)
    return {name: round(value, 3) for name, value in figures.items()}


async def growth(path: Path, users: int, told: Sequence[str], queries: Sequence[str], dims: int) -> dict[str, float]:
    """Measure hot and cold retrieves with many users in the file, relative to one user; "growth" is the larger."""
    alone = await _hot_and_cold(path, queries, dims)
    async with AsyncMemoryScope(path) as memory:
        for user in range(1, users):
            await fill(memory, f"user{user}", told)
    many = await _hot_and_cold(path, queries, dims)
    warm, fresh = many[0] / alone[0], many[1] / alone[1]
    return {"growth": max(warm, fresh), "growth_hot": warm, "growth_cold": fresh}


async def _hot_and_cold(path: Path, queries: Sequence[str], dims: int) -> tuple[float, float]:
    async with AsyncMemoryScope(path, embedder=RandomVectors(dims)) as memory:
        warm = statistics.median(await hot(memory, queries, "user"))
    return warm, await cold(path, dims, queries, ["user"])


@click.command()
@click.option("--size", default=10_000, show_default=True, help="turns of a user")
@click.option("--users", default=1, show_default=True, help="users of that size in the file")
@click.option("--texts", help="conversations to take texts and questions from, instead of made-up ones")
@click.option("--dims", default=384, show_default=True)
def main(size: int, users: int, texts: str | None, dims: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(counted(measure(size, users, texts, dims, Path(folder))))))


if __name__ == "__main__":
    main()
