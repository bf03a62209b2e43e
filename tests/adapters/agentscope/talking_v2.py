"""AgentScope 2.x's agent with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.event import TextBlockDeltaEvent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import TextBlock, ToolCallBlock, UserMsg
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.state import AgentState
from agentscope.tool import Toolkit

from memscope_agentscope import MemoryScopeMiddleware
from memscope_testing.scripted import ScriptedModel


class Model(ChatModelBase):
    """Asks a script with what the formatter makes of the messages; a list of blocks is given as it is."""

    def __init__(self, script: ScriptedModel, *, stream: bool = False) -> None:
        super().__init__(
            OpenAICredential(api_key="none"), "scripted", ChatModelBase.Parameters(), stream, max_retries=0
        )
        self.formatter = OpenAIChatFormatter()
        self.script, self.context_size = script, 100_000
        self.requests: list[list[Any]] = []

    async def _call_api(self, model_name: str, messages: list[Any], *_: Any, **__: Any) -> Any:
        self.requests.append(messages)
        shown = [(given["role"], text_of(given)) for given in await self.formatter.format(messages)]
        reply = await self.script.answer(shown)
        blocks = [TextBlock(text=reply)] if isinstance(reply, str) else reply
        return self._stream(blocks) if self.stream else ChatResponse(content=blocks, is_last=True)

    async def _stream(self, blocks: list[Any]) -> Any:
        for block in blocks:
            for word in block.text.split(" ") if isinstance(block, TextBlock) else ():
                await asyncio.sleep(0)
                yield ChatResponse(content=[TextBlock(text=f"{word} ")], is_last=False)
        yield ChatResponse(content=blocks, is_last=True)

    async def _call_api_with_structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    @property
    def last(self) -> list[Any]:
        """The messages of the latest request, before the formatter."""
        return self.requests[-1]


def text_of(given: dict[str, Any]) -> str:
    content = given.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def call(name: str, /, **arguments: Any) -> list[ToolCallBlock]:
    return [ToolCallBlock(id=f"call-{name}", name=name, input=json.dumps(arguments))]


def answers(*replies: Any, **more: Any) -> ScriptedModel:
    """A script with these answers, text or tool calls, one after the other; then those of any script."""
    script, left = ScriptedModel(**more), list(replies)
    said = script.answer

    async def answer(messages: Any) -> Any:
        reply = await said(messages)
        return left.pop(0) if left else reply

    script.answer = answer
    return script


def agent_with(memory: Any, script: ScriptedModel, *, session: str = "one", tools: Any = (), **more: Any) -> Agent:
    options = {"name": "helper", "system_prompt": "You are helpful.", "state": AgentState(session_id=session), **more}
    model = Model(script, stream=options.pop("stream", False))
    return Agent(model=model, toolkit=Toolkit(tools=list(tools)), middlewares=[memory] if memory else [], **options)


class Talk:
    """One agent, one user."""

    def __init__(self, agent: Agent, memory: MemoryScopeMiddleware) -> None:
        self.agent, self.memory = agent, memory

    async def say(self, text: str) -> str:
        return (await self.agent.reply(UserMsg("user", text))).get_text_content()

    async def interrupt(self, text: str) -> None:
        stream = self.agent.reply_stream(UserMsg("user", text))
        async for event in stream:
            if isinstance(event, TextBlockDeltaEvent):
                break
        await stream.aclose()

    async def state(self) -> Any:
        return self.agent.state.model_dump(mode="json")

    async def close(self) -> None:
        await self.memory.close()


async def texts(core: Any, **scope: Any) -> list[str]:
    """Texts stored of alice."""
    return [turn.text for turn in await core.list(user="alice", **scope)]


def talk_with(memory: Any, script: ScriptedModel, user: str) -> Talk:
    m = MemoryScopeMiddleware(user=user, memory=memory)
    return Talk(agent_with(m, script), m)
