"""The session beside the suite: history, tools, handoffs, filters of the program's own."""

from __future__ import annotations

import asyncio
import json

import pytest
from agents import Runner, SQLiteSession
from agents.memory import SessionSettings
from agents.run import ModelInputData, RunConfig

from adapters.served import ServedScript
from memscope.errors import ConfigError, InputError, MemscopeError
from memscope_openai_agents import MemoryScopeSession
from memscope_testing.scripted import ScriptedModel

from .talking import Talk, agent_with
from servers.faults import FaultServer

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


def calling(*replies):
    """A script that gives these replies first: text, or a tool call as ``ServedScript`` has it."""
    script, left = ScriptedModel(), list(replies)
    answer = script.answer

    async def scripted(messages):
        reply = await answer(messages)
        return left.pop(0) if left else reply

    script.answer = scripted
    return script


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


@pytest.fixture
async def served():
    """``talk(script, session)`` is an agent over HTTP; all are closed."""
    talks, servers = [], []

    def talk(script, session, **more):
        servers.append(FaultServer(script=ServedScript(script, asyncio.get_running_loop())))
        talks.append(Talk(session, servers[-1].__enter__().base_url, **more))
        return talks[-1]

    yield talk
    for one in talks:
        await one.close()
    for server in servers:
        server.__exit__()


async def texts(core, **scope):
    return [turn.text for turn in await core.list(user="alice", kinds=["turn"], **scope)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"recall": "everything"},
        {"record": "some"},
        {"user": " "},
        {"record": "user"},
        {"session_id": None},
        {"history_tokens": -1},
        {"history_tokens": "6000"},
    ],
)
def test_a_wrong_setting_is_told_at_once(wrong):
    with pytest.raises((ConfigError, InputError)):
        MemoryScopeSession(**{"session_id": "one", "user": "alice", **wrong})


async def test_the_conversation_is_resumed_by_its_id(core, served):
    await served(ScriptedModel(), MemoryScopeSession("one", user="alice", memory=core)).say(FACT)
    script = ScriptedModel()
    await served(script, MemoryScopeSession("one", user="alice", memory=core)).say(QUESTION)
    assert [(role, text) for role, text in script.shown[0][1:]] == [
        ("user", FACT), ("assistant", "Understood by model, number 1."), ("user", QUESTION),
    ]  # fmt: skip


async def test_items_by_hand(core):
    session = MemoryScopeSession("one", user="alice", memory=core)
    items = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
    await session.add_items(items)
    assert await session.get_items() == items
    assert await session.get_items(1) == items[1:]
    assert await session.pop_item() == items[1]
    assert await texts(core) == [FACT]
    await session.clear_session()
    assert (await session.pop_item(), await session.get_items(), await texts(core)) == (None, [], [])


async def test_items_with_parts_that_are_no_text_are_kept_without_them(core):
    session = MemoryScopeSession("one", user="alice", memory=core, strict=True)
    parts = [{"type": "input_text", "text": None}, "no part", {"type": "input_text", "text": FACT}]
    await session.add_items([{"role": "user", "content": parts}])
    assert await texts(core) == [FACT]


async def test_items_by_hand_of_a_history_of_the_sdk(core):
    history = SQLiteSession("one")
    session = MemoryScopeSession("one", user="alice", memory=core, history=history)
    result = {"type": "function_call_output", "call_id": "1", "output": "noon"}
    await session.add_items([{"role": "user", "content": [{"type": "input_text", "text": FACT}]}, result])
    assert await session.pop_item() == result
    assert await texts(core) == [FACT]
    await session.pop_item()
    assert await texts(core) == []
    await session.add_items([{"role": "user", "content": FACT}])
    await session.clear_session()
    assert (await history.get_items(), await texts(core)) == ([], [])
    history.close()


