"""The store of examples/duckdb_store is a store."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memscope.stores import Store
from memscope.testing.stores import StoreSuite

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from duckdb_store import DuckDBStore


class TestDuckDBStore(StoreSuite):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = DuckDBStore(tmp_path / "memory.duckdb")
        await store.open()
        yield store
        await store.close()
