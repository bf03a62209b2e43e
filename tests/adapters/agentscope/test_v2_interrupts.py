"""A reply that is interrupted while the memory works ends as AgentScope ends every interrupted reply."""

from __future__ import annotations

import asyncio

import pytest
from agentscope.agent import ReActConfig
from agentscope.message import UserMsg

from memscope import AsyncMemoryScope
from memscope_agentscope import MemoryScopeMiddleware
from memscope_testing.scripted import ScriptedModel

from .talking_v2 import agent_with, texts

pytestmark = pytest.mark.skipif(
    "interruption_raise_cancelled_error" not in ReActConfig.model_fields,
    reason="this version lets CancelledError through",
)
FACT = "My boat is called Aurora."
QUESTION = "What is my boat called?"


class Slow:
    """A plugin under which the nth call of an operation takes until ``go``."""

    def __init__(self, operation: str, nth: int = 1) -> None:
        self.begun, self.go, self._left = asyncio.Event(), asyncio.Event(), nth
        setattr(self, f"memscope_before_{operation}", self._wait)

    async def _wait(self) -> None:
        self._left -= 1
        if not self._left:
            self.begun.set()
            await self.go.wait()


async def interrupted(agent, slow, text):
    """Everything that a reply yields which is interrupted while the memory works."""

    async def reply():
        return [item async for item in agent.reply_stream(UserMsg("user", text), yield_final_msg=True)]

    replying = asyncio.create_task(reply())
    await slow.begun.wait()
    replying.cancel()
    await asyncio.sleep(0)
    slow.go.set()
    return await replying


def agent_of(core, **more):
    return agent_with(MemoryScopeMiddleware(user="alice", memory=core), ScriptedModel(), **more)


@pytest.mark.parametrize("operation", ["add_turns", "retrieve"])
async def test_before_the_model_is_asked(operation):
    slow = Slow(operation)
    async with AsyncMemoryScope(":memory:", settings={}, plugins=[slow]) as core:
        agent = agent_of(core)
        *_, end, last = await interrupted(agent, slow, FACT)
        assert end.finished_reason == last.finished_reason == "interrupted"
        assert agent.model.script.shown == []
        assert (await texts(core))[0] == FACT
        assert (await agent.reply(UserMsg("user", QUESTION))).finished_reason != "interrupted"


async def test_when_the_answer_is_whole():
    """The interruption comes too late: the answer is given, and recorded."""
    slow = Slow("add_turns", nth=2)
    async with AsyncMemoryScope(":memory:", settings={}, plugins=[slow]) as core:
        *_, last = await interrupted(agent_of(core), slow, FACT)
        assert last.finished_reason != "interrupted"
        assert await texts(core) == [FACT, last.get_text_content()]


async def test_an_agent_that_raises_when_interrupted_does_so():
    slow = Slow("add_turns", nth=2)
    async with AsyncMemoryScope(":memory:", settings={}, plugins=[slow]) as core:
        agent = agent_of(core, react_config=ReActConfig(interruption_raise_cancelled_error=True))
        with pytest.raises(asyncio.CancelledError):
            await interrupted(agent, slow, FACT)
        assert len(await texts(core)) == 2
