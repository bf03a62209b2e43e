"""AutoGen's AssistantAgent without memory, with its ListMemory of ten entries, and with memscope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import ListMemory, MemoryContent
from autogen_ext.models.replay import ReplayChatCompletionClient

from memscope import AsyncMemoryScope
from memscope_autogen import MemoryScopeMemory


class Talk:
    def __init__(self, memory: Any) -> None:
        self.model = ReplayChatCompletionClient(["Understood."] * 100)
        self.agent = AssistantAgent("assistant", self.model, memory=memory)

    async def say(self, text: str) -> None:
        await self.agent.run(task=text)

    @property
    def shown(self) -> list[str]:
        return ["\n".join(str(message.content) for message in call["messages"]) for call in self.model.create_calls]


def variants(core: AsyncMemoryScope) -> dict[str, Callable[[int], Talk]]:
    notes = [MemoryContent(content=f"Remark {number}.", mime_type="text/plain") for number in range(10)]
    return {
        "none": lambda number: Talk(None),
        "list_memory": lambda number: Talk([ListMemory(memory_contents=list(notes))]),
        "memscope": lambda number: Talk(MemoryScopeMemory(user="alice", session=f"now {number}", memory=core)),
    }
