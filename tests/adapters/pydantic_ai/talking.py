"""Pydantic AI's agent over its own client for chat completions."""

from __future__ import annotations

from typing import Any

from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from adapters.served import serve_for_good
from memscope_pydantic_ai import MemoryScopeCapability
from memscope_testing.scripted import ScriptedModel

PROMPT = "You are a helpful assistant."


def openai_client(url: str) -> AsyncOpenAI:
    plain = DefaultAsyncHttpxClient(verify=False)  # reading certificates takes most of a test's time
    return AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=plain)


def agent_with(capability: Any, client: AsyncOpenAI, **more: Any) -> Agent[Any, Any]:
    model = OpenAIChatModel("test-chat", provider=OpenAIProvider(openai_client=client))
    return Agent(model, **{"instructions": PROMPT, **more}, capabilities=[capability])


class Talk:
    """An agent whose program keeps the message history."""

    def __init__(self, capability: MemoryScopeCapability, url: str, history: Any = (), **more: Any) -> None:
        self.capability, self.client, self.history = capability, openai_client(url), list(history)
        self.run = {"conversation_id": "one", **more.pop("run", {})}
        self.agent = agent_with(capability, self.client, **more)

    async def say(self, text: str) -> str:
        result = await self.agent.run(text, message_history=self.history, **self.run)
        self.history = result.all_messages()
        return result.output

    async def interrupt(self, text: str) -> None:
        async with self.agent.run_stream(text, message_history=self.history, **self.run) as result:
            async for _ in result.stream_text(debounce_by=None):
                break

    async def state(self) -> Any:
        return list(self.history)

    async def close(self) -> None:
        await self.capability.close()
        await self.client.close()


class StreamedTalk(Talk):
    async def say(self, text: str) -> str:
        async with self.agent.run_stream(text, message_history=self.history, **self.run) as result:
            reply = await result.get_output()
        self.history = result.all_messages()
        return reply


class LoopTalk:
    """A client that is made again for every turn, as it belongs to one event loop."""

    def __init__(self, capability: MemoryScopeCapability, url: str) -> None:
        self.capability, self.url, self.history = capability, url, []

    async def say(self, text: str) -> str:
        talk = Talk(self.capability, self.url, self.history)
        async with talk.client:
            reply = await talk.say(text)
        self.history = talk.history
        return reply

    async def close(self) -> None:
        await self.capability.close()


def talk_with(memory: Any, script: ScriptedModel, user: str) -> LoopTalk:
    return LoopTalk(MemoryScopeCapability(user=user, memory=memory), serve_for_good(script))
