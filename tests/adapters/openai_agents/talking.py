"""Agents of the OpenAI Agents SDK over its own client for chat completions."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from adapters.served import serve_for_good
from memscope_openai_agents import MemoryScopeSession
from memscope_testing.scripted import ScriptedModel

PROMPT = "You are a helpful assistant."
QUIET = RunConfig(tracing_disabled=True)


def openai_client(url: str) -> AsyncOpenAI:
    plain = DefaultAsyncHttpxClient(verify=False)  # reading certificates takes most of a test's time
    return AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=plain)


def agent_with(client: AsyncOpenAI, **more: Any) -> Agent[Any]:
    return Agent(
        **{"name": "helper", "instructions": PROMPT, **more}, model=OpenAIChatCompletionsModel("test-chat", client)
    )


class Talk:
    """An agent with a session."""

    def __init__(self, session: MemoryScopeSession, url: str, **more: Any) -> None:
        self.session, self.client = session, openai_client(url)
        self.agent = agent_with(self.client, **more)

    async def say(self, text: str) -> str:
        result = await Runner.run(self.agent, text, session=self.session, run_config=self.session.run_config(QUIET))
        return result.final_output

    async def interrupt(self, text: str) -> None:
        result = Runner.run_streamed(self.agent, text, session=self.session, run_config=self.session.run_config(QUIET))
        async for event in result.stream_events():
            if event.type == "raw_response_event":
                result.cancel()
        await asyncio.sleep(0.02)  # before 0.9 the SDK's own task ends a moment later

    async def state(self) -> Any:
        return self.session.session_id

    async def close(self) -> None:
        await self.session.close()
        await self.client.close()


class LoopTalk:
    """A client that is made again for every turn, as it belongs to one event loop."""

    def __init__(self, session: MemoryScopeSession, url: str) -> None:
        self.session, self.url = session, url

    async def say(self, text: str) -> str:
        talk = Talk(self.session, self.url)
        reply = await talk.say(text)
        await talk.client.close()
        return reply

    async def close(self) -> None:
        await self.session.close()


def talk_with(memory: Any, script: ScriptedModel, user: str) -> LoopTalk:
    return LoopTalk(MemoryScopeSession("one", user=user, memory=memory), serve_for_good(script))
