"""The smallest agent framework, and an adapter for it: what docs/adapters.md explains."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from memscope.adapters import kit


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
        self.session = kit.MemorySession(**options)

    async def before(self, messages: list[Message]) -> list[Message]:
        run = await kit.begin_run(self.session, [kit.to_turn(one.role, one.text, id=one.id) for one in messages])
        block = [Message("", "user", run.text)] if run.text else []
        return [*messages[:-1], *block, messages[-1]]

    async def after(self, messages: list[Message]) -> None:
        await self.session.record([kit.to_turn(one.role, one.text, id=one.id) for one in messages])

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
