"""LangChain's agent and its classic chain with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from memscope_langchain import MemoryScopeMiddleware
from memscope_testing.scripted import ScriptedModel

ROLES = {"human": "user", "ai": "assistant"}


class ScriptedChat(BaseChatModel):
    """A chat model that asks a script; a reply that is a message is given as it is."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> ScriptedChat:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return result(at_once(self.script.answer(shown(messages))))

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return result(await self.script.answer(shown(messages)))

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        reply = await self.script.answer(shown(messages))
        if isinstance(reply, AIMessage):
            chunk = AIMessageChunk(content=reply.content, tool_call_chunks=[])
            chunk.tool_calls = reply.tool_calls
            yield ChatGenerationChunk(message=chunk)
            return
        for number, word in enumerate(reply.split(" ")):
            await asyncio.sleep(0)
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{' ' if number else ''}{word}"))


def result(reply: str | AIMessage) -> ChatResult:
    message = reply if isinstance(reply, AIMessage) else AIMessage(reply)
    return ChatResult(generations=[ChatGeneration(message=message)])


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("it waits")


def shown(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    return [(ROLES.get(message.type, message.type), str(message.text)) for message in messages]


def configured(user: Any, thread: str | None = None) -> dict[str, Any]:
    return {"configurable": {"user_id": user, **({"thread_id": thread} if thread else {})}}


def agent_with(middleware: Any, script: ScriptedModel, **more: Any) -> Any:
    """``middleware``: one of ours, or a list."""
    given = middleware if isinstance(middleware, list) else [middleware]
    return create_agent(ScriptedChat(script=script), middleware=given, **more)


class Talk:
    """An agent whose caller keeps the history and shows all of it every time."""

    def __init__(
        self, agent: Any, middleware: MemoryScopeMiddleware, config: dict[str, Any], history: Sequence[Any] = ()
    ) -> None:
        self.agent, self.middleware, self.config, self.history = agent, middleware, config, list(history)

    async def say(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        said = await self.agent.ainvoke({"messages": self.history}, self.config)
        reply = str(said["messages"][-1].text)
        self.history.append({"role": "assistant", "content": reply})
        return reply

    async def interrupt(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        await self._leave({"messages": self.history})

    async def _leave(self, given: dict[str, Any]) -> None:
        stream = self.agent.astream(given, self.config, stream_mode="messages")
        async for chunk, _ in stream:
            if chunk.text:
                break
        await stream.aclose()

    async def state(self) -> Any:
        return list(self.history)

    async def close(self) -> None:
        await self.middleware.aclose()


class ThreadTalk(Talk):
    """An agent with a checkpointer: only what is new is shown to it."""

    async def say(self, text: str) -> str:
        said = await self.agent.ainvoke({"messages": [{"role": "user", "content": text}]}, self.config)
        return str(said["messages"][-1].text)

    async def interrupt(self, text: str) -> None:
        await self._leave({"messages": [{"role": "user", "content": text}]})

    async def state(self) -> Any:
        return self.agent.checkpointer


def talk_with(memory: Any, script: ScriptedModel, user: str) -> Talk:
    middleware = MemoryScopeMiddleware(memory=memory)
    return Talk(agent_with(middleware, script), middleware, configured(user))
