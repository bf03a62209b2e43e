"""search_memory, remember and forget: LangChain's own tests for tools, and ours."""

from __future__ import annotations

from datetime import timedelta

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from memscope import AsyncMemoryScope
from memscope.adapters.session import NOTHING_FOUND
from memscope.errors import ScopeError
from memscope_langchain import ForgetTool, MemoryScopeMiddleware, RememberTool, SearchMemoryTool
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking import agent_with, configured
from .test_middleware import FACT, QUESTION, call, calling, texts, user

TOOLS = (SearchMemoryTool, RememberTool, ForgetTool)
EXAMPLES = {
    SearchMemoryTool: {"query": "boat"},
    RememberTool: {"statement": FACT},
    ForgetTool: {"ids": ["unknown"]},
}


class Example:
    made = SearchMemoryTool

    @property
    def tool_constructor(self):
        return self.made

    @property
    def tool_constructor_params(self):
        return {"user": "alice", "memory": {"store": ":memory:"}}

    @property
    def tool_invoke_params_example(self):
        return EXAMPLES[self.made]


class TestSearchUnit(Example, ToolsUnitTests):
    made = SearchMemoryTool


class TestRememberUnit(Example, ToolsUnitTests):
    made = RememberTool


class TestForgetUnit(Example, ToolsUnitTests):
    made = ForgetTool


class TestSearchIntegration(Example, ToolsIntegrationTests):
    made = SearchMemoryTool


class TestRememberIntegration(Example, ToolsIntegrationTests):
    made = RememberTool


class TestForgetIntegration(Example, ToolsIntegrationTests):
    made = ForgetTool


# ---- what the model is told


@pytest.mark.parametrize(
    ("made", "argument"), [(SearchMemoryTool, "query"), (RememberTool, "statement"), (ForgetTool, "ids")]
)
def test_the_model_sees_one_argument(made, argument):
    function = convert_to_openai_tool(made())["function"]
    assert function["parameters"]["required"] == [argument]
    assert set(function["parameters"]["properties"]) - {argument} == ({"kinds"} if argument == "query" else set())


async def test_a_search_can_be_narrowed_to_kinds():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        await memory.add_turns([{"role": "user", "content": FACT}], user="alice")
        search = SearchMemoryTool(user="alice", memory=memory)
        assert "Aurora" in await search.ainvoke({"query": QUESTION, "kinds": ["turn"]})
        assert await search.ainvoke({"query": QUESTION, "kinds": ["insight"]}) == NOTHING_FOUND


async def test_a_run_may_name_the_zone_of_its_user():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        agent = agent_with(MemoryScopeMiddleware(memory=memory, zone="UTC"), ScriptedModel())
        for name, zone in (("alice", "Asia/Shanghai"), ("bob", None)):
            await agent.ainvoke(user(FACT), {"configurable": {"user_id": name, "timezone": zone}})
            turns = await memory.list(user=name)
            assert {turn.time.utcoffset() for turn in turns} == {timedelta(hours=8 if zone else 0)}


# ---- in an agent


async def test_search_in_an_agent(core):
    """A tool's answer is not recorded, and a search does not find the question itself."""
    await core.add_turns([{"role": "user", "content": FACT}], user="alice", session="before")
    script = calling(call("search_memory", query=QUESTION))
    agent = agent_with(MemoryScopeMiddleware(memory=core), script)
    said = await agent.ainvoke(user(QUESTION), configured("alice", "now"))
    (answer,) = [message.text for message in said["messages"] if isinstance(message, ToolMessage)]
    assert "Aurora" in answer
    assert QUESTION not in answer
    assert await texts(core) == [FACT, QUESTION, "Understood by model, number 2."]


async def test_remember_and_forget_in_an_agent(core):
    agent = agent_with(MemoryScopeMiddleware(memory=core), calling(call("remember", statement=FACT)))
    await agent.ainvoke(user("Remember it."), configured("alice", "one"))
    (memory,) = await core.list(user="alice", kinds=["observation"])
    (source,) = [turn for turn in await core.list(user="alice", kinds=["turn"]) if turn.key in memory.sources]
    assert (memory.text, source.scope.session) == (FACT, "one")
    agent = agent_with(MemoryScopeMiddleware(memory=core), calling(call("forget", ids=[memory.id])))
    await agent.ainvoke(user("Forget it."), configured("bob", "two"))
    assert len(await core.list(user="alice", kinds=["observation"])) == 1
    agent = agent_with(MemoryScopeMiddleware(memory=core), calling(call("forget", ids=[memory.id])))
    await agent.ainvoke(user("Forget it."), configured("alice", "two"))
    assert FACT not in await texts(core)


async def test_a_user_that_the_model_makes_up_changes_nothing(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="bob")
    forged = {"query": "boat", "runtime": {"context": {"user_id": "bob"}}, "user": "bob", "config": {"user_id": "bob"}}
    agent = agent_with(MemoryScopeMiddleware(memory=core), calling(call("search_memory", **forged)))
    said = await agent.ainvoke(user("boat?"), configured("alice"))
    assert "Aurora" not in "".join(str(message.content) for message in said["messages"])
    tool = SearchMemoryTool(memory=core)
    assert "Aurora" not in await tool.ainvoke(forged, configured("alice"))
    with pytest.raises(ScopeError):
        await tool.ainvoke(forged)


async def test_tools_without_the_middleware(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    tools = [made(memory=core) for made in TOOLS]
    agent = agent_with([], calling(call("search_memory", query="boat")), tools=tools)
    said = await agent.ainvoke(user("boat?"), configured("alice"))
    assert "Aurora" in said["messages"][2].text
    assert await texts(core) == [FACT]


# ---- by hand


def test_by_hand(memory):
    search, remember, forget = (made(user="alice", memory=memory) for made in TOOLS)
    assert search.invoke({"query": "boat"}) == NOTHING_FOUND
    id = remember.invoke({"statement": FACT}).split()[-1].rstrip(".")
    assert "Aurora" in search.invoke("boat")
    assert SearchMemoryTool(memory=memory).invoke("boat", configured("bob")) == NOTHING_FOUND
    assert forget.invoke({"ids": [id, "x"]}) == "Forgotten: 1 turns, 1 memories. Nothing has the id 'x'."
    assert search.invoke("boat") == NOTHING_FOUND


async def test_no_user(core):
    for made in TOOLS:
        with pytest.raises(ScopeError, match="user_id"):
            await made(memory=core).ainvoke(EXAMPLES[made])
        with pytest.raises(ScopeError):
            made(memory=core, user=" ")


def test_without_await_in_an_agent(memory):
    memory.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = calling(call("search_memory", query="boat"))
    agent = agent_with(MemoryScopeMiddleware(memory=memory), script)
    said = agent.invoke(user("boat?"), configured("alice"))
    assert "Aurora" in said["messages"][2].text
    assert isinstance(script, ScriptedModel)


async def test_a_memory_that_fails_is_told_to_the_model():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        store.broken = True
        script = calling(call("remember", statement=FACT))
        agent = agent_with(MemoryScopeMiddleware(memory=core), script)
        said = await agent.ainvoke(user("Remember it."), configured("alice"))
        assert said["messages"][-1].text == "Understood by model, number 2."
        assert "out of order" in script.latest
        strict = RememberTool(memory=core, user="alice", handle_tool_error=False)
        with pytest.raises(ToolException, match="out of order"):
            await strict.ainvoke({"statement": FACT})
