"""The requests that LlamaIndex's own client sends."""

from __future__ import annotations

from llama_index.core.tools import FunctionTool

from adapters.prompt_cache import PromptCacheSuite
from memscope_llama_index import MemoryScopeBlock

from .talking import Talk, model


async def clock(zone: str) -> str:
    """The time."""
    return "noon"


class TestAgent(PromptCacheSuite):
    async def open(self, memory, url):
        block = MemoryScopeBlock(user="alice", memory=memory)
        return Talk(block, model(url), tools=[FunctionTool.from_defaults(async_fn=clock)])
