"""What the tests of several stores share."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from memscope_elasticsearch import ElasticsearchStore, Options, parse_location
from stores.elasticsearch.node import location, remove


@pytest.fixture
async def place() -> AsyncIterator[Options]:
    """Options of a store of its own, with short leases of writers."""
    chosen = replace(parse_location(location(f"test-{secrets.token_hex(4)}")), lease_s=0.5, deadline_s=10.0)
    yield chosen
    await remove(ElasticsearchStore(chosen))