async def test_a_long_conversation_is_cut_and_recalled(core, served):
    session = MemoryScopeSession("one", user="alice", memory=core, history_tokens=100)
    await session.add_items([{"role": "user", "content": FACT}])
    for number in range(20):
        await session.add_items([{"role": "user", "content": f"I walked {number} miles in the rain, and back again."}])
    script = ScriptedModel()
    await served(script, session).say(QUESTION)
    assert len(script.shown[0]) < 10
    assert script.latest.count("Aurora") == 1 and "<memory" in script.shown[0][-1].text


async def test_the_model_remembers_and_searches_with_tools(core, served):
    script = calling(
        call("remember", statement="Alice's boat is called Aurora."), "Done.", call("search_memory", query="boat")
    )
    session = MemoryScopeSession("one", user="alice", memory=core)
    talk = served(script, session, tools=session.tools())
    await talk.say("Remember my boat.")
    (memory,) = await core.list(user="alice", kinds=["observation"])
    assert memory.text == "Alice's boat is called Aurora."
    await talk.say("Look it up.")
    assert memory.id in script.shown[-1][-1].text


async def test_wrong_arguments_are_told_to_the_model(core):
    (search, *_) = MemoryScopeSession("one", user="alice", memory=core).tools()
    assert "not JSON" in await search.on_invoke_tool(None, "{")
    assert "needs query" in await search.on_invoke_tool(None, json.dumps({"k": 3}))


async def test_a_handoff_has_the_same_memory(core, served):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = calling(call("transfer_to_boatswain"))
    session = MemoryScopeSession("two", user="alice", memory=core)
    talk = served(script, session)
    talk.agent.handoffs = [agent_with(talk.client, name="boatswain")]
    await talk.say(QUESTION)
    assert ["Aurora" in "".join(one.text for one in shown) for shown in script.shown] == [True, True]
    assert await texts(core, session="two") == [QUESTION, "Understood by model, number 2."]


async def test_a_filter_of_the_program_goes_first(core, served):
    async def shorten(data):
        return ModelInputData(data.model_data.input[-1:], "Be short.")

    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = ScriptedModel()
    session = MemoryScopeSession("two", user="alice", memory=core)
    talk = served(script, session)
    config = session.run_config(RunConfig(call_model_input_filter=shorten, tracing_disabled=True))
    await Runner.run(talk.agent, QUESTION, session=session, run_config=config)
    assert [shown.role for shown in script.shown[0]] == ["system", "user"]
    assert script.shown[0][0].text == "Be short." and "Aurora" in script.shown[0][1].text


async def test_without_the_filter_both_sides_are_recorded(core, served):
    session = MemoryScopeSession("one", user="alice", memory=core)
    talk = served(ScriptedModel(), session)
    await Runner.run(talk.agent, FACT, session=session, run_config=RunConfig(tracing_disabled=True))
    assert await texts(core) == [FACT, "Understood by model, number 1."]


async def test_only_what_shall_be_recorded(core, served):
    history = SQLiteSession("one")
    session = MemoryScopeSession("one", user="alice", memory=core, history=history, record="user")
    await served(ScriptedModel(), session).say(FACT)
    assert await texts(core) == [FACT] and len(await history.get_items()) == 2
    history.close()


def test_a_closed_memory_says_so(tmp_path):
    from memscope import MemoryScope

    memory = MemoryScope(tmp_path / "memory.db", settings={})
    memory.close()
    session = MemoryScopeSession("one", user="alice", memory=memory, strict=True)
    with pytest.raises(MemscopeError, match="closed"):
        asyncio.run(session.add_items([{"role": "user", "content": FACT}]))


async def test_the_sessions_own_settings_bound_what_is_read(core):
    session = MemoryScopeSession("one", user="alice", memory=core)
    await session.add_items([{"role": "user", "content": text} for text in ("one", "two", "three")])
    session.session_settings = SessionSettings(limit=2)
    assert [item["content"] for item in await session.get_items()] == ["two", "three"]
    assert len(await session.get_items(3)) == 3
    await session.close()
