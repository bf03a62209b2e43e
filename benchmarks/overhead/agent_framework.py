"""Agent Framework's agent without memory, with a simple list-based provider, and with memscope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ContextProvider,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
    SessionContext,
)

from memscope import AsyncMemoryScope
from memscope_agent_framework import MemoryScopeContextProvider


class Client(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Replies instantly and records requests."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    async def _inner_get_response(self, *, messages: Any, **_: Any) -> ChatResponse:
        self.shown.append("\n".join(message.text for message in messages))
        return ChatResponse(messages=[Message("assistant", ["Understood."])])


class ListProvider(ContextProvider):
    """Adds ten remarks to every question, without search costs."""

    async def before_run(self, *, context: SessionContext, **_: Any) -> None:
        remarks = "\n".join(f"Remark {number}." for number in range(10))
        context.extend_messages(self.source_id, [Message("user", [remarks])])


class Talk:
    def __init__(self, number: int, *providers: ContextProvider) -> None:
        self.client = Client()
        self.agent = Agent(self.client, "You are helpful.", context_providers=[InMemoryHistoryProvider(), *providers])
        self.session = AgentSession(session_id=f"now {number}")

    async def say(self, text: str) -> None:
        await self.agent.run(text, session=self.session)

    @property
    def shown(self) -> list[str]:
        return self.client.shown


def variants(core: AsyncMemoryScope) -> dict[str, Callable[[int], Talk]]:
    return {
        "none": lambda number: Talk(number),
        "list_provider": lambda number: Talk(number, ListProvider("list")),
        "memscope": lambda number: Talk(number, MemoryScopeContextProvider(user="alice", memory=core)),
    }
