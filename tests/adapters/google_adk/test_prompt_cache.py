"""The requests that ADK's own model sends."""

from __future__ import annotations

import pytest

from adapters.prompt_cache import PromptCacheSuite
from memscope_google_adk import MemoryScopePlugin

from .talking import Talk, model

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning")  # ADK's of its own


async def clock(zone: str) -> str:
    """The time."""
    return "noon"


class TestAgent(PromptCacheSuite):
    async def open(self, memory, url):
        return Talk(MemoryScopePlugin(memory=memory, agent=None), model(url), tools=[clock])
