"""Facts compared with a new one: all of a small memory, of a large one those that are near."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.reconciliation.related import related
from memscope.records import Scope


@pytest.mark.parametrize(("count", "all_of_them"), [(30, True), (501, False)])
async def test_a_large_memory_is_compared_by_what_is_near(count, all_of_them):
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        for number in range(count - 1):
            await memory.add_memory(f"Shelf {number} holds box {number}.", user="alice")
        await memory.add_memory("The user plays the cello.", user="alice")
        facts = await related(memory.admin.runtime.services, Scope("alice"), ["The user sold the cello."])
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
