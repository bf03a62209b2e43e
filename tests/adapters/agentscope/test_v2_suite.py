"""The suite that every adapter passes, on AgentScope 2.x's ``Agent``."""

from __future__ import annotations

from agentscope.message import (
    AssistantMsg,
    HintBlock,
    SystemMsg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserMsg,
)  # fmt: skip
from agentscope.state import AgentState

from memscope_agentscope import MemoryScopeMiddleware
from memscope_testing import AdapterSuite

from .talking_v2 import Talk, agent_with


class TestAgent(AdapterSuite):
    plugin = "memscope_agentscope.plugin"
    framework = ("agentscope",)
    stream = True

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        m = MemoryScopeMiddleware(user=user, agent=agent, memory=memory, strict=strict, **more)
        loaded = AgentState(session_id=session or "any") if state is None else AgentState.model_validate(state)
        return Talk(agent_with(m, script, state=loaded, stream=self.stream, tools=await self.tools(m)), m)

    def foreign(self, words):
        call = ToolCallBlock(id="1", name="read", input="{}")
        result = ToolResultBlock(id="1", name="read", output=[TextBlock(text=words)])
        histories = {
            "instructions": [SystemMsg("system", words)],
            "tool": [AssistantMsg("helper", [call, result, TextBlock(text="I read it.")])],
            "hint": [AssistantMsg("helper", [HintBlock(hint=words), TextBlock(text="Noted.")])],
            "thought": [AssistantMsg("helper", [ThinkingBlock(thinking=words), TextBlock(text="Noted.")])],
            "assistant": [AssistantMsg("helper", words)],
            "another agent": [AssistantMsg("browser", words)],
            "pasted": [UserMsg("alice", f"What is this?\n```\n{words}\n```")],
        }
        return {name: AgentState(session_id="one", context=history) for name, history in histories.items()}

    async def tools(self, memory):
        return []

    async def use_tools(self, memory, which, *, user, agent=None):
        made = await MemoryScopeMiddleware(user=user, agent=agent, memory=memory, tools=which).list_tools()
        tools = {tool.name: tool for tool in made}

        async def use(name, **arguments):
            return (await tools[name](**arguments, _agent_state=AgentState(session_id="one"))).content[0].text

        return use


class TestWithoutStreaming(TestAgent):
    stream = False


class TestWithTools(TestAgent):
    async def tools(self, memory):
        return await memory.list_tools()
