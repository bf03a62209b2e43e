"""Chat with memory, and retrieve with a rerank model, as subjects of ``faults.py``.

A fault of the chat model may end an answer with a typed error. A fault of the embedder or the rerank model may not:
answer and hits must arrive all the same.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from memscope import AsyncMemoryScope
from memscope.models.clients import OpenAIChat, OpenAIEmbedder, OpenAIReranker
from memscope.models.endpoint import Endpoint

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from servers.faults import FaultServer

Call = Callable[[], Awaitable[tuple[str, ...]]]
SAID = [f"I drink tea number {n} in the garden." for n in range(5)]
ANSWER = "the whole of a longer answer " * 20
ANOTHER_TEXT = frozenset({"malformed_json", "wrong_schema", "wrong_language", "fenced", "prose", "think"})


class Broken(Exception):
    """A step that must not fail has failed. Not a ``MemscopeError``, so that it ends the benchmark."""


def at(url: str, deadline: float) -> Endpoint:
    quick = {"deadline_s": deadline, "query_deadline_s": deadline, "first_pause_s": 0.01}
    return Endpoint(model="m", base_url=url, breaker_failures=10**6, **quick)


@asynccontextmanager
async def remembering(**models: Any) -> AsyncIterator[AsyncMemoryScope]:
    async with AsyncMemoryScope(":memory:", settings={}, **models) as memory:
        await memory.add_turns([{"role": "user", "content": text} for text in SAID], user="alice", session="old")
        if "embedder" in models:
            await memory.flush()
        yield memory


@asynccontextmanager
async def chatting(url: str, deadline: float) -> AsyncIterator[Call]:
    chat, sessions = OpenAIChat(at(url, deadline)), count()
    await chat.served()  # what is loaded on first use is no part of a deadline
    async with remembering(chat=chat) as memory:

        async def call() -> tuple[str, ...]:
            return (await memory.chat("Which tea?", user="alice", session=str(next(sessions))),)

        yield call


@asynccontextmanager
async def chatting_by_vectors(url: str, deadline: float) -> AsyncIterator[Call]:
    """Chat with faults of the embedder only. Every question is new, so that no vector is cached."""
    asked, embedder = count(), OpenAIEmbedder(at(url, deadline))
    with FaultServer(script={".": ANSWER}) as talking:
        async with remembering(chat=OpenAIChat(at(talking.base_url, deadline)), embedder=embedder) as memory:

            async def call() -> tuple[str, ...]:
                number = next(asked)
                asks = "Do I drink tea in the garden" + "?" * (number + 1)
                answer = memory.chat(asks, user="alice", session=str(number))
                text = await unfailing(answer)
                return (text, *sorted({hit.text for hit in answer.memories} & set(SAID)))

            yield call


@asynccontextmanager
async def reranked(url: str, deadline: float) -> AsyncIterator[Call]:
    model = OpenAIReranker(at(url, deadline))
    async with remembering(reranker=model) as memory:

        async def call() -> tuple[str, ...]:
            return tuple(sorted(hit.text for hit in await unfailing(memory.retrieve("tea", user="alice"))))

        yield call


async def unfailing(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except Exception as error:
        raise Broken(f"it failed with {type(error).__name__}") from error


#: Per subject: the endpoint with the faults, how to connect, the model's replies, and undetectable faults.
ROWS: dict[str, tuple[str, Any, Any, frozenset[str]]] = {
    "memory.chat": ("chat", chatting, {".": ANSWER}, ANOTHER_TEXT),
    "chat+vectors": ("embeddings", chatting_by_vectors, None, frozenset()),
    "retrieve+rerank": ("rerank", reranked, None, frozenset()),
}
