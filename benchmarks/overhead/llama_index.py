"""An agent with LlamaIndex's memory without memory blocks, and with memscope's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory
from pydantic import PrivateAttr

from memscope import AsyncMemoryScope
from memscope_llama_index import MemoryScopeBlock


class _Model(MockLLM):
    _shown: list[str] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    async def achat_with_tools(self, *_: Any, chat_history: list[ChatMessage], **__: Any) -> ChatResponse:
        self._shown.append("\n".join(one.content or "" for one in chat_history if one.role != "system"))
        return ChatResponse(message=ChatMessage(role="assistant", content="Understood."))

    def get_tool_calls_from_response(self, *_: Any, **__: Any) -> list[Any]:
        return []


def _nothing() -> str:
    """Do nothing."""
    return ""


class Talk:
    def __init__(self, memory: Memory) -> None:
        model = _Model()
        self.shown, self.memory = model._shown, memory
        self.agent = FunctionAgent(llm=model, tools=[_nothing], system_prompt="You are helpful.", streaming=False)

    async def say(self, text: str) -> None:
        await self.agent.run(text, memory=self.memory)


def variants(core: AsyncMemoryScope) -> dict[str, Callable[[int], Talk]]:
    block = MemoryScopeBlock(user="alice", memory=core)
    return {
        "none": lambda number: Talk(Memory.from_defaults(session_id=f"none {number}")),
        "memscope": lambda number: Talk(block.memory_for(f"now {number}")),
    }
