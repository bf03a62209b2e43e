"""The suite that every adapter passes, on ``AssistantAgent``."""

from __future__ import annotations

from autogen_core.model_context import BufferedChatCompletionContext, TokenLimitedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)  # fmt: skip
from autogen_core.tools import StaticWorkbench

from memscope_autogen import MemoryScopeMemory
from memscope_testing import AdapterSuite

from .talking import ScriptedClient, Talk, agent_with


class TestAssistantAgent(AdapterSuite):
    plugin = "memscope_autogen.plugin"
    framework = ("autogen_core", "autogen_agentchat")

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        m = MemoryScopeMemory(user=user, agent=agent, session=session, memory=memory, strict=strict, **more)
        made = agent_with(self.given(m), script, model_context=self.context(script))
        if state is not None:
            await made.load_state(state)
        return Talk(made, m)

    def foreign(self, words):
        result = FunctionExecutionResult(content=words, name="read", call_id="1", is_error=False)
        histories = {
            "instructions": SystemMessage(content=words),
            "tool": FunctionExecutionResultMessage(content=[result]),
            "assistant": AssistantMessage(content=words, source="helper"),
            "another agent": UserMessage(content=words, source="web_surfer"),
            "a runner of code": UserMessage(content=["What it printed:", words], source="code_executor"),
            "pasted": UserMessage(content=f"What is this?\n```\n{words}\n```", source="user"),
        }
        return {
            name: {"type": "AssistantAgentState", "llm_context": {"messages": [message.model_dump()]}}
            for name, message in histories.items()
        }

    async def use_tools(self, memory, which, *, user, agent=None):
        made = StaticWorkbench(MemoryScopeMemory(user=user, agent=agent, memory=memory).tools(which))

        async def use(name, **arguments):
            return (await made.call_tool(name, arguments)).to_text()

        return use

    def given(self, memory):
        return memory

    def context(self, script):
        return None


class TestInAList(TestAssistantAgent):
    def given(self, memory):
        return [memory]


class TestBufferedContext(TestAssistantAgent):
    def context(self, script):
        return BufferedChatCompletionContext(buffer_size=20)


class TestTokenLimitedContext(TestAssistantAgent):
    def context(self, script):
        return TokenLimitedChatCompletionContext(ScriptedClient(script), token_limit=2000)
