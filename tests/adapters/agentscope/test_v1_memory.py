"""The long-term memory for 1.x beyond the suite: tools, modes, state, what is none of it."""

from __future__ import annotations

import pytest
from agentscope.message import Msg
from agentscope.tool import Toolkit

from memscope import AsyncMemoryScope
from memscope.adapters.session import NOTHING_FOUND
from memscope_agentscope import MemoryScopeLongTermMemory, MemoryScopeMemory
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking_v1 import Talk, agent_with, answers, call, texts

FACT = "My boat is called Aurora."
QUESTION = "What is my boat called?"


@pytest.fixture
def memory(core):
    return MemoryScopeLongTermMemory(user="alice", memory=core)


def text(response):
    return response.content[0]["text"]


def user(words):
    return Msg("user", words, "user")


def test_the_right_class_for_what_is_installed():
    assert MemoryScopeMemory is MemoryScopeLongTermMemory


# ---- the four methods


async def test_record_keeps_what_is_new_of_the_whole_history(core, memory):
    history = [user(FACT), Msg("helper", "Noted.", "assistant")]
    await memory.record(history)
    await memory.record([*history, user("ok"), None])
    assert await texts(core) == [FACT, "Noted.", "ok"]


async def test_retrieve_gives_what_is_remembered_and_records_the_question(core, memory):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    assert "Aurora" in await memory.retrieve(user(QUESTION))
    assert await texts(core) == [FACT, QUESTION]
    assert await memory.retrieve(user("What was the boat called, again?")) == ""  # it stands there already


@pytest.mark.parametrize("nothing", [None, [], [None], Msg("user", [], "user")])
async def test_retrieve_for_nothing(core, memory, nothing):
    assert await memory.retrieve(nothing) == ""
    assert await texts(core) == []


async def test_retrieve_takes_a_limit(core, memory):
    await core.add_turns([{"role": "user", "content": f"Boat number {n}."} for n in range(5)], user="alice")
    assert (await memory.retrieve(user("Which boat?"), limit=2)).count("Boat number") == 2


async def test_record_to_memory_and_retrieve_from_memory(core, memory):
    told = await memory.record_to_memory(thinking="Lasting.", content=["Alice sails.", "Alice is a vegetarian."])
    assert text(told).count("Remembered") == 2
    found = text(await memory.retrieve_from_memory(["Does Alice sail?", "What does Alice not eat?", "sail"]))
    assert found.count("Alice sails.") == 1
    assert "vegetarian" in found
    assert "Lasting" not in "".join(await texts(core))
    id = found.partition("[id ")[2].partition("]")[0]
    assert text(await memory.forget_from_memory([id])) == "Forgotten: 1 turns, 1 memories."
    assert text(await memory.retrieve_from_memory(["nothing of the kind"])) == NOTHING_FOUND
    assert text(await memory.record_to_memory("", [])) == "Nothing was given to remember."


async def test_a_model_that_gives_one_text_for_a_list_is_understood(core, memory):
    await memory.record_to_memory("", "Alice sails.")
    await memory.record_to_memory("", '["Alice has a dog.", "Alice has a cat."]')
    kept = await core.list(user="alice", kinds=["observation"])
    assert [one.text for one in kept] == ["Alice sails.", "Alice has a dog.", "Alice has a cat."]
    assert kept[0].id in text(await memory.retrieve_from_memory("sails", limit="3", kinds="observation"))
    assert "1 turns" in text(await memory.forget_from_memory(kept[0].id))


@pytest.mark.parametrize("wrong", [None, 5, {"a": "b"}, ["Alice sails.", None], [5]])
async def test_a_model_that_gives_something_else_is_told_and_nothing_is_kept(core, memory, wrong):
    for tool, more in ((memory.record_to_memory, [""]), (memory.retrieve_from_memory, []),
                       (memory.forget_from_memory, [])):  # fmt: skip
        assert text(await tool(*more, wrong)).startswith("Error: ")
    assert text(await memory.retrieve_from_memory(["boat"], limit="many")).startswith("Error: limit")
    assert not await core.list(user="alice")


async def test_tools_tell_the_model_what_went_wrong():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        memory = MemoryScopeLongTermMemory(user="alice", memory=core)
        store.broken = True
        assert "out of order" in text(await memory.record_to_memory("", [FACT]))
        assert "out of order" in text(await memory.retrieve_from_memory(["boat"]))


