"""Pydantic AI's agent without memory, and with memscope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memscope import AsyncMemoryScope
from memscope_pydantic_ai import MemoryScopeCapability


class Talk:
    def __init__(self, number: int, *capabilities: Any) -> None:
        self.shown: list[str] = []
        self.agent = Agent(FunctionModel(self._answer), instructions="You are helpful.", capabilities=capabilities)
        self.history: list[ModelMessage] = []
        self.conversation = f"now {number}"

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.shown.append("\n".join(_words(message) for message in messages))
        return ModelResponse(parts=[TextPart("Understood.")])

    async def say(self, text: str) -> None:
        result = await self.agent.run(text, message_history=self.history, conversation_id=self.conversation)
        self.history = result.all_messages()


def _words(message: ModelMessage) -> str:
    kinds = (UserPromptPart,) if isinstance(message, ModelRequest) else (TextPart,)
    return "\n".join(str(part.content) for part in message.parts if isinstance(part, kinds))


def variants(core: AsyncMemoryScope) -> dict[str, Callable[[int], Talk]]:
    return {
        "none": lambda number: Talk(number),
        "memscope": lambda number: Talk(number, MemoryScopeCapability(user="alice", memory=core)),
    }
