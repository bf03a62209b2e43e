"""AutoGen's agent with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    SystemMessage,
    UserMessage,
)

from memscope_autogen import MemoryScopeMemory
from memscope_testing.scripted import ScriptedModel

USAGE = RequestUsage(prompt_tokens=0, completion_tokens=0)
INFO = ModelInfo(vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False)


class ScriptedClient(ChatCompletionClient):
    """A model client that asks a script; a reply that is a list of function calls is given as it is."""

    component_type = "model"

    def __init__(self, script: ScriptedModel) -> None:
        self.script = script

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        reply = await self.script.answer([shown(message) for message in messages])
        reason = "stop" if isinstance(reply, str) else "function_calls"
        return CreateResult(finish_reason=reason, content=reply, usage=USAGE, cached=False)

    async def create_stream(self, messages: Sequence[LLMMessage], **_: Any) -> AsyncGenerator[str | CreateResult, None]:
        result = await self.create(messages)
        if isinstance(result.content, str):
            for word in result.content.split(" "):
                await asyncio.sleep(0)
                yield f"{word} "
        yield result

    async def close(self) -> None: ...

    def actual_usage(self) -> RequestUsage:
        return USAGE

    total_usage = actual_usage

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return sum(len(shown(message)[1].split()) for message in messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return 10_000 - self.count_tokens(messages)

    @property
    def capabilities(self) -> ModelInfo:
        return INFO

    @property
    def model_info(self) -> ModelInfo:
        return INFO


def shown(message: LLMMessage) -> tuple[str, str]:
    roles = {SystemMessage: "system", UserMessage: "user", AssistantMessage: "assistant"}
    return roles.get(type(message), "tool"), str(message.content)


class Talk:
    """One agent, one user."""

    def __init__(self, agent: AssistantAgent, memory: MemoryScopeMemory) -> None:
        self.agent, self.memory = agent, memory

    async def say(self, text: str) -> str:
        return (await self.agent.run(task=text)).messages[-1].content

    async def interrupt(self, text: str) -> None:
        stream = self.agent.run_stream(task=text)
        async for event in stream:
            if isinstance(event, ModelClientStreamingChunkEvent):
                break
        await stream.aclose()

    async def state(self) -> Any:
        return await self.agent.save_state()

    async def close(self) -> None:
        await self.memory.close()


def agent_with(memory: Any, script: ScriptedModel, name: str = "helper", **more: Any) -> AssistantAgent:
    return AssistantAgent(name, ScriptedClient(script), memory=memory, model_client_stream=True, **more)


async def texts(core, **scope):
    """Texts stored of alice."""
    return [turn.text for turn in await core.list(user="alice", **scope)]


def calls(*functions):
    """A script's answers: function calls or text, one after the other."""
    script, left = ScriptedModel(), list(functions)
    said = script.answer

    async def answer(messages):
        reply = await said(messages)
        return left.pop(0) if left else reply

    script.answer = answer
    return script


def talk_with(memory: Any, script: ScriptedModel, user: str) -> Talk:
    m = MemoryScopeMemory(user=user, memory=memory)
    return Talk(agent_with(m, script), m)
