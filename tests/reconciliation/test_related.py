"""Facts compared with a new one: all of a small memory, of a large one those that are near."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.reconciliation.related import best, related
from memscope.records import Scope


@pytest.mark.parametrize(("count", "all_of_them"), [(30, True), (501, False)])
async def test_a_large_memory_is_compared_by_what_is_near(count, all_of_them):
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        for number in range(count - 1):
            await memory.add_memory(f"Shelf {number} holds box {number}.", user="alice")
        await memory.add_memory("The user plays the cello.", user="alice")
        facts = await related(memory.admin.runtime.services, Scope("alice"), ["The user sold the cello."])
        assert await related(memory.admin.runtime.services, Scope("alice"), []) == []
    assert "The user plays the cello." in {fact.text for fact in facts}
    assert (len(facts) == count) == all_of_them


async def test_facts_that_are_asked_for_come_too():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        far = await memory.add_memory("The attic has a skylight.", user="alice")
        for number in range(500):
            await memory.add_memory(f"Shelf {number} holds box {number}.", user="alice")
        services, texts = memory.admin.runtime.services, ["Shelf 3 holds box 3."]
        assert far.id not in {fact.id for fact in await related(services, Scope("alice"), texts)}
        assert far.id in {fact.id for fact in await related(services, Scope("alice"), texts, [far.id])}


async def test_so_many_of_those_that_share_a_word_are_compared():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        for number in range(501):
            await memory.add_memory(f"Shelf {number} holds box {number}.", user="alice")
        facts = await related(memory.admin.runtime.services, Scope("alice"), ["A shelf"])
    assert len(facts) == 40


def test_of_those_that_share_no_word_the_nearest_by_vector_come():
    rows = 60
    shares, cosine = np.arange(rows) == 50, np.linspace(0, -0.9, rows, dtype=np.float32)
    cosine[[50, 51]] = np.nan  # no vector yet
    candidates = SimpleNamespace(
        handle=list(range(rows)), units=rows, document_frequency=np.array([1]), tf=shares[:, None].astype(np.float32),
        length=np.full(rows, 4, np.float32), average_length=4.0, cosine=cosine,
    )  # fmt: skip
    assert best(candidates) == [50, *range(20)]
    few = SimpleNamespace(**{**vars(candidates), "cosine": np.where(np.arange(rows) < 3, cosine, np.nan)})
    assert best(few) == [50, 0, 1, 2]
