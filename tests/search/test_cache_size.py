"""The index cache counts about as many bytes as the indexes of small users take."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.search.growing_array import GrowingArray

USERS = 40


@pytest.mark.parametrize("turns", [2, 40])
async def test_small_indexes_count_what_they_take(turns: int) -> None:
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        for at in range(USERS):
            said = [{"role": "user", "content": "I walk to the harbour."}] * turns
            await memory.add_turns(said, user=f"user {at}")
            await memory.retrieve("Where do I walk?", user=f"user {at}")  # loads what all users share
        cache = memory.admin.runtime.services.store._cache  # type: ignore[attr-defined]
        cache.clear()
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for at in range(USERS):
                await memory.retrieve("Where do I walk?", user=f"user {at}")
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert 0.7 < taken / cache.nbytes < 1.5


@pytest.mark.parametrize("rows", [1, 3, 20, 200])
def test_a_small_array_grows_by_half_at_most(rows: int) -> None:
    array = GrowingArray(np.zeros(rows))
    array.extend(np.zeros(1))
    array.extend(np.zeros(1))
    assert len(array.view) == rows + 2
    assert array.view.base is not None and len(array.view.base) <= 1.5 * (rows + 2)
