"""The suite that every adapter passes, on AgentScope 1.x's ``ReActAgent``."""

from __future__ import annotations

from typing import ClassVar

from agentscope.message import ToolUseBlock
from agentscope.tool import Toolkit

from memscope_agentscope import MemoryScopeLongTermMemory
from memscope_testing import AdapterSuite

from .talking_v1 import Talk, agent_with


class TestReActAgent(AdapterSuite):
    plugin = "memscope_agentscope.plugin"
    framework = ("agentscope",)
    mode = "static_control"
    not_applicable: ClassVar = {
        "test_one_budget_holds_core_memory_entities_summary_and_hits": "what it is shown stays in its short-term memory"
    }

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        m = MemoryScopeLongTermMemory(user=user, agent=agent, session=session, memory=memory, strict=strict, **more)
        made = agent_with(m, script, self.mode)
        if state is not None:
            made.load_state_dict(state)
        return Talk(made, m)

    async def use_tools(self, memory, which, *, user, agent=None):
        toolkit = Toolkit()
        for tool in MemoryScopeLongTermMemory(user=user, agent=agent, memory=memory).tools(which):
            toolkit.register_tool_function(tool)

        async def use(name, **arguments):
            call = ToolUseBlock(type="tool_use", id="1", name=name, input=arguments)
            pieces = [piece async for piece in await toolkit.call_tool_function(call)]
            return pieces[-1].content[0]["text"]

        return use


class TestBoth(TestReActAgent):
    mode = "both"
