"""PostgresStore is a store on a real server, and what it promises beyond that."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memscope.stores import Store
from memscope_postgres import PostgresOptions, PostgresStore
from memscope_testing.stores import StoreSuite


class TestPostgresStore(StoreSuite):
    @pytest.fixture
    async def store(self, place: PostgresOptions) -> AsyncIterator[Store]:
        self.opened = [PostgresStore(place)]
        await self.opened[0].open()
        yield self.opened[0]
        for store in self.opened:
            await store.close()

    async def reopen(self, store: Store) -> Store:
        await store.close()
        self.opened.append(PostgresStore(self.opened[0].options))
        await self.opened[-1].open()
        return self.opened[-1]
