"""The requests that AgentScope 1.x's ``ReActAgent`` sends with its own client."""

from __future__ import annotations

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import TextBlock
from agentscope.model import OpenAIChatModel
from agentscope.tool import Toolkit, ToolResponse

from adapters.prompt_cache import PROMPT, PromptCacheSuite
from memscope_agentscope import MemoryScopeLongTermMemory

from .talking_v1 import Talk


async def clock(zone: str) -> ToolResponse:
    """The time."""
    return ToolResponse(content=[TextBlock(type="text", text="noon")])


class TestReActAgent(PromptCacheSuite):
    keeps_memory = True

    async def open(self, memory, url):
        model = OpenAIChatModel("test-chat", "none", stream=False, client_kwargs={"base_url": url})
        made = MemoryScopeLongTermMemory(user="alice", session="two", memory=memory)
        toolkit = Toolkit()
        toolkit.register_tool_function(clock)
        agent = ReActAgent(
            "helper", PROMPT, model, OpenAIChatFormatter(), toolkit=toolkit, memory=InMemoryMemory(),
            long_term_memory=made, long_term_memory_mode="static_control",
        )  # fmt: skip
        agent.set_console_output_enabled(False)
        return Talk(agent, made)
