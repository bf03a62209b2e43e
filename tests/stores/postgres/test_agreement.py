"""PostgreSQL agrees with the reference: the same calls have the same answers."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from memscope.stores import Store
from memscope_postgres import PostgresOptions, PostgresStore
from stores.sides import Clock, compare
from stores.test_agreement import RANDOM, choice, in_memory


@settings(RANDOM, max_examples=15)
@given(data=st.data())
def test_postgres_answers_as_the_reference_does(place: PostgresOptions, data: st.DataObject) -> None:
    @asynccontextmanager
    async def postgres(clock: Clock) -> AsyncIterator[Store]:
        store = PostgresStore(replace(place, schema_name=f"{place.schema_name}_{secrets.token_hex(3)}"), clock=clock)
        try:
            await store.open()
            yield store
        finally:
            await store.close()

    asyncio.run(compare(choice(data), in_memory, postgres))
