"""search_memory, remember and forget in an agent's hands."""

from __future__ import annotations

import json

import pytest
from autogen_core import CancellationToken, FunctionCall
from autogen_core.tools import BaseTool, StaticWorkbench

from memscope.adapters.session import NOTHING_FOUND
from memscope_autogen import ForgetTool, MemoryScopeMemory, RememberTool, SearchMemoryTool
from memscope_testing.scripted import ScriptedModel

from .talking import agent_with, calls

FACT = "My boat is called Aurora."


@pytest.fixture
def memory(core):
    return MemoryScopeMemory(user="alice", memory=core)


async def run(tool, **arguments):
    return (await tool.run_json(arguments, CancellationToken())).text


def call(name, **arguments):
    return [FunctionCall(id="1", name=name, arguments=json.dumps(arguments))]


async def test_a_search_can_be_narrowed_to_kinds(memory, core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    search = SearchMemoryTool(memory)
    assert "Aurora" in await run(search, query="boat", kinds=["turn"])
    assert await run(search, query="boat", kinds=["insight"]) == NOTHING_FOUND


def test_kinds_and_zone_are_configuration():
    memory = MemoryScopeMemory(user="alice", memory={}, kinds=["insight"], zone="Asia/Shanghai")
    again = MemoryScopeMemory.load_component(memory.dump_component())
    assert (again.memory_session.kinds, again.memory_session.zone) == (["insight"], "Asia/Shanghai")


async def test_what_they_are_called_and_take(memory):
    schemas = [tool.schema for tool in memory.tools()]
    assert [(schema["name"], schema["parameters"]["required"]) for schema in schemas] == [
        ("search_memory", ["query"]), ("remember", ["statement"]), ("forget", ["ids"]),
    ]  # fmt: skip


async def test_tools_of_core_memory_are_components(tmp_path):
    memory = MemoryScopeMemory(user="alice", memory={"store": str(tmp_path / "memory.db")})
    made = StaticWorkbench(memory.tools("all"))
    loaded = StaticWorkbench.load_component(made.dump_component())
    assert [tool["name"] for tool in await loaded.list_tools()] == [tool["name"] for tool in await made.list_tools()]
    await loaded.call_tool("memory_append", {"label": "human", "text": "Alice sails.", "reason": "said"})
    assert "Alice sails." in (await memory.memory_session.core())


async def test_remember_search_forget(memory, core):
    search, remember, forget = memory.tools()
    assert await run(search, query="boat") == NOTHING_FOUND
    await run(remember, statement="Alice's boat is called Aurora.")
    found = await run(search, query="What is the boat called?")
    assert "Aurora" in found
    id = found.partition("[id ")[2].partition("]")[0]
    assert await run(forget, ids=[id, "unknown"]) == "Forgotten: 1 turns, 1 memories. Nothing has the id 'unknown'."
    assert await run(search, query="boat") == NOTHING_FOUND
    assert await core.list(user="alice") == []
    assert await run(forget, ids=[]) == "No ids were given."


async def test_a_foreign_id_is_an_unknown_one(memory, core):
    report = await core.add_turns([{"role": "user", "content": FACT}], user="bob")
    assert "Nothing has the id" in await run(ForgetTool(memory), ids=list(report.keys))
    assert len(await core.list(user="bob")) == 1


async def test_in_an_agent_beside_recall(memory, core):
    """A tool's answer is not recorded, and a search does not find the question itself."""
    await core.add_turns([{"role": "user", "content": FACT}], user="alice", session="before")
    script = calls(call("search_memory", query="What is my boat called?"))
    agent = agent_with(memory, script, tools=memory.tools(), reflect_on_tool_use=True)
    await agent.run(task="What is my boat called?")
    answers = [shown.text for shown in script.shown[-1] if shown.role == "tool"]
    assert "Aurora" in answers[0]
    assert "user: What is my boat called?" not in answers[0]
    assert [turn.text for turn in await core.list(user="alice")] == [
        FACT, "What is my boat called?", "Understood by model, number 2.",
    ]  # fmt: skip


async def test_the_summary_of_a_tool_use_is_not_taken_for_something_said(memory, core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice", session="before")
    agent = agent_with(memory, calls(call("search_memory", query="boat")), tools=memory.tools())
    await agent.run(task="Look it up, please.")
    await agent.run(task="Thanks")
    assert sum("Aurora" in turn.text for turn in await core.list(user="alice")) == 1


@pytest.mark.parametrize("made", [SearchMemoryTool, RememberTool, ForgetTool])
async def test_each_is_written_down_and_made_again(made, tmp_path):
    memory = MemoryScopeMemory(user="alice", memory=tmp_path / "memory.db", agent="helper")
    dumped = made(memory).dump_component()
    loaded = BaseTool.load_component(json.loads(dumped.model_dump_json()))
    assert type(loaded) is made
    assert loaded.schema == made(memory).schema
    assert loaded.memory.dump_component() == memory.dump_component()


async def test_in_a_workbench(tmp_path):
    memory = MemoryScopeMemory(user="alice", memory=tmp_path / "memory.db")
    bench = StaticWorkbench.load_component(StaticWorkbench(memory.tools()).dump_component())
    await bench.call_tool("remember", {"statement": FACT})
    result = await bench.call_tool("search_memory", {"query": "boat"})
    assert "Aurora" in result.to_text()
    assert not result.is_error


async def test_a_memory_that_fails_is_told_to_the_model():
    from memscope import AsyncMemoryScope
    from memscope_testing.scripted import FickleStore

    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        memory = MemoryScopeMemory(user="alice", memory=core)
        store.broken = True
        script = calls(call("remember", statement=FACT))
        agent = agent_with(memory, script, tools=memory.tools(), reflect_on_tool_use=True)
        result = await agent.run(task="Remember my boat.")
        assert result.messages[-1].content == "Understood by model, number 2."
        assert "out of order" in script.latest


async def test_without_recall_the_tools_are_enough(core):
    """A memory that an agent does not have as its memory records nothing by itself."""
    memory = MemoryScopeMemory(user="alice", memory=core)
    await agent_with(None, ScriptedModel(), tools=memory.tools()).run(task=FACT)
    assert await core.list(user="alice") == []
