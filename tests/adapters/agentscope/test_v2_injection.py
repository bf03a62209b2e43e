"""The place of memory in the requests of an agent, the same in all calls of a reply."""

from __future__ import annotations

from agentscope.agent import Agent
from agentscope.event import ConfirmResult, RequireUserConfirmEvent, UserConfirmResultEvent
from agentscope.message import AssistantMsg, Base64Source, DataBlock, TextBlock, UserMsg
from agentscope.middleware import MiddlewareBase

from memscope.prompts.memory_block import OPEN_MARK
from memscope_agentscope import MemoryScopeMiddleware
from memscope_testing.scripted import ScriptedModel

from .talking_v2 import Model, agent_with, answers, call, texts

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


async def knows(core, **more):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    return MemoryScopeMiddleware(user="alice", memory=core, **more)


def places(request):
    """Return the places of memory in a request before the formatter."""
    return [place for place, message in enumerate(request) if OPEN_MARK in str(message)]


async def test_memory_stands_behind_what_has_just_arrived(core):
    """Not behind an older message of the user: what stands between would be sent again each time."""
    agent = agent_with(await knows(core), ScriptedModel())
    await agent.observe([UserMsg("user", "Talk about my boat."), AssistantMsg("critic", QUESTION)])
    await agent.reply(None)
    assert [message.name for message in agent.model.last][:4] == ["system", "user", "critic", "memory"]


async def test_memory_stays_where_it_is_when_nobody_said_anything(core):
    await core.blocks("alice").append("human", "Alice sails.")
    memory = MemoryScopeMiddleware(user="alice", memory=core)
    script = answers(call("search_memory", query="boat"), call("search_memory", query="ship"))
    agent = agent_with(memory, script, tools=await memory.list_tools())
    await agent.reply(None)
    assert [places(request) for request in agent.model.requests] == [[1]] * 3


async def test_a_reply_that_goes_on_shows_the_same_memory(core):
    memory = await knows(core, mode="both")
    script = answers(call("forget", ids=["x"]), "Nothing.")
    agent = agent_with(memory, script, tools=await memory.list_tools())
    events = [event async for event in agent.reply_stream(UserMsg("user", QUESTION))]
    (asked,) = [event for event in events if isinstance(event, RequireUserConfirmEvent)]
    await core.add_turns([{"role": "user", "content": "My boat is called Borealis now."}], user="alice")
    denied = [ConfirmResult(confirmed=False, tool_call=tool_call) for tool_call in asked.tool_calls]
    await agent.reply(UserConfirmResultEvent(reply_id=agent.state.reply_id, confirm_results=denied))
    before, after = script.shown
    assert OPEN_MARK in "".join(shown.text for shown in before)
    assert after[: len(before)] == before
    await agent.reply(UserMsg("user", f"{QUESTION} Again."))
    assert "Borealis" in script.latest


class Compression(MiddlewareBase):
    """Keeps the newest message alone, as AgentScope's own compression does once the context is too long."""

    async def on_compress_context(self, agent, input_kwargs, next_handler):
        agent.state.context, agent.state.summary = agent.state.context[-1:], "They talked."


async def test_what_is_compressed_away_in_this_very_reply_is_shown(core):
    memory = MemoryScopeMiddleware(user="alice", memory=core)
    agent = agent_with(memory, ScriptedModel())
    await agent.reply(UserMsg("user", FACT))
    script = ScriptedModel()
    middlewares = [memory, Compression()]
    compressed = Agent("helper", "Be helpful.", Model(script), middlewares=middlewares, state=agent.state)
    await compressed.reply(UserMsg("user", QUESTION))
    assert "They talked." in script.latest and "Aurora" in script.latest
    assert (await texts(core)).count(FACT) == 1


async def test_parts_of_a_message_stay_as_they_are(core):
    picture = DataBlock(source=Base64Source(data="iVBORw0KGgo=", media_type="image/png"))
    agent = agent_with(await knows(core), ScriptedModel())
    await agent.reply(UserMsg("user", [TextBlock(text=QUESTION), picture]))
    _, said, memory = agent.model.last[:3]
    assert [block.type for block in said.content] == ["text", "data"]
    assert FACT in str(memory)
    assert (await texts(core))[:2] == [FACT, QUESTION]
