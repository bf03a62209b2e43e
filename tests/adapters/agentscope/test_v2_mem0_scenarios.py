"""AgentScope's tests of its own mem0 middleware (tests/mem0_middleware_test.py), asked of ours.

Each test names the upstream test it stands for; docs/maintaining/agentscope-tests.md lists them all, with those that
cannot apply.
"""

from __future__ import annotations

import logging

import pytest
from agentscope.event import ExternalExecutionResultEvent, UserConfirmResultEvent
from agentscope.message import HintBlock, ToolResultState, UserMsg
from agentscope.permission import PermissionBehavior
from agentscope.tool import ToolChunk

from memscope import AsyncMemoryScope, MemoryScope
from memscope.adapters.session import NOTHING_FOUND
from memscope_agentscope import MemoryScopeMiddleware
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking_v2 import agent_with, answers, texts

FACT = "I love coffee."
QUESTION = "Remind me: coffee or tea?"


async def told(core, *facts, **scope):
    await core.add_turns([{"role": "user", "content": fact} for fact in facts or [FACT]], user="alice", **scope)


async def replied(core, inputs, *, mode="static_control", **more):
    """An agent that has replied to ``inputs``."""
    script = answers("hi alice")
    agent = agent_with(MemoryScopeMiddleware(user="alice", memory=core, mode=mode, **more), script)
    await agent.reply(inputs)
    return agent


def notes(messages):
    return [message for message in messages if message.name == "memory"]


# ---- what is looked up


@pytest.mark.parametrize("inputs", [None, []])
async def test_none_and_empty(core, inputs):
    """test_none_and_empty"""
    await told(core)
    agent = await replied(core, inputs)
    assert notes(agent.model.last) == []
    assert await texts(core) == [FACT, "hi alice"]


async def test_single_user_msg(core):
    """test_single_user_msg"""
    await told(core)
    agent = await replied(core, UserMsg("user", QUESTION))
    assert FACT in agent.model.script.latest


async def test_list_of_user_msgs_joined(core):
    """test_list_of_user_msgs_joined"""
    await told(core, FACT, "My boat is called Aurora.")
    agent = await replied(core, [UserMsg("user", QUESTION), UserMsg("user", "And what is my boat called?")])
    assert FACT in agent.model.script.latest
    assert "Aurora" in agent.model.script.latest


@pytest.mark.parametrize(
    "event",
    [
        UserConfirmResultEvent(reply_id="reply", confirm_results=[]),
        ExternalExecutionResultEvent(reply_id="reply", execution_results=[]),
    ],
)
async def test_resumption_events(core, event):
    """test_resumption_events_return_none: an event is no message; nothing is kept of it"""
    agent = agent_with(MemoryScopeMiddleware(user="alice", memory=core), ScriptedModel())
    with pytest.raises(Exception):  # noqa: B017  # nothing waits for it, and each version says so in its own way
        await agent.reply(event)
    assert await texts(core) == []


# ---- the constructor


@pytest.mark.parametrize("user", [None, "", " "])
def test_missing_user_raises(user):
    """test_missing_user_id_raises"""
    with pytest.raises(ValueError, match="user"):
        MemoryScopeMiddleware(user=user)


def test_unknown_mode_raises():
    """test_unknown_mode_raises"""
    with pytest.raises(ValueError, match=r"static_control.*'garbage'"):
        MemoryScopeMiddleware(user="alice", mode="garbage")


async def test_a_sync_memory_is_taken(tmp_path):
    """test_sync_client_rejected: ours is taken, and blocks no event loop"""
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        agent = agent_with(MemoryScopeMiddleware(user="alice", memory=memory), ScriptedModel())
        await agent.reply(UserMsg("user", FACT))
        assert (await MemoryScopeMiddleware(user="alice", memory=memory).memory_session().search("coffee")).hits


# ---- static_control


async def test_retrieve_inject_write(core):
    """test_retrieve_inject_write; the note is in the request and not in the state"""
    await told(core)
    memory = MemoryScopeMiddleware(user="alice", memory=core, mode="static_control")
    agent = agent_with(memory, answers("hi alice"))
    reply = await agent.reply(UserMsg("user", QUESTION))
    assert reply.get_text_content() == "hi alice"
    assert await texts(core) == [FACT, QUESTION, "hi alice"]
    assert agent.model.last[0].get_text_content() == "You are helpful."
    (note,) = notes(agent.model.last)
    (hint,) = note.get_content_blocks("hint")
    assert note.role == "assistant"
    assert isinstance(hint, HintBlock)
    assert FACT in hint.hint
    assert notes(agent.state.context) == []
    assert await memory.list_tools() == []


async def test_memory_message_lands_after_user_message(core):
    """test_memory_message_lands_after_user_message"""
    await told(core)
    agent = await replied(core, UserMsg("user", QUESTION))
    assert [message.name for message in agent.model.last[:3]] == ["system", "user", "memory"]
    assert [shown.role for shown in agent.model.script.shown[-1][:3]] == ["system", "user", "user"]


async def test_no_memories_no_injection(core):
    """test_no_memories_no_injection"""
    agent = await replied(core, UserMsg("user", "hi"))
    assert [message.name for message in agent.model.last[:2]] == ["system", "user"]
    assert notes(agent.model.last) == []


