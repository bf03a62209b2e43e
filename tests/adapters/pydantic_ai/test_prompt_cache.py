"""The requests that Pydantic AI's own client sends."""

from __future__ import annotations

from adapters.prompt_cache import PromptCacheSuite
from memscope_pydantic_ai import MemoryScopeCapability

from .talking import Talk


async def clock(zone: str) -> str:
    """The time."""
    return "noon"


class TestAgent(PromptCacheSuite):
    async def open(self, memory, url):
        return Talk(MemoryScopeCapability(user="alice", memory=memory), url, tools=[clock])
