"""The stores agree: the same calls have the same answers on each of them."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memscope.stores import Store
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from stores.calls import SPACES, Call, Seen, beginning, next_call
from stores.sides import Clock, compare

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from duckdb_store import DuckDBStore

pytestmark = pytest.mark.slow

CALLS = 16
RANDOM = settings(  # what differs is shown with all calls before it; to make them fewer would take minutes
    max_examples=30, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def choice(data: st.DataObject) -> Callable[[int, Seen], Call | None]:
    first = beginning(data.draw(st.sampled_from((None, *SPACES))))
    return lambda n, seen: first[n] if n < len(first) else next_call(data, seen) if n < CALLS else None


@asynccontextmanager
async def in_memory(clock: Clock) -> AsyncIterator[Store]:
    store = InMemoryStore(clock=clock)
    yield store
    await store.close()


@asynccontextmanager
async def sqlite(clock: Clock) -> AsyncIterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "memory.db", clock=clock)
        await store.open()
        yield store
        await store.close()


@RANDOM
@given(data=st.data())
def test_sqlite_answers_as_the_reference_does(data: st.DataObject) -> None:
    asyncio.run(compare(choice(data), in_memory, sqlite))


@asynccontextmanager
async def duckdb(clock: Clock) -> AsyncIterator[Store]:
    store = DuckDBStore(":memory:", clock=clock)
    await store.open()
    yield store
    await store.close()


@settings(RANDOM, max_examples=10)
@given(data=st.data())
def test_a_store_of_a_stranger_answers_as_the_reference_does(data: st.DataObject) -> None:
    asyncio.run(compare(choice(data), in_memory, duckdb))
