"""The suite that every adapter passes, on ``Agent.run`` and ``Agent.run_stream``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)  # fmt: skip

from adapters.served import ServedSuite
from memscope_pydantic_ai import MemoryScopeCapability

from .talking import StreamedTalk, Talk


@dataclass
class Deps:
    user_id: Any


class TestRun(ServedSuite):
    plugin = "memscope_pydantic_ai.plugin"
    framework = ("pydantic_ai",)
    talk = Talk

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        made = MemoryScopeCapability(user=user, agent=agent, memory=memory, strict=strict, **more)
        talk = self.talk(made, self.serve(script), state or (), run={"conversation_id": session or "none"})
        self.close_later(talk.client.close)
        return talk

    def foreign(self, words):
        called = ModelResponse(parts=[ToolCallPart("read", {}, tool_call_id="1")])
        done, reply = ToolReturnPart("read", "See below.", tool_call_id="1"), ModelResponse(parts=[TextPart("Read.")])
        return {
            "instructions": [ModelRequest(parts=[SystemPromptPart(words)])],
            "tool": [called, ModelRequest(parts=[ToolReturnPart("read", words, tool_call_id="1")]), reply],
            "content of a ToolReturn": [called, ModelRequest(parts=[done, UserPromptPart(words)]), reply],
            "parts of a ToolReturn": [called, ModelRequest(parts=[done, UserPromptPart(["The page:", words])]), reply],
            "thought": [ModelResponse(parts=[ThinkingPart(words), TextPart("Noted.")])],
            "assistant": [ModelResponse(parts=[TextPart(words)])],
            "pasted": [ModelRequest(parts=[UserPromptPart(f"What is this?\n```\n{words}\n```")])],
        }

    async def use_tools(self, memory, which, *, user, agent=None):
        made = MemoryScopeCapability(user=user, agent=agent, session="one", memory=memory, tools=which)
        context = type("Context", (), {"deps": None})()
        toolset = (await made.for_run(context)).get_toolset()

        async def use(name, **arguments):
            return await toolset.tools[name].function(**arguments)

        return use


class TestStreamed(TestRun):
    talk = StreamedTalk


class TestUserOfDeps(TestRun):
    async def converse(self, memory, script, *, user, **more):
        talk = await super().converse(memory, script, user=None, **more)
        talk.run["deps"] = Deps(user)
        return talk
