"""Chat models that say what a test wants, in the process: for our tests and for those of plugins.

    chat = ScriptedChat([{"turns": [...], "facts": [...]}, ModelTimeout("slow")])
    AsyncMemoryScope(":memory:", chat=chat)

A reply is text, a JSON value, an error to raise, or a function from the messages to any of these.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeAlias

from memscope.models import Message, Reply, Usage, count
from memscope.models.structured_output import parse, schema_text
from memscope.records import Json

if TYPE_CHECKING:
    from pydantic import BaseModel

Said: TypeAlias = Any  # str, JSON, BaseException
Answer: TypeAlias = "Said | Callable[[Sequence[Message]], Said | Awaitable[Said]]"


class ScriptedChat:
    """A ``ChatModel`` whose replies are given: a sequence, one a call, or one function for all calls.

    ``prompts`` are the messages it was asked, in order. ``AssertionError`` when it is asked more often than there are
    replies.
    """

    name = "scripted"

    def __init__(self, replies: Sequence[Answer] | Callable[[Sequence[Message]], Any]) -> None:
        self._all = replies if callable(replies) else None
        self._replies = [] if callable(replies) else list(replies)
        self.prompts: list[list[Message]] = []

    async def chat(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, deadline_s: float | None = None
    ) -> Reply:
        self.prompts.append(list(messages))
        size = sum(len(message["content"]) for message in messages) + (len(schema_text(schema)) if schema else 0)
        count(Usage(calls=1, prompt_characters=size))
        said = await self._next(messages)
        return Reply(said, parse(said, schema) if schema else None)

    async def stream(self, messages: Sequence[Message], *, deadline_s: float | None = None) -> AsyncIterator[str]:
        yield (await self.chat(messages)).text

    async def _next(self, messages: Sequence[Message]) -> str:
        if self._all is None and not self._replies:
            raise AssertionError(f"asked {len(self.prompts)} times, which is more than there are replies")
        said = self._all if self._all is not None else self._replies.pop(0)
        if callable(said):
            said = said(messages)
        if isawaitable(said):
            said = await said
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def data(messages: Sequence[Message]) -> Json:
    """The JSON that a worker enclosed in its prompt: what the model was shown."""
    boundary, written, end = messages[1]["content"].split("\n")
    assert boundary == end
    assert boundary in messages[0]["content"]
    return json.loads(written)


__all__ = ["ScriptedChat", "data"]
