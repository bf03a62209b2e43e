"""The node that MEMSCOPE_TEST_ES_URL names: indices of a test's own on it, which go in the end."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from memscope.records import Scope, Search
from memscope.stores import Store
from memscope.text.terms import terms
from memscope_elasticsearch import ElasticsearchStore, Options

URL = os.environ.get("MEMSCOPE_TEST_ES_URL", "")
needs_node = pytest.mark.skipif(not URL, reason="MEMSCOPE_TEST_ES_URL is not set; see tests/servers/elasticsearch")


def location(prefix: str) -> str:
    return URL.replace("http://", "elasticsearch://") + f"/{prefix}"


async def remove(store: ElasticsearchStore) -> None:
    """The indices of a test."""
    last = ElasticsearchStore(store.options)
    for alias in (last._session.names.memory, last._session.names.work):
        await last.cluster.request("DELETE", f"/{alias}-*", ignore_unavailable="true")
    await last.close()


@asynccontextmanager
async def opened(place: Options) -> AsyncIterator[ElasticsearchStore]:
    """The store as another process would open it."""
    store = ElasticsearchStore(place)
    try:
        await store.open()
        yield store
    finally:
        await store.close()


async def texts(store: Store, query: str, user: str = "alice", **conditions: Any) -> set[str]:
    pool = await store.search(Search(Scope(user), tuple(dict.fromkeys(terms(query))), **conditions))
    return {record.text for record in (await store.fetch(user, list(pool.handle))).records.values()}


class Killed(BaseException):
    """The process ends here: nothing after it is done."""
