"""Agents of one graph that hear the same message: it is recorded once, whoever hears it first."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from memscope_langchain import MemoryScopeMiddleware
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking import agent_with, configured

REMARKS = ["My boat is red.", "yes", "yes"]


@tool
def to_second() -> Command:
    """Hand over to the second agent."""
    return Command(goto="second", graph=Command.PARENT)


def handing_over():
    """A script that hands over whenever it is asked."""
    script = ScriptedModel(name="first")
    answer = script.answer

    async def reply(messages):
        await answer(messages)
        return AIMessage("", tool_calls=[{"name": "to_second", "args": {}, "id": str(len(script.shown))}])

    script.answer = reply
    return script


def graph(first, second, *, parallel=False):
    built = StateGraph(MessagesState)
    built.add_node("first", first)
    built.add_node("second", second)
    built.add_edge(START, "first")
    if parallel:
        built.add_edge(START, "second")
    return built.compile(checkpointer=InMemorySaver())


async def users_words(core):
    return [turn.text for turn in await core.list(user="alice", kinds=["turn"]) if turn.role == "user"]


@pytest.mark.parametrize("shared", [True, False])
async def test_after_a_handover(core, shared):
    one = MemoryScopeMiddleware(memory=core)
    other = one if shared else MemoryScopeMiddleware(memory=core)
    script = ScriptedModel()
    app = graph(agent_with(one, handing_over(), tools=[to_second]), agent_with(other, script))
    for remark in REMARKS:
        await app.ainvoke({"messages": [HumanMessage(remark)]}, configured("alice", "one"))
    assert await users_words(core) == REMARKS
    assert len(await core.list(user="alice", kinds=["turn"])) == 6
    await core.add_turns([{"role": "user", "content": "My boat is called Aurora."}], user="alice")
    await app.ainvoke({"messages": [HumanMessage("What is my boat called?")]}, configured("alice", "one"))
    assert "Aurora" in script.latest


async def test_in_parallel(core):
    memory = MemoryScopeMiddleware(memory=core)
    app = graph(agent_with(memory, ScriptedModel()), agent_with(memory, ScriptedModel()), parallel=True)
    for remark in REMARKS:
        await app.ainvoke({"messages": [HumanMessage(remark)]}, configured("alice", "one"))
    assert await users_words(core) == REMARKS
    assert len(await core.list(user="alice", kinds=["turn"])) == 9


async def test_agents_with_names_of_their_own_each_record_it(core):
    first, second = (MemoryScopeMiddleware(memory=core, agent=name) for name in ("first", "second"))
    app = graph(agent_with(first, handing_over(), tools=[to_second]), agent_with(second, ScriptedModel()))
    await app.ainvoke({"messages": [HumanMessage(REMARKS[0])]}, configured("alice", "one"))
    for name in ("first", "second"):
        turns = await core.list(user="alice", agent=name, kinds=["turn"])
        assert [turn.text for turn in turns if turn.role == "user"] == REMARKS[:1]


async def test_what_a_strict_agent_could_not_record_it_records_when_it_runs_again():
    from memscope import AsyncMemoryScope

    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        memory = MemoryScopeMiddleware(memory=core, strict=True)
        agent = agent_with(memory, ScriptedModel(), checkpointer=InMemorySaver())
        store.broken = True
        with pytest.raises(Exception, match="out of order"):
            await agent.ainvoke({"messages": [HumanMessage(REMARKS[0])]}, configured("alice", "one"))
        store.broken = False
        await agent.ainvoke(None, configured("alice", "one"))
        assert await users_words(core) == REMARKS[:1]
