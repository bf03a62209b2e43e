"""ElasticsearchStore is a store on a real node, and what it promises beyond that."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

pytest.importorskip("elasticsearch")

from memscope.stores import Store
from memscope.stores.elasticsearch import ElasticsearchStore, options
from memscope.testing.stores import StoreSuite

URL = os.environ.get("MEMSCOPE_TEST_ES_URL", "")
needs_node = pytest.mark.skipif(not URL, reason="MEMSCOPE_TEST_ES_URL is not set; see tests/servers/elasticsearch")


def location(prefix: str) -> str:
    return URL.replace("http://", "elasticsearch://") + f"/{prefix}"


async def remove(store: ElasticsearchStore) -> None:
    """The indices of a test."""
    last = ElasticsearchStore(store.options)
    for alias in (last._shop.names.memory, last._shop.names.work):
        await last.cluster.request("DELETE", f"/{alias}-*", ignore_unavailable="true")
    await last.close()


@needs_node
class TestElasticsearchStore(StoreSuite):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        chosen = options(location(f"test-{secrets.token_hex(4)}"))
        self.opened = [ElasticsearchStore(replace(chosen, lease_s=5.0))]
        await self.opened[0].open()
        yield self.opened[0]
        for store in self.opened:
            await store.close()
        await remove(self.opened[0])

    async def reopen(self, store: Store) -> Store:
        await store.close()
        again = ElasticsearchStore(self.opened[0].options)
        await again.open()
        self.opened.append(again)
        return again
