"""The requests that ``AssistantAgent`` sends with AutoGen's own client."""

from __future__ import annotations

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

from adapters.prompt_cache import PROMPT, PromptCacheSuite
from memscope_autogen import MemoryScopeMemory

from .talking import INFO, Talk


async def clock(zone: str) -> str:
    """The time."""
    return "noon"


class TestAssistantAgent(PromptCacheSuite):
    async def open(self, memory, url):
        client = OpenAIChatCompletionClient(model="test-chat", api_key="none", base_url=url, model_info=INFO)
        made = MemoryScopeMemory(user="alice", session="two", memory=memory)
        agent = AssistantAgent(
            "helper", client, tools=[clock], memory=made, system_message=PROMPT, max_tool_iterations=3
        )
        return Talk(agent, made)
