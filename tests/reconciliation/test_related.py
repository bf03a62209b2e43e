"""Facts compared with a new one: all of a small memory, of a large one those that are near."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from memscope import AsyncMemoryScope
from memscope.errors import ModelUnavailable
from memscope.reconciliation.related import best, related
from memscope.records import Scope, VectorSpace


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


class Music:
    """An embedder that knows whether a text is about music."""

    languages = None
    space = VectorSpace("music", 2)
    down = False

    async def measure(self) -> VectorSpace:
        return self.space

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        return (await self.embed([text]))[0]

    async def embed(self, texts: Sequence[str], *, deadline_s: float | None = None) -> NDArray[np.float32]:
        if self.down:
            raise ModelUnavailable("down")
        music = [any(word in text.casefold() for word in ("cello", "orchestra")) for text in texts]
        return np.array([[one, not one] for one in music], np.float32)


async def test_in_a_large_memory_a_fact_of_other_words_is_near_by_its_meaning():
    embedder, cello = Music(), "The user plays the cello."
    async with AsyncMemoryScope(":memory:", settings={}, embedder=embedder) as memory:
        for number in range(501):
            await memory.add_memory(f"Shelf {number} holds box {number}.", user="alice")
        await memory.add_memory(cello, user="alice")
        assert await memory.flush()
        services, texts = memory.admin.runtime.services, ["Orchestra rehearsals begin on Monday; box 7 comes along."]
        near = {fact.text for fact in await related(services, Scope("alice"), texts)}
        embedder.down = True
        by_words = {fact.text for fact in await related(services, Scope("alice"), texts)}
    assert cello in near and cello not in by_words
    assert "Shelf 7 holds box 7." in near & by_words


async def test_so_many_of_those_that_share_a_word_are_compared():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        for number in range(501):
            await memory.add_memory(f"Shelf {number} holds box {number}.", user="alice")
        facts = await related(memory.admin.runtime.services, Scope("alice"), ["A shelf"])
    assert len(facts) == 40


@pytest.mark.parametrize(("before", "compared"), [(63, True), (64, False)])
async def test_the_first_64_words_of_a_text_are_searched(before, compared):
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        for number in range(501):
            await memory.add_memory(f"Shelf {number} holds box {number}.", user="alice")
        cello = await memory.add_memory("Cello.", user="alice")
        text = " ".join([*(f"q{number}x" for number in range(before)), "cello"])
        facts = await related(memory.admin.runtime.services, Scope("alice"), [text])
    assert (cello in facts) == compared


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
