"""The middleware beyond the suite and upstream's scenarios."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from agentscope.event import ConfirmResult, RequireUserConfirmEvent, UserConfirmResultEvent
from agentscope.message import AssistantMsg, TextBlock, UserMsg
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionRule
from agentscope.state import AgentState
from pydantic import BaseModel

from memscope.errors import InputError
from memscope_agentscope import MemoryScopeMiddleware
from memscope_testing.scripted import ScriptedModel

from .talking_v2 import agent_with, answers, call, texts

FACT = "My boat is called Aurora."
QUESTION = "What is my boat called?"


@pytest.fixture
def memory(core):
    return MemoryScopeMiddleware(user="alice", memory=core)


async def test_the_state_never_holds_what_is_remembered(core, memory):
    """Not even while the model thinks, when a service may save it."""
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = ScriptedModel()
    agent = agent_with(memory, script)
    states = []

    async def look():
        states.append(agent.state.model_dump_json())

    script.during = look
    await agent.reply(UserMsg("user", QUESTION))
    assert "Aurora" in script.latest
    assert "Aurora" not in states[0] + agent.state.model_dump_json()


async def test_what_was_observed_is_recorded(core, memory):
    agent = agent_with(memory, ScriptedModel())
    await agent.observe([UserMsg("user", FACT), AssistantMsg("critic", "A fine name.")])
    await memory.record(agent)
    assert [(turn.speaker, turn.text) for turn in await core.list(user="alice")] == [
        ("user", FACT), ("critic", "A fine name."),
    ]  # fmt: skip
    await agent.observe(UserMsg("user", "It is blue."))
    await agent.reply(None)
    assert (await texts(core))[:3] == [FACT, "A fine name.", "It is blue."]
    assert len(await texts(core)) == 4


async def test_what_was_observed_is_what_a_reply_without_message_is_about(core, memory):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    agent = agent_with(memory, ScriptedModel())
    await agent.observe(UserMsg("user", QUESTION))
    await agent.reply(None)
    assert "Aurora" in agent.model.script.latest


async def test_agents_that_remember_separately_keep_the_same_message_each(core):
    said = UserMsg("user", FACT)
    for name in ("tutor", "critic"):
        memory = MemoryScopeMiddleware(user="alice", agent=name, memory=core)
        await agent_with(memory, ScriptedModel()).reply(said)
    assert (await texts(core)).count(FACT) == 2
    assert (await texts(core, agent="tutor")).count(FACT) == 1


async def test_agents_that_remember_together_keep_it_once(core, memory):
    said = UserMsg("user", FACT)
    for name in ("tutor", "critic"):
        await agent_with(memory, ScriptedModel(), name=name).reply(said)
    assert (await texts(core)).count(FACT) == 1


async def test_a_turn_has_the_time_of_its_message(core, memory):
    said = UserMsg("user", FACT)
    said.created_at = "2024-05-01T10:00:00"
    await agent_with(memory, ScriptedModel()).reply(said)
    turn = (await core.list(user="alice"))[0]
    assert turn.time.replace(tzinfo=None).isoformat() == "2024-05-01T10:00:00"


async def test_a_middleware_made_for_each_turn(tmp_path):
    """The agent service's way: settings only, one memory in the process."""
    state = AgentState(session_id="s")
    made = []
    for text in (FACT, "It is blue.", "ok", "ok"):
        made.append(MemoryScopeMiddleware(user="alice", memory=tmp_path / "memory.db"))
        await agent_with(made[-1], ScriptedModel(name=text), state=state).reply(UserMsg("user", text))
        state = AgentState.model_validate_json(state.model_dump_json())
    cores = {id(await memory.memory_session().handle.shared()) for memory in made}
    kept = await made[0].memory_session().do(lambda core: core.list(user="alice"))
    for memory in made:
        await memory.close()
    assert len(cores) == 1
    assert len(kept) == 8


def test_the_form_of_the_agent_service():
    schema = MemoryScopeMiddleware.Parameters.model_json_schema()
    assert list(schema["properties"]) == ["mode", "k", "tokens", "recall", "record", "strict"]
    assert all(field["title"] and field["description"] for field in schema["properties"].values())
    filled = MemoryScopeMiddleware.Parameters(mode="agent_control", k=3)
    memory = MemoryScopeMiddleware(user="alice", parameters=filled)
    assert (memory.mode, memory.memory_session().k) == ("agent_control", 3)
    stored = MemoryScopeMiddleware(user="alice", parameters=filled.model_dump())
    assert (stored.mode, stored.memory_session().k) == ("agent_control", 3)
    with pytest.raises(ValueError, match="mode"):
        MemoryScopeMiddleware(user="alice", parameters={"mode": "static"})