# ---- the three modes


async def test_static_control(core, memory):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    agent = agent_with(memory, ScriptedModel(), "static_control")
    await agent(user(QUESTION))
    assert "Aurora" in agent.model.script.latest
    assert len(await texts(core)) == 3
    assert agent.model.tools == []


async def test_agent_control(core, memory):
    """The agent records and retrieves nothing by itself."""
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = answers(call("retrieve_from_memory", keywords=[QUESTION]), "Aurora.")
    agent = agent_with(memory, script, "agent_control")
    await agent(user(QUESTION))
    assert "Aurora" not in "".join(shown.text for shown in script.shown[0])
    assert "Aurora" in script.latest
    assert await texts(core) == [FACT]


async def test_both(core, memory):
    """A tool does not repeat the note; its answer is not recorded."""
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = answers(call("retrieve_from_memory", keywords=[QUESTION]), "Aurora.")
    agent = agent_with(memory, script, "both")
    await agent(user(QUESTION))
    assert script.latest.count(FACT) == 1
    assert await texts(core) == [FACT, QUESTION, "Aurora."]


def test_the_schemas_of_the_tools(memory):
    toolkit = Toolkit()
    for tool in (memory.record_to_memory, memory.retrieve_from_memory, memory.forget_from_memory):
        toolkit.register_tool_function(tool)
    functions = [schema["function"] for schema in toolkit.get_json_schemas()]
    assert [function["parameters"]["required"] for function in functions] == [
        ["thinking", "content"], ["keywords"], ["ids"],
    ]  # fmt: skip
    assert all(len(function["description"]) > 50 for function in functions)


# ---- state


async def test_the_state_says_what_the_agent_has_before_its_eyes(core, memory):
    talk = Talk(agent_with(memory, ScriptedModel()), memory)
    await talk.say(FACT)
    again = MemoryScopeLongTermMemory(user="alice", memory=core)
    again.load_state_dict(memory.state_dict())
    assert len(again.seen) == 2
    assert "Aurora" not in await again.retrieve(user(QUESTION))
    assert "Aurora" in await MemoryScopeLongTermMemory(user="alice", memory=core).retrieve(user(QUESTION))


async def test_a_state_from_before_there_was_this_memory(core, memory):
    """The state of an agent with another long-term memory, whose state is empty."""
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    assert "Aurora" in await memory.retrieve(user(QUESTION))
    agent = agent_with(memory, ScriptedModel())
    agent.load_state_dict({**agent.state_dict(), "long_term_memory": {}})
    assert (memory.seen, memory.shown) == ([], [])
    assert "Aurora" in await memory.retrieve(user(QUESTION))


async def test_what_left_the_short_term_memory_is_shown_again(core, memory):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    assert "Aurora" in await memory.retrieve(user(QUESTION))
    await memory.record([user("Only this is left.")])
    assert "Aurora" in await memory.retrieve(user(QUESTION + " Tell me."))


# ---- what nobody said


@pytest.mark.parametrize(
    "message",
    [
        Msg("system", "You are helpful.", "system"),
        Msg("user", "<system-hint>Now generate a text response.</system-hint>", "user"),
        Msg("user", "<system-info>Here is a summary of your previous work</system-info>", "user"),
        Msg("long_term_memory", "<long_term_memory>useful:\nMy boat is red.</long_term_memory>", "user"),
        Msg("helper", "I noticed that you have interrupted me.", "assistant", metadata={"_is_interrupted": True}),
        Msg("helper", call("search", query="boat"), "assistant"),
    ],
)
async def test_words_of_the_framework_are_not_recorded(core, memory, message):
    await memory.record([message])
    assert await texts(core) == []


async def test_agents_that_remember_separately_keep_the_same_message_each(core):
    said = user(FACT)
    for name in ("tutor", "critic"):
        await MemoryScopeLongTermMemory(user="alice", agent=name, memory=core).record([said])
    assert (await texts(core)).count(FACT) == 2
    assert (await texts(core, agent="tutor")).count(FACT) == 1


async def test_a_search_can_be_narrowed_to_kinds(core, memory):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    for kind, found in (("turn", True), ("insight", False)):
        answer = await memory.retrieve_from_memory([QUESTION], kinds=[kind])
        assert ("Aurora" in answer.content[0]["text"]) == found
