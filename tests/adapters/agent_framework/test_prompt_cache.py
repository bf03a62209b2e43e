"""The requests that ``Agent`` sends with Agent Framework's own client."""

from __future__ import annotations

from agent_framework import AgentSession

from adapters.prompt_cache import PromptCacheSuite
from memscope_agent_framework import MemoryScopeContextProvider

from .talking import Talk, agent_with


async def clock(zone: str) -> str:
    """The time."""
    return "noon"


class TestAgent(PromptCacheSuite):
    added_later = "name"  # of the agent, in each of its replies

    async def open(self, memory, url):
        provider = MemoryScopeContextProvider(user="alice", memory=memory)
        return Talk(agent_with(provider, url, tools=[clock]), provider, AgentSession(session_id="two"))
