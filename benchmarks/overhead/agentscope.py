"""AgentScope's Agent without memory, with its mem0 middleware over an instant client, and with memscope."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import TextBlock, UserMsg
from agentscope.middleware import Mem0Middleware
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.state import AgentState

from memscope import AsyncMemoryScope
from memscope_agentscope import MemoryScopeMiddleware


class Model(ChatModelBase):
    """Replies instantly and records requests."""

    def __init__(self) -> None:
        super().__init__(OpenAICredential(api_key="none"), "echo", ChatModelBase.Parameters(), False, max_retries=0)
        self.formatter = OpenAIChatFormatter()
        self.context_size = 1_000_000
        self.shown: list[str] = []

    async def _call_api(self, model_name: str, messages: list[Any], *_: Any, **__: Any) -> ChatResponse:
        self.shown.append("\n".join(str(message) for message in await self.formatter.format(messages)))
        return ChatResponse(content=[TextBlock(text="Understood.")], is_last=True)

    async def _call_api_with_structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


class Client:
    """A mem0 client without cost, which returns ten memories for every question."""

    async def search(self, query: str, **_: Any) -> dict[str, Any]:
        return {"results": [{"memory": f"Remark {number}."} for number in range(10)]}

    async def add(self, messages: list[Any], **_: Any) -> dict[str, Any]:
        return {"results": []}


class Talk:
    def __init__(self, number: int, middlewares: list[Any]) -> None:
        self.model = Model()
        state = AgentState(session_id=f"now {number}")
        self.agent = Agent("assistant", "You are helpful.", self.model, middlewares=middlewares, state=state)

    async def say(self, text: str) -> None:
        await self.agent.reply(UserMsg("user", text))

    @property
    def shown(self) -> list[str]:
        return self.model.shown


def variants(core: AsyncMemoryScope) -> dict[str, Callable[[int], Talk]]:
    logging.getLogger("as").setLevel(logging.WARNING)  # else the times of its middleware include logging
    return {
        "none": lambda number: Talk(number, []),
        "mem0_middleware": lambda number: Talk(number, [Mem0Middleware(user_id="alice", client=Client(), top_k=10)]),
        "memscope": lambda number: Talk(number, [MemoryScopeMiddleware(user="alice", memory=core)]),
    }
