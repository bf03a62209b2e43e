"""LlamaIndex's agent over its own client for chat completions."""

from __future__ import annotations

import contextlib
from typing import Any

import httpx
from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

from adapters.served import serve_for_good
from memscope_llama_index import MemoryScopeBlock
from memscope_testing.scripted import ScriptedModel

PROMPT = "You are a helpful assistant."


def nothing() -> str:
    """Do nothing."""
    return ""


def model(url: str) -> OpenAILike:
    plain = httpx.AsyncClient(verify=False)  # reading certificates takes most of a test's time
    return OpenAILike(
        model="test-chat", api_base=url, api_key="none", is_chat_model=True, is_function_calling_model=True,
        max_retries=0, async_http_client=plain,
    )  # fmt: skip


class Talk:
    """An agent and LlamaIndex's memory of one session."""

    streaming = False

    def __init__(
        self, block: MemoryScopeBlock, llm: Any, *, session: str = "one", history: Any = (), **more: Any
    ) -> None:
        self.block, self.llm, self.history = block, llm, list(history)
        self.memory = block.memory_for(session)
        tools = more.pop("tools", [FunctionTool.from_defaults(nothing)])  # FunctionAgent wants one
        self.agent = FunctionAgent(llm=llm, tools=tools, system_prompt=PROMPT, streaming=self.streaming, **more)

    async def open(self) -> None:
        if self.history:
            await self.memory.aset(self.history)
            self.history = []

    async def say(self, text: str) -> str:
        await self.open()
        return str(await self.agent.run(text, memory=self.memory))

    async def interrupt(self, text: str) -> None:
        await self.open()
        handler = self.agent.run(text, memory=self.memory)
        async for event in handler.stream_events():
            if isinstance(event, AgentStream):
                break
        await handler.cancel_run()
        with contextlib.suppress(Exception):
            await handler

    async def state(self) -> list[ChatMessage]:
        return await self.memory.aget_all()

    async def close(self) -> None:
        await self.block.close()
        await self.release()

    async def release(self) -> None:
        """Close what LlamaIndex opened."""
        await self.llm._async_http_client.aclose()
        if (engine := self.memory.sql_store._async_engine) is not None:
            await engine.dispose()


class StreamedTalk(Talk):
    streaming = True


class LoopTalk:
    """An agent that is made again for every turn, as its client belongs to one event loop."""

    def __init__(self, block: MemoryScopeBlock, url: str) -> None:
        self.block, self.url, self.history = block, url, []

    async def say(self, text: str) -> str:
        talk = Talk(self.block, model(self.url), history=self.history)
        reply = await talk.say(text)
        self.history = await talk.state()
        await talk.release()
        return reply

    async def close(self) -> None:
        await self.block.close()


def talk_with(memory: Any, script: ScriptedModel, user: str) -> LoopTalk:
    return LoopTalk(MemoryScopeBlock(user=user, memory=memory), serve_for_good(script))
