"""SQLiteStore is a store, and what it promises beyond that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memscope.stores import Store
from memscope.stores.sqlite import SQLiteStore
from memscope.testing.stores import StoreSuite


class TestSQLiteStore(StoreSuite):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        self.opened: list[SQLiteStore] = [SQLiteStore(tmp_path / "memory.db")]
        await self.opened[0].open()
        yield self.opened[0]
        for store in self.opened:
            await store.close()

    async def reopen(self, store: Store) -> Store:
        await store.close()
        again = SQLiteStore(self.opened[0].path)
        await again.open()
        self.opened.append(again)
        return again
