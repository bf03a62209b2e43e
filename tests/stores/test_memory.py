"""InMemoryStore is a store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memscope.stores import Store
from memscope.stores.memory import InMemoryStore
from memscope.testing.stores import StoreSuite


class TestInMemoryStore(StoreSuite):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = InMemoryStore()
        await store.open()
        yield store
        await store.close()
