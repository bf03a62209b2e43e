"""A model of one's own that awaits what was cancelled has failed; the call that asked it goes on."""

from __future__ import annotations

import asyncio

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ModelError
from memscope.records import VectorSpace
from memscope_testing.models import ScriptedChat

HELLO = [{"role": "user", "content": text} for text in ("I live in Rome.", "I live with a cat.")]


async def cancelled(*_, **__):
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task


class Embedder:
    languages, space = None, VectorSpace("own", 4)
    embed = embed_query = staticmethod(cancelled)

    async def measure(self):
        return self.space


class Reranker:
    name = "own"
    rerank = staticmethod(cancelled)


class Chat(ScriptedChat):
    async def _next(self, messages):
        await cancelled()


async def test_an_embedder_or_a_rerank_model():
    async with AsyncMemoryScope(":memory:", embedder=Embedder(), reranker=Reranker()) as memory:
        await memory.add_turns(HELLO, user="alice")
        found = await memory.retrieve("Where do I live?", user="alice")
        assert len(found) == 2
        assert {note.split(":")[0] for note in found.notes} == {"without vectors", "not reranked"}
        with pytest.raises(ModelError):
            await memory.flush()


async def test_a_chat_model():
    async with AsyncMemoryScope(":memory:", chat=Chat([])) as memory:
        await memory.add_turns(HELLO, user="alice")
        report = await memory.consolidate(user="alice")
        assert (report.done, report.pending, list(report.errors)) == (0, 2, ["model"])
        with pytest.raises(ModelError):
            await memory.chat("Where do I live?", user="alice")
