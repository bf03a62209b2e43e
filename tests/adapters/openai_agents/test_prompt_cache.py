"""The requests that the SDK's own client for chat completions sends."""

from __future__ import annotations

import pytest
from agents import SQLiteSession, function_tool

from adapters.prompt_cache import PromptCacheSuite
from memscope_openai_agents import MemoryScopeSession

from .talking import Talk


@function_tool
async def clock(zone: str) -> str:
    """The time."""
    return "noon"


class TestAgent(PromptCacheSuite):
    @pytest.fixture
    def history(self):
        kept = SQLiteSession("two")
        yield kept
        kept.close()

    @pytest.fixture(autouse=True)
    def _keep(self, history):
        self.history = history

    async def open(self, memory, url):
        session = MemoryScopeSession("two", user="alice", memory=memory, history=self.history)
        return Talk(session, url, tools=[clock])
