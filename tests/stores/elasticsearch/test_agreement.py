"""Elasticsearch agrees with the reference: the same calls have the same answers."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from memscope.stores import Store
from memscope_elasticsearch import ElasticsearchStore, parse_location
from stores.elasticsearch.node import location, needs_node, remove
from stores.sides import Clock, compare
from stores.test_agreement import RANDOM, choice, in_memory


@asynccontextmanager
async def elasticsearch(clock: Clock) -> AsyncIterator[Store]:
    place = replace(parse_location(location(f"test-{secrets.token_hex(4)}")), deadline_s=30.0)
    store = ElasticsearchStore(place, clock=clock)
    try:
        await store.open()
        yield store
    finally:
        await store.close()
        await remove(store)


@needs_node
@settings(RANDOM, max_examples=5)
@given(data=st.data())
def test_elasticsearch_answers_as_the_reference_does(data: st.DataObject) -> None:
    asyncio.run(compare(choice(data), in_memory, elasticsearch, exact=False))
