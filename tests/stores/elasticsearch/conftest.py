"""Fixtures of the tests of Elasticsearch."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

import pytest

from memscope_elasticsearch import ElasticsearchStore, Options, parse_location
from stores.elasticsearch.node import location, remove
from stores.elasticsearch.stub import Script, Stub


@pytest.fixture
async def place() -> AsyncIterator[Options]:
    """Options of a store of its own, with short leases of writers."""
    chosen = replace(parse_location(location(f"test-{secrets.token_hex(4)}")), lease_s=0.5, deadline_s=60.0)
    yield chosen
    await remove(ElasticsearchStore(chosen))


@pytest.fixture
def stubbed() -> Iterator[Callable[[Script], Stub]]:
    stubs: list[Stub] = []

    def make(script: Script) -> Stub:
        stubs.append(Stub(script))
        return stubs[-1]

    yield make
    for stub in stubs:
        stub.stop()
