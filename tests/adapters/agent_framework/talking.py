"""Agent Framework's agent over its own client for chat completions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_framework import Agent, AgentSession, InMemoryHistoryProvider, Message
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from adapters.served import serve_for_good
from memscope_agent_framework import MemoryScopeContextProvider
from memscope_testing.scripted import ScriptedModel

PROMPT = "You are a helpful assistant."


def chat_client(url: str) -> OpenAIChatCompletionClient:
    plain = DefaultAsyncHttpxClient(verify=False)  # reading certificates takes most of a test's time
    openai = AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=plain)
    return OpenAIChatCompletionClient(model="test-chat", async_client=openai)


def agent_with(provider: Any, url: str, **more: Any) -> Agent:
    """With a provider for the history: before 1.23 no other one stands beside a provider of ours by itself."""
    return Agent(chat_client(url), PROMPT, context_providers=[InMemoryHistoryProvider(), provider], **more)


class Talk:
    """An agent with a session, which keeps the history."""

    def __init__(self, agent: Agent, provider: MemoryScopeContextProvider, session: AgentSession) -> None:
        self.agent, self.provider, self.session = agent, provider, session

    async def say(self, text: str) -> str:
        return (await self.agent.run(text, session=self.session)).text

    async def interrupt(self, text: str) -> None:
        async for update in self.agent.run(text, session=self.session, stream=True):
            if update.text:
                break

    async def state(self) -> Any:
        return self.session.to_dict()

    async def close(self) -> None:
        await self.provider.close()
        await self.agent.client.client.close()


class ShownAgainTalk(Talk):
    """An agent without a session: its caller shows the whole history every time, and streams."""

    def __init__(self, agent: Agent, provider: MemoryScopeContextProvider, history: list[Message]) -> None:
        self.agent, self.provider, self.history = agent, provider, history

    async def say(self, text: str) -> str:
        self.history.append(Message("user", [text]))
        stream = self.agent.run(self.history, stream=True)
        async for _ in stream:
            pass
        reply = (await stream.get_final_response()).text
        self.history.append(Message("assistant", [reply]))
        return reply

    async def interrupt(self, text: str) -> None:
        self.history.append(Message("user", [text]))
        async for update in self.agent.run(self.history, stream=True):
            if update.text:
                break

    async def state(self) -> Any:
        return list(self.history)


class LoopTalk:
    """An agent that is made again for every turn, as its client belongs to one event loop."""

    def __init__(self, provider: MemoryScopeContextProvider, make: Callable[[], Agent]) -> None:
        self.provider, self.make, self.session = provider, make, AgentSession()

    async def say(self, text: str) -> str:
        agent = self.make()
        reply = await agent.run(text, session=self.session)
        await agent.client.client.close()
        return reply.text

    async def close(self) -> None:
        await self.provider.close()


def talk_with(memory: Any, script: ScriptedModel, user: str) -> LoopTalk:
    provider, url = MemoryScopeContextProvider(user=user, memory=memory), serve_for_good(script)
    return LoopTalk(provider, lambda: agent_with(provider, url))
