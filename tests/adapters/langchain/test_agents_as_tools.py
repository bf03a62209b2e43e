"""An agent that is a tool of another one: its task is what the other agent said, not the user."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from memscope_langchain import MemoryScopeMiddleware
from memscope_testing.scripted import ScriptedModel

from .talking import agent_with, configured

TASK, REQUEST = "I need a flat near the river in Porto.", "Please ask the expert."


def boss_script(*calls):
    """A script whose first replies call tools."""
    script, left = ScriptedModel(name="boss"), list(calls)
    answer = script.answer

    async def reply(messages):
        words = await answer(messages)
        return AIMessage("", tool_calls=[{**left.pop(0), "id": "1"}]) if left else words

    script.answer = reply
    return script


def expert(core, **more):
    return agent_with(MemoryScopeMiddleware(memory=core, agent="expert"), ScriptedModel(name="expert"), **more)


async def speakers(core):
    return [(turn.role, turn.speaker, turn.text) for turn in await core.list(user="alice", kinds=["turn"])]


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_task_of_an_inner_agent_is_not_what_the_user_said(core, is_async):
    inner = expert(core)

    @tool
    async def ask_expert(task: str) -> str:
        """Ask an expert."""
        return (await inner.ainvoke({"messages": [("user", task)]}))["messages"][-1].text

    @tool("ask_expert")
    def ask_expert_blocking(task: str) -> str:
        """Ask an expert."""
        return inner.invoke({"messages": [("user", task)]})["messages"][-1].text

    outer = agent_with(
        MemoryScopeMiddleware(memory=core, agent="boss"),
        boss_script({"name": "ask_expert", "args": {"task": TASK}}),
        tools=[ask_expert if is_async else ask_expert_blocking],
    )
    await outer.ainvoke({"messages": [("user", REQUEST)]}, configured("alice", "one"))
    assert await speakers(core) == [
        ("user", "user", REQUEST),
        ("assistant", "boss", TASK),
        ("assistant", "assistant", "Understood by expert, number 1."),
        ("assistant", "assistant", "Understood by boss, number 2."),
    ]
