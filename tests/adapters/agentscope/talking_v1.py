"""AgentScope 1.x's ReActAgent with a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse

from memscope_agentscope import MemoryScopeLongTermMemory
from memscope_testing.scripted import ScriptedModel


class Model(ChatModelBase):
    """Asks a script; a reply that is a list of blocks is given as it is. Between two words ``pause`` is waited for."""

    def __init__(self, script: ScriptedModel) -> None:
        super().__init__("scripted", stream=True)
        self.script = script
        self.begun = asyncio.Event()
        self.tools: list[Any] = []

    async def __call__(self, messages: list[dict[str, Any]], tools: Any = None, *_: Any, **__: Any) -> Any:
        self.tools = tools or []
        reply = await self.script.answer([(given["role"], text_of(given)) for given in messages])
        return self._stream([TextBlock(type="text", text=reply)] if isinstance(reply, str) else reply)

    async def _stream(self, blocks: list[Any]) -> Any:
        said = ""
        for word in blocks[0].get("text", "").split(" "):
            said += f"{word} "
            if blocks[0]["type"] == "text":
                yield ChatResponse(content=[TextBlock(type="text", text=said)])
            self.begun.set()
            await asyncio.sleep(0)
        yield ChatResponse(content=blocks)


def text_of(given: dict[str, Any]) -> str:
    content = given.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def call(name: str, /, **arguments: Any) -> list[ToolUseBlock]:
    return [ToolUseBlock(type="tool_use", id=f"call-{name}", name=name, input=arguments)]


def answers(*replies: Any) -> ScriptedModel:
    """A script with these answers, text or tool calls, one after the other; then those of any script."""
    script, left = ScriptedModel(), list(replies)
    said = script.answer

    async def answer(messages: Any) -> Any:
        reply = await said(messages)
        return left.pop(0) if left else reply

    script.answer = answer
    return script


def agent_with(memory: Any, script: ScriptedModel, mode: str = "static_control", **more: Any) -> ReActAgent:
    agent = ReActAgent(
        "helper", "You are helpful.", Model(script), OpenAIChatFormatter(), memory=InMemoryMemory(),
        long_term_memory=memory, long_term_memory_mode=mode, **more,
    )  # fmt: skip
    agent.set_console_output_enabled(False)
    return agent


class Talk:
    """One agent, one user."""

    def __init__(self, agent: ReActAgent, memory: MemoryScopeLongTermMemory) -> None:
        self.agent, self.memory = agent, memory

    async def say(self, text: str) -> str:
        return (await self.agent(Msg("user", text, "user"))).get_text_content().strip()

    async def interrupt(self, text: str) -> None:
        self.agent.model.begun.clear()
        saying = asyncio.create_task(self.agent(Msg("user", text, "user")))
        await self.agent.model.begun.wait()
        await self.agent.interrupt()
        await saying

    async def state(self) -> Any:
        return self.agent.state_dict()

    async def close(self) -> None:
        await self.memory.close()


async def texts(core: Any, **scope: Any) -> list[str]:
    """Texts stored of alice."""
    return [turn.text for turn in await core.list(user="alice", **scope)]


def talk_with(memory: Any, script: ScriptedModel, user: str) -> Talk:
    m = MemoryScopeLongTermMemory(user=user, memory=memory)
    return Talk(agent_with(m, script), m)
