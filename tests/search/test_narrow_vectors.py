"""Vectors as bytes without simsimd: compared as float32 are, and widened when they are asked again."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memscope.errors import StoreCorrupt
from memscope.records import ChangeSet, Scope, Search, Turn, TurnInsert, VectorSpace
from memscope.search import vectors as module
from memscope.search.snapshot import ScopeIndex
from memscope.search.vectors import NUMBERS_PER_BLOCK, VectorMatrix, pack
from memscope.stores.local import LocalStore
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope.text.terms import terms


@pytest.mark.parametrize(
    "shape", [(0, 0), (0, 4), (1, 1), (NUMBERS_PER_BLOCK // 64 * 2 + 1, 64), (3, NUMBERS_PER_BLOCK + 1)]
)
def test_cosines_are_those_of_widened_vectors(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "simsimd", lambda: None)
    narrow = VectorMatrix(*pack(np.random.default_rng(0).standard_normal(shape)))
    asked = np.random.default_rng(1).standard_normal(shape[1]).astype(np.float32)
    wide = narrow.widened()
    assert (wide.rows.dtype, wide.scale) == (np.float32, None)
    np.testing.assert_allclose(narrow.cosines(asked), wide.cosines(asked), rtol=1e-4, atol=1e-2)


# ---- in an index

SPACE, START = VectorSpace("test", 4), datetime(2024, 3, 1, 9, tzinfo=UTC)


async def add(store: LocalStore, said: dict[str, list[float]]) -> None:
    turns = [Turn(key, Scope("alice"), "user", "Ada", "Berlin", START, START) for key in said]
    await store.append("alice", [TurnInsert(one) for one in turns])
    for claim in await store.claim("embed", 100, 60):
        given = dict(zip(claim.items, (np.array(one, np.float32) for one in said.values()), strict=True))
        await store.complete(claim, ChangeSet(vectors=given, done=claim.items))


async def ask(store: InMemoryStore) -> tuple[str, list[float]]:
    """Return the type of the index's vectors after a search and what it began, and the cosines."""
    vector = np.array([1, 0, 0, 0], np.float32)
    found = await store.search(Search(Scope("alice"), tuple(terms("Berlin")), vector=vector, space=SPACE))
    await asyncio.gather(*store._sorting.values())
    entry = store._cache.get("alice")
    assert entry is not None
    return str(entry.snapshot.vectors.rows.dtype), [round(one, 2) for one in found.cosine.tolist()]


async def test_many_vectors_are_widened_when_they_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WIDE_AT_ONCE", 0)
    monkeypatch.setattr(module, "simsimd", lambda: None)
    store = InMemoryStore()
    await store.set_vector_space(SPACE)
    await add(store, {"1": [1, 0, 0, 0], "2": [0, 1, 0, 0], "3": [0.6, 0.8, 0, 0]})
    assert await ask(store) == ("int8", [1, 0, 0.6])
    assert await ask(store) == ("float32", [1, 0, 0.6])
    await add(store, {"4": [0, 0, 1, 0]})
    assert await ask(store) == ("float32", [1, 0, 0.6, 0])


async def test_vectors_that_come_later_find_the_first_ones_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WIDE_AT_ONCE", 0)
    monkeypatch.setattr(module, "simsimd", lambda: None)
    store = InMemoryStore()
    await store.set_vector_space(SPACE)
    await add(store, {"1": [1, 0, 0, 0], "2": [0.6, 0.8, 0, 0]})
    assert await ask(store) == ("int8", [1, 0.6])
    await add(store, {"3": [0.8, 0.6, 0, 0]})
    assert await ask(store) == ("float32", [1, 0.6, 0.8])


async def test_vectors_that_come_while_an_index_without_any_is_sorted_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WIDE_AT_ONCE", 0)
    monkeypatch.setattr(module, "simsimd", lambda: None)
    index = ScopeIndex()
    store = InMemoryStore()
    await store.set_vector_space(SPACE)
    turns = [Turn(str(n), Scope("alice"), "user", "Ada", "Berlin", START, START) for n in range(2)]
    await store.append("alice", [TurnInsert(one) for one in turns])
    before = await store.changes("alice", 0)
    bare = index.extend(before)
    for claim in await store.claim("embed", 100, 60):
        given = dict.fromkeys(claim.items, np.array([1, 0, 0, 0], np.float32))
        await store.complete(claim, ChangeSet(vectors=given, done=claim.items))
    later = index.extend(await store.changes("alice", before.revision), bare)
    adopted = index.adopt(bare.sorted(), later)
    assert (adopted.vectors.rows.shape, adopted.vectors.rows.dtype) == ((2, 4), np.int8)
    assert adopted.postings is not None


async def test_a_stored_vector_that_was_cut_is_named(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    await store.set_vector_space(SPACE)
    await add(store, {"1": [1, 0, 0, 0], "2": [0.6, 0.8, 0, 0]})
    await store.close()
    with closing(sqlite3.connect(tmp_path / "memory.db")) as db, db:
        db.execute("UPDATE vector SET data = substr(data, 1, 5) WHERE seq = 2")
    again = SQLiteStore(tmp_path / "memory.db")
    with pytest.raises(StoreCorrupt, match="wrong length"):
        await again.changes("alice", 0)
    await again.close()
