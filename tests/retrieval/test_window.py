"""The turns of a conversation that stand in a prompt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memscope.records import SUMMARY_NAMESPACE, Scope, TurnInsert
from memscope.retrieval.window import cost, first_shown, fit_turns, recent_turns, summary_name, summary_of
from memscope_testing.records import insight, remember, turn
from talk import talking


@pytest.fixture
async def store():
    async with talking() as memory:
        yield memory.admin.runtime.services.store


NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def said(key, hours=1.0, **more):
    time = NOW - timedelta(hours=hours)
    return turn(key, f"Words of {key}.", **{"session": "s", "agent": "a", "time": time, "recorded": time, **more})


@pytest.mark.parametrize(
    ("costs", "tokens", "first"),
    [
        ([10, 10, 10], 30, 0),
        ([10] * 5, 40, 2),  # half of the window at a time, so that the next turns change nothing at its beginning
        ([10] * 6, 40, 2),
        ([10] * 7, 40, 4),
        ([10, 35, 10], 40, 2),
        ([10, 50], 40, 2),
    ],
)
def test_the_window_moves_by_half_its_size(costs, tokens, first):
    assert first_shown(costs, tokens) == first


async def test_the_window_has_what_was_said_lately_in_this_session_alone(store):
    turns = [
        said("first", 11), said("reply", 10.9, role="assistant"), said("last"), said("of a person", 0.5, role="person"),
        said("yesterday", 13), said("ahead of the clock", -0.01), said("elsewhere", session="t"),
        said("of none", session=None), said("of another agent", agent="b"), said("of a tool", role="tool"),
        said("kept by hand", statement=True),
    ]  # fmt: skip
    await store.append("alice", [TurnInsert(one) for one in turns])

    async def keys(scope, tokens=1000):
        return [one.key for one in await recent_turns(store, scope, NOW, tokens)]

    here = Scope("alice", "a", "s")
    assert await keys(here) == ["first", "reply", "last", "of a person", "ahead of the clock"]
    assert await keys(Scope("alice", "a", "t")) == ["elsewhere"]
    assert await keys(Scope("alice", "a")) == ["of none"]
    assert await keys(here, cost(turns[5])) == ["ahead of the clock"]


def test_a_window_begins_with_a_user():
    turns = [said("a"), said("b", role="assistant"), said("c", role="assistant"), said("d")]
    assert [one.key for one in fit_turns(turns, sum(map(cost, turns[1:])))] == ["d"]
    assert fit_turns(turns[1:3], 1000) == []
    assert [one.key for one in fit_turns(turns, 1000)] == ["a", "b", "c", "d"]


async def test_a_session_has_a_summary_of_its_own(store):
    scope = Scope("alice", "a", "s")
    await store.append("alice", [TurnInsert(said("t"))])
    names = {
        id: summary_name(Scope("alice", *of)) for id, of in (("s", ("a", "s")), ("t", ("a", "t")), ("b", ("b", "s")))
    }
    own = {"agent": "a", "namespace": SUMMARY_NAMESPACE}
    await remember(store, *(insight(id, "t", name=name, **own) for id, name in names.items()),
                   insight("other", "t", name=names["s"], agent="a"))  # fmt: skip
    found = await summary_of(store, scope)
    assert found is not None and found.id == "s"
    assert await summary_of(store, Scope("alice", "a", "u")) is None