@pytest.mark.parametrize("wrong", [{"k": 0}, {"tokens": "many"}, {"recall": "all"}, {"record": "me"}])
def test_a_wrong_setting_is_told_at_once(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MemoryScopeMiddleware(user="alice", **wrong)


async def test_nothing_is_opened_when_it_is_made(tmp_path):
    MemoryScopeMiddleware(user="alice", memory=tmp_path / "memory.db")
    assert list(tmp_path.iterdir()) == []


async def test_a_structured_answer_is_recorded(core, memory):
    if not hasattr(AgentState(), "reply_context"):
        pytest.skip("this version has no structured answers")

    class Boat(BaseModel):
        name: str

    agent = agent_with(memory, ScriptedModel())
    offered = []

    async def answer(messages):
        offered.extend(tool.name for group in agent.toolkit.tool_groups for tool in group.tools)
        return call(offered[0], name="Aurora")

    agent.model.script.answer = answer
    reply = await agent.reply(UserMsg("user", QUESTION), structured_schema=Boat)
    assert reply.structured_output == {"name": "Aurora"}
    assert await texts(core) == [QUESTION, '{"name": "Aurora"}']


async def test_a_reply_that_waits_for_the_user_is_recorded_when_it_is_whole(core, memory):
    """Words before and after a confirmation are one message, under one id."""
    replies = [[TextBlock(text="Let me see."), *call("forget", ids=["x"])], "There was nothing."]
    agent = agent_with(memory, answers(*replies), tools=await memory.list_tools())
    events = [event async for event in agent.reply_stream(UserMsg("user", "Forget x."))]
    assert await texts(core) == ["Forget x."]
    (asked,) = [event for event in events if isinstance(event, RequireUserConfirmEvent)]
    denied = [ConfirmResult(confirmed=False, tool_call=tool_call) for tool_call in asked.tool_calls]
    await agent.reply(UserConfirmResultEvent(reply_id=agent.state.reply_id, confirm_results=denied))
    assert await texts(core) == ["Forget x.", "Let me see.\nThere was nothing."]


async def test_remember_asks_unless_a_rule_allows_it(core, memory):
    tools = await memory.list_tools()
    script = answers(call("remember", statement=FACT))
    agent = agent_with(memory, script, tools=tools)
    await agent.reply(UserMsg("user", "Remember that."))
    assert len(script.shown) == 1
    rule = PermissionRule(
        tool_name="remember", rule_content=None, behavior=PermissionBehavior.ALLOW, source="userSettings"
    )
    allowed = AgentState(session_id="two", permission_context=PermissionContext(allow_rules={"remember": [rule]}))
    script = answers(call("remember", statement=FACT), "Done.")
    await agent_with(memory, script, tools=tools, state=allowed).reply(UserMsg("user", "Remember that."))
    assert "Remembered" in script.latest
    assert FACT in await texts(core, session="two", kinds=["turn"])


async def test_a_model_that_leaves_an_argument_out_is_told(memory):
    for tool in await memory.list_tools():
        chunk = await tool(unknown="x")
        assert chunk.content[0].text == f"Error: {tool.name} needs {tool.input_schema['required'][0]}"


async def test_the_search_tool_leaves_out_what_the_model_sees(core, memory):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = answers(call("search_memory", query=QUESTION), "Aurora.")
    await agent_with(memory, script, tools=await memory.list_tools()).reply(UserMsg("user", QUESTION))
    (found,) = [shown.text for shown in script.shown[-1] if shown.role == "tool"]
    assert FACT in found
    assert QUESTION not in found


async def test_forget_forgets(core, memory):
    tools = {tool.name: tool for tool in await memory.list_tools()}
    (key,) = (await core.add_turns([{"role": "user", "content": FACT}], user="alice")).keys
    foreign = (await core.add_turns([{"role": "user", "content": FACT}], user="bob")).keys
    told = (await tools["forget"](ids=[key, *foreign])).content[0].text
    assert told.startswith("Forgotten: 1 turns, 0 memories. Nothing has the id")
    assert await texts(core) == []
    assert len(await core.list(user="bob")) == 1


async def test_recall_of_this_session_only(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice", session="before")
    memory = MemoryScopeMiddleware(user="alice", memory=core, recall="session")
    agent = agent_with(memory, ScriptedModel())
    await agent.reply(UserMsg("user", QUESTION))
    assert "Aurora" not in agent.model.script.latest
    with pytest.raises(InputError, match="needs a session"):
        memory.memory_session()


@pytest.mark.parametrize(
    ("record", "kept"), [("user", [FACT]), ("none", []), ("assistant", ["Understood by model, number 1."])]
)
async def test_whose_side_is_recorded(core, record, kept):
    memory = MemoryScopeMiddleware(user="alice", memory=core, record=record)
    await agent_with(memory, ScriptedModel()).reply(UserMsg("user", FACT))
    assert await texts(core) == kept


async def test_a_cancelled_reply_keeps_the_users_turn(core, memory):
    script = ScriptedModel()
    begun = asyncio.Event()

    async def forever():
        begun.set()
        await asyncio.Event().wait()

    script.during = forever
    agent = agent_with(memory, script)
    replying = asyncio.create_task(agent.reply(UserMsg("user", FACT)))
    await begun.wait()
    replying.cancel()
    await asyncio.gather(replying, return_exceptions=True)
    assert await texts(core) == [FACT]


async def test_a_search_can_be_narrowed_to_kinds(core, memory):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    search = next(tool for tool in await memory.list_tools() if tool.name == "search_memory")
    for kind, found in (("turn", True), ("insight", False)):
        answer = await search(query=QUESTION, kinds=[kind], _agent_state=AgentState(session_id="one"))
        assert ("Aurora" in answer.content[0].text) == found


@pytest.mark.parametrize(("zone", "hours"), [(None, 8), ("Asia/Tokyo", 9)])
async def test_the_zone_is_the_agents_own_unless_one_is_given(core, zone, hours):
    agent = agent_with(MemoryScopeMiddleware(user="alice", memory=core, zone=zone), ScriptedModel())
    if not hasattr(agent, "injection_config"):
        pytest.skip("this version has no zone of its own")
    agent.injection_config = type(agent.injection_config)(timezone="Asia/Shanghai")
    await agent.reply(UserMsg("user", FACT))
    assert {turn.time.utcoffset() for turn in await core.list(user="alice")} == {timedelta(hours=hours)}