async def test_search_failure_does_not_break_reply(caplog):
    """test_search_failure_does_not_break_reply"""
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        agent = agent_with(MemoryScopeMiddleware(user="alice", memory=core), answers("still works", "again"))
        store.broken = True
        with caplog.at_level(logging.WARNING, "memscope"):
            assert (await agent.reply(UserMsg("user", "ping"))).get_text_content() == "still works"
        assert len(caplog.records) == 1
        store.broken = False
        await agent.reply(UserMsg("user", "pong"))
        assert await texts(core) == ["ping", "still works", "pong", "again"]


@pytest.mark.parametrize(("agent", "found"), [(None, True), ("other", False)])
async def test_scope_search_by_agent(core, agent, found):
    """test_scope_search_by_agent_false_drops_agent_id: without ``agent`` all of the user's agents are asked"""
    await told(core, agent="tutor")
    made = await replied(core, UserMsg("user", QUESTION), agent=agent)
    assert (FACT in made.model.script.latest) is found


# ---- agent_control


async def with_tools(core, **more):
    memory = MemoryScopeMiddleware(user="alice", memory=core, mode="agent_control", **more)
    tools = {tool.name: tool for tool in await memory.list_tools()}
    return agent_with(memory, ScriptedModel(), tools=tools.values()), tools


def text(chunk):
    return chunk.content[0].text


async def test_tools_listed_and_hint_in_prompt(core):
    """test_tools_listed_and_hint_in_prompt; here what is said is recorded in this mode, too"""
    await told(core)
    agent, tools = await with_tools(core)
    await agent.reply(UserMsg("user", QUESTION))
    assert list(tools) == ["search_memory", "remember", "forget"]
    prompt = agent.model.last[0].get_text_content()
    assert prompt.startswith("You are helpful.")
    assert all(word in prompt for word in ("Long-term memory", *tools))
    assert notes(agent.model.last) == []
    assert len(await texts(core)) == 3


async def test_middleware_does_not_mutate_toolkit(core):
    """test_middleware_does_not_mutate_toolkit; and a model without the tools is not told of them"""
    agent = await replied(core, UserMsg("user", "hello"), mode="agent_control")
    assert await agent.toolkit.get_tool("search_memory") is None
    assert agent.model.last[0].get_text_content() == "You are helpful."


async def test_search_memory_tool(core):
    """test_search_memory_tool_invokes_mem0"""
    await told(core, FACT, "I take my coffee black.", agent="a")
    await told(core, "Coffee is bad for you.", agent="b")
    _, tools = await with_tools(core, agent="a")
    found = text(await tools["search_memory"](query="How do I take my coffee?"))
    assert FACT in found
    assert "black" in found
    assert "Coffee is bad" not in found


async def test_k_of_one_call_changes_nothing(core):
    """test_async_search_accepts_per_call_top_k"""
    await told(core, *(f"Coffee number {number}." for number in range(5)))
    memory = MemoryScopeMiddleware(user="alice", memory=core, k=4)
    assert len((await memory.memory_session().search("coffee", k=2)).hits) == 2
    assert len((await memory.memory_session().search("coffee")).hits) == 4


async def test_tool_permissions(core):
    """test_tools_auto_allow_permission: what only reads; what writes is left to the rules, and ``forget`` asks"""
    _, tools = await with_tools(core)
    decided = [(await tool.check_permissions({}, None)).behavior for tool in tools.values()]
    assert decided == [PermissionBehavior.ALLOW, PermissionBehavior.PASSTHROUGH, PermissionBehavior.ASK]
    assert [tool.is_read_only for tool in tools.values()] == [True, False, False]


async def test_search_memory_shows_a_memory_once(core):
    """test_search_memory_dedupes_across_keywords: one question with both words"""
    await told(core, "My shared and unique desk.")
    _, tools = await with_tools(core)
    found = text(await tools["search_memory"](query="shared unique desk"))
    assert found.count("My shared and unique desk.") == 1


async def test_search_memory_failure_returns_error_chunk():
    """test_search_memory_failure_returns_error_chunk"""
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        _, tools = await with_tools(core)
        store.broken = True
        chunk = await tools["search_memory"](query="q")
    assert isinstance(chunk, ToolChunk)
    assert chunk.state == ToolResultState.ERROR
    assert "out of order" in text(chunk)


async def test_remember_always_keeps(core):
    """test_add_memory_two_tier_fallback: no model decides whether a statement is worth keeping"""
    _, tools = await with_tools(core)
    assert "Remembered" in text(await tools["remember"](statement="ok"))
    assert await texts(core, kinds=["turn"]) == ["ok"]


async def test_remember_keeps_the_statement_only(core):
    """test_add_memory_does_not_persist_thinking: there is no such parameter, and what a model adds is not kept"""
    _, tools = await with_tools(core)
    await tools["remember"](statement="Alice loves coffee.", thinking="I should write that down.")
    assert list(tools["remember"].input_schema["properties"]) == ["statement"]
    assert set(await texts(core)) == {"Alice loves coffee."}
    assert text(await tools["search_memory"](query="zebra")) == NOTHING_FOUND


# ---- both


async def test_memory_msg_and_tool_hint_both_present(core):
    """test_memory_msg_and_tool_hint_both_present"""
    await told(core)
    memory = MemoryScopeMiddleware(user="alice", memory=core)
    agent = agent_with(memory, ScriptedModel(), tools=await memory.list_tools())
    await agent.reply(UserMsg("user", QUESTION))
    assert len(notes(agent.model.last)) == 1
    assert "search_memory" in agent.model.last[0].get_text_content()
    assert await agent.toolkit.get_tool("search_memory") is not None
    assert len(await texts(core)) == 3
