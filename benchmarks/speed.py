"""What a retrieve costs, and what nothing could do it for: everything measured in one run, one user unless ``--users``.

    python benchmarks/speed.py --size 10000 [--users 1000] [--texts DATA] [--dims 384]

``floor`` is the least that exact search in arrays does (look the terms up, slice their postings, one concatenate, one
matrix times the query's vector); ``fts5`` the best 150 of SQLite's own full-text search, before any ranking.
"""

from __future__ import annotations

import asyncio
import json
import random
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
from datasets import conversations
from numpy.typing import NDArray

from memscope import AsyncMemoryScope
from memscope.records import Space
from memscope.text import terms, words

START = datetime(2025, 1, 1, tzinfo=UTC)
QUERIES, WARM, COLD = 80, 6, 5
BATCH = 5000


class RandomVectors:
    """An embedder that costs nothing: a unit vector of its own for every text."""

    languages = None

    def __init__(self, dims: int) -> None:
        self.space = Space("random", dims)

    async def measure(self) -> Space:
        return self.space

    async def embed(self, texts: Sequence[str], *, deadline_s: float | None = None) -> NDArray[np.float32]:
        rows = np.stack([np.random.default_rng(hash(text) & 0xFFFF).standard_normal(self.space.dims) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        return (await self.embed([text]))[0]


# ----------------------------------------------------------------------------------------------------------- the texts


def generated(seed: int = 0) -> Iterator[str]:
    """Texts of made-up words, frequent and rare ones as in a language (Zipf), some long."""
    chance = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    vocabulary = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(30_000)]
    weights = [1 / (rank + 20) for rank in range(len(vocabulary))]
    while True:
        length = max(3, int(chance.lognormvariate(3.3, 0.9)))
        yield " ".join(chance.choices(vocabulary, weights, k=min(length, 400)))


def material(path: str | None) -> tuple[Iterator[str], Callable[[Sequence[str]], list[str]]]:
    """Endless texts, and queries to ask about them."""
    if path is None:
        return generated(), _some_words
    told = [conversation for part in path.split(",") for conversation in conversations(part)]
    texts = [turn["content"] for conversation in told for turn in conversation.turns]
    questions = [question.text for conversation in told for question in conversation.questions]
    random.Random(0).shuffle(questions)
    return cycle(texts), lambda _: questions[:QUERIES]


def _some_words(texts: Sequence[str]) -> list[str]:
    chance = random.Random(1)
    return [
        " ".join(chance.sample(text.split(), min(6, len(text.split())))) for text in chance.choices(texts, k=QUERIES)
    ]


def turns(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Two people, sessions of twenty turns, four sessions a day."""
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


async def timed(memory: AsyncMemoryScope, queries: Sequence[str], user: str) -> list[float]:
    spent = []
    for query in queries:
        start = time.perf_counter()
        await memory.retrieve(query, user=user)
        spent.append(1000 * (time.perf_counter() - start))
    return spent


async def hot(memory: AsyncMemoryScope, queries: Sequence[str], user: str) -> list[float]:
    await timed(memory, queries[:WARM], user)
    while memory._parts.store._sorting:  # type: ignore[attr-defined]
        await asyncio.sleep(0.05)
    return await timed(memory, queries, user)


async def cold(path: Path, dims: int, queries: Sequence[str], users: Sequence[str]) -> float:
    """The first question of a process that has just opened the file."""
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


def floor(texts: Sequence[str], queries: Sequence[str], dims: int) -> float:
    told = [terms(text) for text in texts]
    flat = np.array([term for one in told for term in one], np.uint32)
    rows = np.repeat(np.arange(len(told), dtype=np.int32), [len(one) for one in told])
    order = np.argsort(flat, kind="stable")
    vocabulary, starts = np.unique(flat[order], return_index=True)
    postings, starts = rows[order], np.append(starts, len(flat))
    matrix = np.random.default_rng(0).standard_normal((len(told), dims), dtype=np.float32)
    spent = []
    for query in queries:
        asked, vector = np.array(terms(query), np.uint32), matrix[0].copy()
        start = time.perf_counter()
        at = np.minimum(np.searchsorted(vocabulary, asked), len(vocabulary) - 1)
        np.concatenate([postings[starts[i] : starts[i + 1]] for i in at])
        matrix @ vector
        spent.append(1000 * (time.perf_counter() - start))
    return statistics.median(spent)


def fts5(texts: Sequence[str], queries: Sequence[str], path: Path) -> float:
    """Contentless, two columns (the words, and those of the neighbours), one scope in the file."""
    told = [" ".join(words(text)) for text in texts]
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, around, content='')")
    around = (f"{before} {after}" for before, after in zip(["", *told[:-1]], [*told[1:], ""], strict=True))
    connection.executemany(
        "INSERT INTO t(rowid, body, around) VALUES (?, ?, ?)", zip(range(len(told)), told, around, strict=True)
    )
    connection.commit()
    spent = []
    for query in queries:
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words(query)))
        start = time.perf_counter()
        connection.execute(
            "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t, 1.0, 0.5) LIMIT 150", [match]
        ).fetchall()
        spent.append(1000 * (time.perf_counter() - start))
    connection.close()
    return statistics.median(spent)


async def measure(size: int, users: int, texts: str | None, dims: int, folder: Path) -> dict[str, float]:
    endless, ask = material(texts)
    told = list(islice(endless, size))
    queries, path = ask(told), folder / "memory.db"
    async with AsyncMemoryScope(path, embedder=RandomVectors(dims)) as memory:
        await fill(memory, "user", told)
        while not await memory.flush():
            pass
        spent = await hot(memory, queries, "user")
        figures = {
            "retrieve_ms_p50": statistics.median(spent),
            "retrieve_ms_p95": statistics.quantiles(spent, n=20)[-1],
            "index_mb": memory._parts.store._cache.nbytes / 2**20,  # type: ignore[attr-defined]
            "add_ms_p50": await add(memory, told[:50], "another"),
        }
    figures["cold_ms"] = await cold(path, dims, queries, ["user"])
    figures["floor_ms_p50"] = floor(told, queries, dims)
    figures["fts5_ms_p50"] = fts5(told, queries, folder / "fts5.db")
    figures["ratio"] = figures["retrieve_ms_p50"] / figures["floor_ms_p50"]
    if users > 1:
        figures |= await growth(path, users, told, queries, dims, figures["cold_ms"])
    return {name: round(value, 3) for name, value in figures.items()}


async def growth(
    path: Path, users: int, told: Sequence[str], queries: Sequence[str], dims: int, cold_ms: float
) -> dict[str, float]:
    """Hot and cold with many users in the file against one; the larger of the two is the growth."""
    async with AsyncMemoryScope(path) as memory:
        alone = statistics.median(await hot(memory, queries, "user"))
        for user in range(1, users):
            await fill(memory, f"user{user}", told)
    async with AsyncMemoryScope(path) as memory:
        await memory.retrieve("warm up the interpreter", user="nobody")
        many = statistics.median(await hot(memory, queries, "user"))
    cold_many = await cold(path, dims, queries, ["user"])
    return {
        "growth": max(many / alone, cold_many / cold_ms),
        "growth_hot": many / alone,
        "growth_cold": cold_many / cold_ms,
    }


@click.command()
@click.option("--size", default=10_000, show_default=True, help="turns of a user")
@click.option("--users", default=1, show_default=True, help="users of that size in the file")
@click.option("--texts", help="conversations to take texts and questions from, instead of made-up ones")
@click.option("--dims", default=384, show_default=True)
def main(size: int, users: int, texts: str | None, dims: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(measure(size, users, texts, dims, Path(folder)))))


if __name__ == "__main__":
    main()
