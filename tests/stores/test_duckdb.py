"""The store of examples/duckdb_store is a store."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memscope.stores import Store
from memscope.testing.records import ids, inserts
from memscope.testing.stores import StoreSuite

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from duckdb_store import DuckDBStore


class TestDuckDBStore(StoreSuite):
    """In memory, where a commit waits for no disk."""

    machine_examples = 8

    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = DuckDBStore(":memory:")
        await store.open()
        yield store
        await store.close()


async def test_a_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    for keys in (["a", "b"], ["b", "c"]):
        store = DuckDBStore(path)
        await store.open()
        await store.append("alice", inserts(*keys))
        await store.close()
    store = DuckDBStore(path)
    assert await ids(store) == ["a", "b", "c"]
    await store.close()
