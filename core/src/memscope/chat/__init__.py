"""An assistant with memory over any chat model.

    what was said lately ──▶ record the user's turn ──▶ recall what the window lacks ──▶ prompt ──▶ stream ──▶ record
       window.py              (durable before the model is asked)                        prompt.py   answer.py

What memory cannot do is left out and said in ``Answer.notes``; only the chat model's own failure ends an answer.
Nothing is kept between two answers but what the store keeps, so that any process can give the next one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memscope import validation
from memscope.chat.answer import Answer
from memscope.chat.prompt import fitting, prompt
from memscope.chat.window import recent
from memscope.errors import ConfigError, InputError
from memscope.prompts.memory_block import choose_query
from memscope.records import AddReport, Retrieval, Scope, Turn
from memscope.text.terms import terms

if TYPE_CHECKING:
    from memscope.memory import AsyncMemoryScope

__all__ = ["Answer", "Asked", "start"]
NO_MODEL = "set chat in the settings (docs/models.md), for example MEMSCOPE_CHAT__PRESET and MEMSCOPE_CHAT__MODEL"


@dataclass(frozen=True, slots=True)
class Asked:
    """``k`` hits within ``tokens`` are recalled, ``window`` tokens of recent turns are shown."""

    text: str
    scope: Scope
    persona: str | None = None
    k: int = 10
    tokens: int = 1000
    window: int = 3000

    def checked(self, limits: validation.Limits) -> Asked:
        validation.scope(self.scope.user, self.scope.agent, self.scope.session)
        text = validation.text("text", self.text, limits.text)
        if not text.strip():
            raise InputError("text is empty", hint="there is nothing to answer")
        if self.persona is not None:
            validation.text("persona", self.persona, limits.text)
        validation.count("k", self.k, limits.k)
        validation.count("tokens", self.tokens, 1_000_000)
        validation.count("window", self.window, 1_000_000)
        return replace(self, text=text)


def start(memory: AsyncMemoryScope, asked: Asked) -> Answer:
    """The answer, which begins when it is read. ``ConfigError`` without a chat model, ``InputError`` for bad input."""
    parts = memory._parts
    asked = asked.checked(parts.limits)
    if parts.ctx.chat is None:
        raise ConfigError("there is no chat model", hint=NO_MODEL)
    return Answer(lambda answer: _answer(memory, asked, answer), lambda: parts.counting("chat"))


async def _answer(memory: AsyncMemoryScope, asked: Asked, answer: Answer) -> AsyncGenerator[str]:
    parts = memory._parts
    window = await answer.spared("recent turns", _window(memory, asked), [])
    report = await answer.spared("recording", _record(memory, asked.scope, "user", asked.text), AddReport())
    stored = report.stored
    try:
        exclude = (*report.keys, *(turn.key for turn in window))
        found = await answer.spared("memories", _recall(memory, asked, exclude), Retrieval())
        if found.reason:
            answer.notes.append(found.reason)
        answer.memories, lines = fitting(found, asked.tokens)
        messages = prompt(asked.text, parts.ctx.prompts, asked.persona, lines, window, parts.now())
        async with aclosing(parts.ctx.chat.stream(messages)) as pieces:  # type: ignore[union-attr, type-var]
            async for piece in pieces:
                yield piece
        work = _record(memory, asked.scope, "assistant", answer.text)
        stored += (await answer.spared("recording", work, AddReport())).stored
    finally:  # both sides are embedded together, and not while somebody waits for the first word
        parts.wake(asked.scope.user, stored)


async def _window(memory: AsyncMemoryScope, asked: Asked) -> list[Turn]:
    async with memory._operation("list") as parts:
        return await recent(parts.store, asked.scope, parts.clock(), asked.window)


async def _record(memory: AsyncMemoryScope, scope: Scope, role: str, text: str) -> AddReport:
    async with memory._operation("add_turns") as parts:
        return await parts.keep([{"role": role, "content": text}], scope)


async def _recall(memory: AsyncMemoryScope, asked: Asked, exclude: tuple[str, ...]) -> Retrieval:
    query = choose_query([{"role": "user", "content": asked.text}])
    if not terms(query):
        return Retrieval()
    return await memory.retrieve(query, user=asked.scope.user, agent=asked.scope.agent, k=asked.k, exclude=exclude)
