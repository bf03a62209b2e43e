"""New turns in a list, and one recall for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope
from memscope.adapters.runs import begin_run, begin_tool_call, end_tool_call, first_unanswered
from memscope.adapters.session import MemorySession, to_turn

FACT, QUESTION = to_turn("user", "My boat is called Aurora."), to_turn("user", "What is my boat called?")


@given(st.lists(st.sampled_from(["user", "assistant"])))
def test_only_the_users_newest_turn_can_be_new(roles):
    turns = [to_turn(role, "x") for role in roles]
    place = first_unanswered(turns)
    assert (place == len(turns)) == (not roles or roles[-1] == "assistant")
    assert place == len(turns) or (roles[place] == "user" and place == len(turns) - 1)


@pytest.fixture
async def session():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield MemorySession(user="alice", session="one", memory=memory)


async def test_history_is_replayed_and_the_newest_turn_is_said(session):
    await begin_run(session, [FACT])
    again = [FACT, to_turn("assistant", "Noted."), FACT]
    begun = await begin_run(session, again)
    assert [turn.text for turn in await session.list_turns()] == [FACT["content"], "Noted.", FACT["content"]]
    assert [key for key in begun.keys if not key] == []


async def test_what_is_excluded_is_not_shown(session):
    (key,) = await session.record([FACT])
    assert (await begin_run(session, [QUESTION])).shown == (key,)
    assert (await begin_run(session, [QUESTION], exclude=[key])).text == ""


async def test_what_a_tool_passes_on_to_another_agent_is_the_callers_words(session):
    begin_tool_call("boss", {"task": FACT["content"], "count": 3})
    await begin_run(session, [FACT])
    await begin_run(session, [QUESTION])
    end_tool_call()
    await begin_run(session, [FACT])
    turns = [(turn.role, turn.speaker) for turn in await session.list_turns()]
    assert turns == [("assistant", "boss"), ("user", "user"), ("user", "user")]
