"""InMemoryStore is a store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from memscope.records import Select, VectorSpace
from memscope.stores import Store
from memscope.stores.memory import InMemoryStore
from memscope_testing.contract.leases import claim_one
from memscope_testing.records import PAST, inserts
from memscope_testing.stores import StoreSuite


class TestInMemoryStore(StoreSuite):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = InMemoryStore()
        await store.open()
        yield store
        await store.close()

    def files(self, store: Store) -> Iterable[Path]:
        return ()


async def test_a_failed_batch_does_not_count_units_that_are_gone() -> None:
    store = InMemoryStore()
    await store.set_vector_space(VectorSpace("small", 4))
    await store.append("alice", inserts("a", "b"))
    await store.fail(await claim_one(store, "embed"), "model_timeout", PAST)
    await store.forget(Select("alice", ids=frozenset({"a"})))
    assert (await store.stats("alice")).failed["embed"] == 1
