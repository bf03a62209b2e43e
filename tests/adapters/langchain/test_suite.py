"""The suite that every adapter passes: on ``create_agent`` however its history is kept, and on classic chains."""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)  # fmt: skip
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langgraph.checkpoint.memory import InMemorySaver

from memscope_langchain import MemoryScopeMemory, MemoryScopeMiddleware
from memscope_langchain.messages import SUMMARY_OPENING
from memscope_testing import AdapterSuite

from .talking import ScriptedChat, Talk, ThreadTalk, agent_with, configured

deprecated = pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")


class Suite(AdapterSuite):
    __test__ = False
    plugin = "memscope_langchain.plugin"
    framework = ("langchain_core", "langchain", "langchain_classic", "langgraph")

    async def use_tools(self, memory, which, *, user, agent=None):
        middleware = MemoryScopeMiddleware(agent=agent, memory=memory, tools=which)
        tools = {tool.name: tool for tool in middleware.tools}

        async def use(name, **arguments):
            call = {"name": name, "args": arguments, "id": "1", "type": "tool_call"}
            return (await tools[name].ainvoke(call, configured(user, "one"))).content

        return use


class TestShownAgain(Suite):
    """Without a checkpointer: the caller shows the whole history every time."""

    __test__ = True
    prompt: str | None = "You are a helpful assistant."

    def foreign(self, words):
        call = AIMessage("", tool_calls=[{"name": "read", "args": {}, "id": "1"}])
        file = {"type": "file", "mime_type": "text/plain", "base64": b64encode(words.encode()).decode()}
        document = {"type": "text-plain", "mime_type": "text/plain", "text": words}
        return {
            "instructions": [SystemMessage(words)],
            "tool": [call, ToolMessage(words, tool_call_id="1")],
            "tool's parts": [call, ToolMessage([{"type": "text", "text": words}], tool_call_id="1")],
            "function": [FunctionMessage(words, name="read")],
            "developer": [ChatMessage(words, role="developer")],
            "assistant": [AIMessage(words)],
            "another agent": [HumanMessage(words, name="researcher")],
            "an agent that replied": [AIMessage("Here I am.", name="browser"), HumanMessage(words, name="browser")],
            "file": [HumanMessage([{"type": "text", "text": "See this."}, file])],
            "document": [HumanMessage([{"type": "text", "text": "See this."}, document])],
            "summary": [HumanMessage(f"{SUMMARY_OPENING}\n\n{words}")],
            "pasted": [HumanMessage(f"What is this?\n```\n{words}\n```")],
        }

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        options = {"memory": memory, "strict": strict, "agents": ["researcher"], **more}
        middleware = MemoryScopeMiddleware(agent=agent, **options)
        made = agent_with(middleware, script, system_prompt=self.prompt)
        return Talk(made, middleware, configured(user, session), state or ())


class TestWithoutSystemPrompt(TestShownAgain):
    prompt = None


class TestCheckpointer(Suite):
    """With a checkpointer: the state is a thread's."""

    __test__ = True

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        middleware = MemoryScopeMiddleware(agent=agent, memory=memory, strict=strict, **more)
        saver = state if state is not None else InMemorySaver()
        made = agent_with(middleware, script, checkpointer=saver, system_prompt="You are a helpful assistant.")
        return ThreadTalk(made, middleware, configured(user, session or "none"))


@dataclass
class Context:
    user_id: Any


class TestContext(TestCheckpointer):
    """The user comes from the runtime's context."""

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        middleware = MemoryScopeMiddleware(agent=agent, memory=memory, strict=strict, **more)
        saver = state if state is not None else InMemorySaver()
        made = agent_with(middleware, script, checkpointer=saver, context_schema=Context)
        made = Contextual(made, Context(user))
        return ThreadTalk(made, middleware, {"configurable": {"thread_id": session or "none"}})


class Contextual:
    """An agent that is always invoked with the same context."""

    def __init__(self, agent, context):
        self.agent, self.context, self.checkpointer = agent, context, agent.checkpointer

    async def ainvoke(self, *args, **more):
        return await self.agent.ainvoke(*args, context=self.context, **more)

    def astream(self, *args, **more):
        return self.agent.astream(*args, context=self.context, **more)


# ---- classic chains


class ChainTalk:
    def __init__(self, chain, script):
        self.chain, self.script = chain, script

    async def say(self, text):
        return (await self.chain.ainvoke({"input": text}))[self.chain.output_keys[0]]

    async def interrupt(self, text):
        """A chain gives its reply whole, so leaving early is cancelling it while the model thinks."""
        thinking = asyncio.Event()

        async def think():
            thinking.set()
            await asyncio.Event().wait()

        self.script.during = think
        saying = asyncio.create_task(self.say(text))
        await thinking.wait()
        saying.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await saying
        self.script.during = None

    async def state(self):
        return self.chain.memory._own_session if self.chain.memory.session is None else self.chain.memory.session

    async def close(self):
        await self.chain.memory.aclose()


@deprecated
class TestConversationChain(Suite):
    """The history is memory's own; a new object with the same session goes on with it."""

    __test__ = True

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        m = MemoryScopeMemory(user=user, agent=agent, session=state or session, memory=memory, strict=strict, **more)
        return ChainTalk(ConversationChain(llm=ScriptedChat(script=script), memory=m), script)


@deprecated
class TestChainOfMessages(Suite):
    __test__ = True
    not_applicable = {  # noqa: RUF012  # a mapping in the suite
        "test_injection_does_not_grow_the_context": "this memory is the history too, of which `tokens` are shown",
    }

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        m = MemoryScopeMemory(
            user=user, agent=agent, session=state or session, memory=memory, strict=strict, return_messages=True, **more
        )
        prompt = ChatPromptTemplate.from_messages(
            [("system", "You are helpful."), MessagesPlaceholder("history"), ("human", "{input}")]
        )
        return ChainTalk(LLMChain(llm=ScriptedChat(script=script), prompt=prompt, memory=m), script)
