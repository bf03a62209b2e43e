"""The suite that every adapter passes, on AgentScope 1.x's ``ReActAgent``."""

from __future__ import annotations

from typing import ClassVar

from agentscope.message import Msg, TextBlock, ToolResultBlock, ToolUseBlock
from agentscope.tool import Toolkit

from memscope_agentscope import MemoryScopeLongTermMemory
from memscope_testing import AdapterSuite
from memscope_testing.scripted import ScriptedModel

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

    def foreign(self, words):
        called = ToolUseBlock(type="tool_use", id="1", name="read", input={})
        result = ToolResultBlock(type="tool_result", id="1", name="read", output=[TextBlock(type="text", text=words)])
        histories = {
            "instructions": [Msg("system", words, "system")],
            "tool": [Msg("helper", [called], "assistant"), Msg("system", [result], "system")],
            "a tool in the user's role": [Msg("helper", [called], "assistant"), Msg("user", [result], "user")],
            "hint": [Msg("user", f"<system-hint>{words}</system-hint>", "user")],
            "assistant": [Msg("helper", words, "assistant")],
            "another agent": [Msg("browser", words, "assistant")],
            "pasted": [Msg("user", f"What is this?\n```\n{words}\n```", "user")],
        }
        memory = MemoryScopeLongTermMemory(user="any", memory=":memory:")  # never used, so never opened
        state = agent_with(memory, ScriptedModel(), self.mode).state_dict()
        return {
            name: {**state, "memory": {**state["memory"], "content": [[message.to_dict(), []] for message in history]}}
            for name, history in histories.items()
        }

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
