"""AgentScope's tests of its own ReMe middleware (tests/reme_middleware_test.py), asked of ours.

Each test names the upstream test it stands for; docs/maintaining/agentscope-tests.md lists them all, with those that
cannot apply.
"""

from __future__ import annotations

import asyncio

import pytest
from agentscope.event import ConfirmResult, RequireUserConfirmEvent, UserConfirmResultEvent
from agentscope.message import ToolResultState, UserMsg
from agentscope.permission import PermissionBehavior
from pydantic import ValidationError

from memscope import AsyncMemoryScope
from memscope.adapters.session import NOTHING_FOUND
from memscope_agentscope import MemoryScopeMiddleware
from memscope_testing.scripted import FickleStore, ScriptedModel, unclosed

from .talking_v2 import agent_with, answers, call, texts

FACT = "My boat is called Aurora."
QUESTION = "What is my boat called?"


@pytest.fixture
async def told(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    return core


def middleware(core, mode="static_control", **more):
    return MemoryScopeMiddleware(user="alice", memory=core, mode=mode, **more)


async def talk(memory, *inputs, replies=(), **more):
    """An agent that has replied to each of ``inputs``."""
    agent = agent_with(memory, answers(*replies), **more)
    for said in inputs:
        await agent.reply(UserMsg("user", said))
    return agent


def notes(messages):
    return [message for message in messages if message.name == "memory"]


# ---- what is looked up


async def test_none_and_empty(told):
    """test_none_and_empty"""
    agent = agent_with(middleware(told), ScriptedModel())
    await agent.reply(None)
    assert notes(agent.model.last) == []


async def test_single_user_msg(told):
    """test_single_user_msg"""
    agent = await talk(middleware(told), QUESTION)
    assert FACT in agent.model.script.latest


async def test_list_of_user_msgs_joined(told):
    """test_list_of_user_msgs_joined"""
    agent = agent_with(middleware(told), ScriptedModel())
    await agent.reply([UserMsg("user", QUESTION), UserMsg("user", "Thanks in advance.")])
    assert FACT in agent.model.script.latest


async def test_resumption_events(told):
    """test_resumption_events_return_none: what was asked before is shown again, and nothing is kept of the event"""
    memory = middleware(told, mode="both")
    replies = [call("forget", ids=["unknown"]), "Nothing to forget."]
    agent = agent_with(memory, answers(*replies), tools=await memory.list_tools())
    events = [event async for event in agent.reply_stream(UserMsg("user", f"{QUESTION} Forget it."))]
    (asked,) = [event for event in events if isinstance(event, RequireUserConfirmEvent)]
    assert await texts(told) == [FACT, f"{QUESTION} Forget it."]
    confirmed = [ConfirmResult(confirmed=True, tool_call=tool_call) for tool_call in asked.tool_calls]
    await agent.reply(UserConfirmResultEvent(reply_id=agent.state.reply_id, confirm_results=confirmed))
    assert FACT in agent.model.script.latest
    assert "Nothing has the id 'unknown'." in agent.model.script.latest
    assert await texts(told) == [FACT, f"{QUESTION} Forget it.", "Nothing to forget."]


# ---- the constructor


def test_unknown_mode_raises():
    """test_unknown_mode_raises"""
    with pytest.raises(ValidationError):
        MemoryScopeMiddleware.Parameters(mode="garbage")


async def test_session_id_not_stored_on_middleware(core):
    """test_session_id_not_stored_on_middleware"""
    memory = middleware(core)
    for session in ("one", "two"):
        await talk(memory, f"This is {session}.", session=session)
    assert not {"one", "two"}.intersection(value for value in vars(memory).values() if isinstance(value, str))
    assert (await texts(core, session="two"))[0] == "This is two."


# ---- static_control


async def test_retrieve_inject_write(told):
    """test_retrieve_inject_write: in the first request already, not only after a tool call"""
    agent = await talk(middleware(told), QUESTION, replies=["Aurora, alice"], session="alice-001")
    assert await texts(told, session="alice-001") == [QUESTION, "Aurora, alice"]
    assert agent.model.last[0].get_text_content() == "You are helpful."
    (note,) = notes(agent.model.last)
    assert FACT in note.get_content_blocks("hint")[0].hint
    assert notes(agent.state.context) == []


async def test_write_back_keeps_the_whole_reply(told):
    """test_write_back_includes_full_turn_increment: all that was said; what tools were asked and gave is not"""
    memory = middleware(told, mode="both")
    await talk(
        memory, QUESTION, replies=[call("search_memory", query="boat"), "final answer"], tools=await memory.list_tools()
    )
    assert await texts(told) == [FACT, QUESTION, "final answer"]


async def test_write_back_is_per_turn_increment(core):
    """test_write_back_is_per_turn_increment"""
    reports = []
    add = core.add_turns

    async def counted(turns, **more):
        reports.append([turn["content"] for turn in turns])
        return await add(turns, **more)

    core.add_turns = counted
    await talk(middleware(core), "first question", "second question", replies=["first answer", "second answer"])
    assert reports == [["first question"], ["first answer"], ["second question"], ["second answer"]]


async def test_memory_message_lands_after_user_message(told):
    """test_memory_message_lands_after_user_message, also after a tool was called"""
    memory = middleware(told, mode="both")
    replies = [call("search_memory", query="boat"), "answer"]
    agent = await talk(memory, QUESTION, replies=replies, tools=await memory.list_tools())
    assert len(agent.model.requests) == 2
    for request in agent.model.requests:
        assert [message.name for message in request[:3]] == ["system", "user", "memory"]
        assert len(notes(request)) == 1


async def test_no_memories_no_injection(core):
    """test_no_memories_no_injection"""
    agent = await talk(middleware(core), "hi")
    assert notes([*agent.model.last, *agent.state.context]) == []


async def test_search_failure_does_not_break_reply():
    """test_search_failure_does_not_break_reply: a search that fails stops no write"""

    class Blind(FickleStore):
        async def append(self, user, inserts, change_set=None):
            self.broken = False
            try:
                return await super().append(user, inserts, change_set)
            finally:
                self.broken = True

    async with AsyncMemoryScope(Blind(), settings={}) as core:
        agent = await talk(middleware(core), "ping", replies=["still works"])
        assert agent.state.context[-1].get_text_content() == "still works"
        assert await texts(core) == ["ping", "still works"]


async def test_shared_middleware_isolates_sessions(core):
    """test_shared_middleware_isolates_sessions"""
    memory = middleware(core)
    await talk(memory, "hi from a", replies=["r1"], session="sess-a")
    await talk(memory, "hi from b", replies=["r2"], session="sess-b")
    assert await texts(core, session="sess-a") == ["hi from a", "r1"]
    assert await texts(core, session="sess-b") == ["hi from b", "r2"]


async def test_concurrent_sessions_isolate_recall(told):
    """test_concurrent_sessions_isolate_retrieval_tasks"""
    memory = middleware(told)
    before = asyncio.all_tasks()
    agents = await asyncio.gather(
        talk(memory, f"a asks: {QUESTION}", session="sess-a"), talk(memory, "Nothing of the kind!", session="sess-b")
    )
    assert [len(notes(agent.model.last)) for agent in agents] == [1, 0]
    for _ in range(10):  # AgentScope 2.0.1 leaves its generators to the event loop
        await asyncio.sleep(0)
    assert unclosed(before) == []


# ---- agent_control


async def with_tools(core, **more):
    memory = middleware(core, mode="agent_control", **more)
    tools = {tool.name: tool for tool in await memory.list_tools()}
    return memory, tools


async def test_tools_listed_and_hint_in_prompt(told):
    """test_tools_listed_and_hint_in_prompt"""
    memory, tools = await with_tools(told)
    agent = await talk(memory, QUESTION, tools=tools.values())
    assert "search_memory" in agent.model.last[0].get_text_content()
    assert notes(agent.model.last) == []
    assert len(await texts(told)) == 3


async def test_middleware_does_not_mutate_toolkit(core):
    """test_middleware_does_not_mutate_toolkit"""
    agent = await talk(middleware(core, mode="agent_control"), "hello")
    assert [tool.name for group in agent.toolkit.tool_groups for tool in group.tools] == []


async def test_search_memory_tool(told):
    """test_memory_search_tool_invokes_reme"""
    await told.add_turns([{"role": "user", "content": "My boat is red."}], user="alice")
    _, tools = await with_tools(told)
    found = (await tools["search_memory"](query="What about my boat?")).content[0].text
    assert FACT in found
    assert "My boat is red." in found


async def test_search_memory_gives_k(core):
    """test_memory_search_default_limit_is_top_k"""
    await core.add_turns([{"role": "user", "content": f"Boat number {n}."} for n in range(9)], user="alice")
    _, tools = await with_tools(core, k=7)
    assert (await tools["search_memory"](query="boat")).content[0].text.count("[id ") == 7


async def test_search_memory_no_results(core):
    """test_memory_search_no_results"""
    _, tools = await with_tools(core)
    assert (await tools["search_memory"](query="anything")).content[0].text == NOTHING_FOUND


async def test_search_memory_failure_returns_error_chunk():
    """test_memory_search_failure_returns_error_chunk"""
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        _, tools = await with_tools(core)
        store.broken = True
        chunk = await tools["search_memory"](query="q")
    assert (chunk.state, "out of order" in chunk.content[0].text) == (ToolResultState.ERROR, True)


async def test_search_auto_allow_permission(core):
    """test_tools_auto_allow_permission"""
    _, tools = await with_tools(core)
    assert (await tools["search_memory"].check_permissions({}, None)).behavior == PermissionBehavior.ALLOW


async def test_the_tools_there_are(core):
    """test_no_add_memory_tool_exposed: ours may keep and forget, too"""
    _, tools = await with_tools(core)
    assert list(tools) == ["search_memory", "remember", "forget"]


async def test_agent_control_writes_back_automatically(core):
    """test_agent_control_writes_back_automatically"""
    memory, tools = await with_tools(core)
    await talk(memory, "remember I like tea", replies=["sure thing"], tools=tools.values(), session="alice-001")
    assert await texts(core, session="alice-001") == ["remember I like tea", "sure thing"]


# ---- both


async def test_memory_msg_and_tool_hint_both_present(told):
    """test_memory_msg_and_tool_hint_both_present"""
    memory = middleware(told, mode="both")
    agent = await talk(memory, QUESTION, tools=await memory.list_tools())
    assert "search_memory" in agent.model.last[0].get_text_content()
    assert len(notes(agent.model.last)) == 1
