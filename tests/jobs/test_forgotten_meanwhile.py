"""A fact that is forgotten while a model or a plugin is busy with it does not come back: its turns may stay."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.errors import MemscopeError, NotFound
from memscope.records import VectorSpace
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.models import IdealChat, data

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TEXTS = ("The user likes green tea from Kyoto.", "The user likes green tea with honey.")
FACTS = [
    {"text": text, "about": "user", "when": "", "keywords": ["food"], "level": 3, "quote": text, "turns": [number]}
    for number, text in enumerate(TEXTS)
]


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    return InMemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "memory.db")


class Busy(IdealChat):
    """Forgets the fact ``gone`` while it answers the first prompt that shows it and for which ``when`` is true."""

    def __init__(self, when, relations=()):
        super().__init__([{"text": text} for text in TEXTS], FACTS, relations)
        self.when, self.memory, self.gone = when, None, ""
        answer, self._all = self._all, self.slowly
        self.answer = answer

    async def slowly(self, messages):
        if self.gone and self.when(data(messages)):
            gone, self.gone = self.gone, ""
            await self.memory.forget(user="alice", ids=[gone])
        return self.answer(messages)


async def facts_of(memory):
    return await memory.list(user="alice", kinds=["observation", "insight"], superseded=True)


async def opened(store, chat, **more):
    chat.memory = AsyncMemoryScope(store, settings={"background": False}, chat=chat, clock=lambda: NOW, **more)
    return chat.memory


async def add(memory, text):
    await memory.add_turns([{"role": "user", "content": text}], user="alice")


@pytest.mark.parametrize("verdict", ["refines", "ends", "repeats"])
async def test_while_consolidate_relates_it_to_another(store, verdict):
    chat = Busy(lambda shown: "known" in shown, [(0, 1, verdict)])
    async with await opened(store, chat) as memory:
        await add(memory, TEXTS[0])
        await memory.consolidate(user="alice")
        (fact,) = await facts_of(memory)
        await add(memory, TEXTS[1])
        chat.gone = fact.id
        for _ in range(2):
            await memory.consolidate(user="alice")
        assert chat.gone == "" and [one.text for one in await facts_of(memory)] == [TEXTS[1]]
        assert "Kyoto" not in str(await facts_of(memory))


async def test_while_reflect_writes_of_it(store):
    chat = Busy(lambda shown: "facts" in shown and "turns" not in shown)
    async with await opened(store, chat) as memory:
        for text in TEXTS:
            await add(memory, text)
        await memory.consolidate(user="alice")
        chat.gone = next(one.id for one in await facts_of(memory) if "Kyoto" in one.text)
        for _ in range(2):
            await memory.reflect(user="alice")
        assert chat.gone == "" and not any("Kyoto" in one.text for one in await facts_of(memory))


async def test_while_a_plugin_reads_its_correction(store):
    class Slow:
        async def memscope_before_add_turns(self, turns):
            if "Kobe" in turns[0].text:
                await chat.memory.forget(user="alice", ids=[fact.id])

    chat = Busy(bool)
    async with await opened(store, chat, plugins=[Slow()]) as memory:
        fact = await memory.add_memory(TEXTS[0], user="alice")
        with pytest.raises(MemscopeError):
            await memory.update(fact.id, text="The user likes green tea from Kobe.", user="alice")
        assert await memory.list(user="alice", superseded=True) == []


async def test_while_a_plugin_reads_a_correction_of_its_names(store):
    class Slow:
        async def memscope_before_add_turns(self, turns):
            if "Nanne =" in turns[0].text or "= Nanne" in turns[0].text:
                await chat.memory.forget(user="alice", everything=True)

    chat = Busy(bool)
    async with await opened(store, chat, plugins=[Slow()]) as memory:
        await add(memory, "I met Anna Schmidt and Nanne.")
        with pytest.raises(NotFound):
            await memory.entities("alice").merge("Anna Schmidt", "Nanne")
        assert await memory.list(user="alice", superseded=True) == []


async def test_while_it_is_embedded(tmp_path):
    class Slow:
        space, languages = VectorSpace("slow", 4), None

        async def measure(self):
            return self.space

        async def embed(self, texts, *, deadline_s=None):
            if gone:
                await memory.forget(user="alice", ids=[gone.pop()])
            return np.ones((len(texts), 4), np.float32)

        async def embed_query(self, text, *, deadline_s=None):
            return np.ones(4, np.float32)

    place, gone = tmp_path / "memory.db", list[str]()
    async with AsyncMemoryScope(place, settings={}) as memory:
        gone.append((await memory.add_memory(TEXTS[0], user="alice")).id)
        await memory.add_memory(TEXTS[1], user="alice")
    async with AsyncMemoryScope(place, settings={}, embedder=Slow()) as memory:
        await memory.admin.reembed()
        stats = await memory.admin.status(user="alice")
        assert gone == [] and stats["vectors"] == stats["units"] > 0 == stats["pending"]["embed"]
