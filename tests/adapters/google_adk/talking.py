"""ADK's runner over its own model for chat completions."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App
from google.adk.labs.openai import OpenAILlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from adapters.served import serve_for_good
from memscope_google_adk import MemoryScopePlugin
from memscope_testing.scripted import ScriptedModel

APP, PROMPT = "suite", "You are a helpful assistant."
STREAMED = RunConfig(streaming_mode=StreamingMode.SSE)


def model(url: str) -> OpenAILlm:
    llm = OpenAILlm(model="test-chat")
    plain = DefaultAsyncHttpxClient(verify=False)  # reading certificates takes most of a test's time
    client = AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=plain)
    vars(llm)["_openai_client"] = client  # 2.0 takes none
    return llm


def content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


async def close_client(llm: OpenAILlm) -> None:
    await vars(llm)["_openai_client"].close()


class Talk:
    """A runner with a session; ``history`` are the events of another one."""

    config: RunConfig | None = None

    def __init__(
        self, plugin: MemoryScopePlugin, llm: Any, *, user: Any = "alice", session: str = "one", history: Any = (),
        **agent: Any,
    ) -> None:  # fmt: skip
        self.plugin, self.llm, self.user, self.session = plugin, llm, user, session
        root = LlmAgent(**{"name": "helper", "model": llm, "instruction": PROMPT, **agent})
        self.service, self.history = InMemorySessionService(), list(history)
        app = App(name=APP, root_agent=root, plugins=[plugin])
        self.runner = Runner(app=app, session_service=self.service)

    async def open(self) -> None:
        if await self.stored() is None:
            session = await self.service.create_session(app_name=APP, user_id=self.user, session_id=self.session)
            for event in self.history:
                await self.service.append_event(session, event)

    async def stored(self) -> Session | None:
        return await self.service.get_session(app_name=APP, user_id=self.user, session_id=self.session)

    async def say(self, text: str) -> str:
        await self.open()
        said = []
        async with aclosing(self.run(text, self.config)) as events:
            async for event in events:
                if not event.partial and event.content and event.content.parts:
                    said += [part.text for part in event.content.parts if part.text]
        return said[-1] if said else ""

    async def interrupt(self, text: str) -> None:
        await self.open()
        async with aclosing(self.run(text, STREAMED)) as events:
            async for _ in events:
                break

    def run(self, text: str, config: RunConfig | None) -> Any:
        more = {"run_config": config} if config else {}
        return self.runner.run_async(user_id=self.user, session_id=self.session, new_message=content(text), **more)

    async def state(self) -> Any:
        session = await self.stored()
        return [event.model_copy(deep=True) for event in session.events] if session else []

    async def close(self) -> None:
        await self.runner.close()
        await self.plugin.close()
        await close_client(self.llm)
        for _ in range(10):
            await asyncio.sleep(0)  # ADK's generators that were left early


class StreamedTalk(Talk):
    config = STREAMED


class LoopTalk:
    """A runner that is made again for every turn, as the client of its model belongs to one event loop."""

    def __init__(self, plugin: MemoryScopePlugin, url: str, user: str) -> None:
        self.plugin, self.url, self.user, self.history = plugin, url, user, []

    async def say(self, text: str) -> str:
        talk = Talk(self.plugin, model(self.url), user=self.user, history=self.history)
        reply = await talk.say(text)
        self.history = await talk.state()
        await close_client(talk.llm)
        return reply

    async def close(self) -> None:
        await self.plugin.close()


def talk_with(memory: Any, script: ScriptedModel, user: str) -> LoopTalk:
    return LoopTalk(MemoryScopePlugin(memory=memory), serve_for_good(script), user)
