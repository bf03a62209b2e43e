"""The smallest agent framework, and an adapter for it: what docs/adapters.md explains."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from memscope.adapters.session import MemorySession, to_turn
from memscope.prompts.memory_block import choose_query


class Message(NamedTuple):
    id: str
    role: str
    text: str


class ToyAgent:
    """Keeps messages, asks a model, and lets one memory look before and after."""

    def __init__(self, model: Any, memory: Any, messages: Sequence[Message] = ()) -> None:
        self.model, self.memory, self.messages = model, memory, list(messages)

    async def run(self, text: str, *, leave: bool = False) -> str:
        self.messages.append(Message(uuid.uuid4().hex, "user", text))
        shown = await self.memory.before(self.messages)
        reply = await self.model.answer([("system", "Be kind."), *((message.role, message.text) for message in shown)])
        if leave:
            return ""
        self.messages.append(Message(uuid.uuid4().hex, "assistant", reply))
        await self.memory.after(self.messages)
        return reply


class ToyMemory:
    """Records by message id, and shows what is remembered before the newest message."""

    def __init__(self, **options: Any) -> None:
        self.session = MemorySession(**options)

    async def before(self, messages: list[Message]) -> list[Message]:
        turns = [to_turn(message.role, message.text, id=message.id) for message in messages]
        keys = await self.session.record(turns)
        texts = [turn["content"] for turn in turns]
        recalled = await self.session.recall(choose_query(turns[-1:]), exclude=keys, shown=texts)
        block = [Message("", "user", recalled.text)] if recalled.text else []
        return [*messages[:-1], *block, messages[-1]]

    async def after(self, messages: list[Message]) -> None:
        await self.session.record([to_turn(message.role, message.text, id=message.id) for message in messages])

    async def close(self) -> None:
        await self.session.close()


class ToyTalk:
    """A ``Conversation`` of the suite."""

    def __init__(self, agent: ToyAgent) -> None:
        self.agent = agent

    async def say(self, text: str) -> str:
        return await self.agent.run(text)

    async def interrupt(self, text: str) -> None:
        await self.agent.run(text, leave=True)

    async def state(self) -> list[Message]:
        return list(self.agent.messages)

    async def close(self) -> None:
        await self.agent.memory.close()
