"""A statement said again is the memory there is: one record, one id, whatever shows it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from secrets import token_hex

import pytest

from memscope import AsyncMemoryScope
from memscope.adapters import memory_tools
from memscope.adapters.session import MemorySession
from memscope.errors import Conflict
from memscope.reconciliation.supersession import MAX_SOURCES
from memscope.records import ChangeSet, Observation, Supersession
from memscope_testing.records import observation
from stores.elasticsearch.node import location, needs_node, remove

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture(params=["in memory", "sqlite", pytest.param("elasticsearch", marks=needs_node)])
async def memory(request, tmp_path):
    places = {
        "in memory": ":memory:",
        "sqlite": tmp_path / "memory.db",
        "elasticsearch": location(f"test-{token_hex(4)}"),
    }
    now = [START]
    async with AsyncMemoryScope(places[request.param], settings={}, clock=lambda: now[0]) as memory:
        memory.wait = lambda **given: now.__setitem__(0, now[0] + timedelta(**given))
        yield memory
        store = memory.admin.runtime.services.store
    if request.param == "elasticsearch":
        await remove(store)


async def facts(memory, user="alice", **more):
    return await memory.list(user=user, kinds=["observation"], **more)


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("Alice is allergic to walnuts.", "Alice is allergic to walnuts."),
        ("Alice is allergic to walnuts.", "  alice is allergic to WALNUTS "),
        ("The user has a dog", "User has the dog!"),
        ("我对花生过敏。", "我对花生过敏"),
        ("🎉", "🎉"),
    ],
)
async def test_a_sentence_said_again_is_one_memory(memory, first, again):
    one = await memory.add_memory(first, user="alice", session="one")
    memory.wait(days=2)
    other = await memory.add_memory(again, user="alice", session="two")
    assert other.id == one.id
    (fact,) = await facts(memory)
    assert fact == other
    assert fact.text == first
    assert fact.said == one.said
    statements = await memory.list(user="alice", kinds=["turn"])
    assert set(fact.sources) == {turn.key for turn in statements}
    assert len(statements) == len(fact.quotes) == 2
    assert [version.version for version in await memory.history(one.id, user="alice")] == [1, 2]


async def test_it_is_shown_once_with_the_number_of_times(memory):
    for session in ("one", "two", "three"):
        made = await memory.add_memory("Alice is allergic to walnuts.", user="alice", session=session)
        memory.wait(days=1)
    await memory.add_memory("The boat is called Aurora.", user="alice")
    found = await memory.retrieve("What is Alice allergic to?", user="alice")
    assert [hit.id for hit in found if "walnuts" in hit.text] == [made.id]
    shown = await memory.context("What is Alice allergic to?", user="alice")
    assert shown.count("walnuts") == 1
    assert "(said 3 times, last 2026-03-03)" in shown


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({"text": "Alice is vegan."}, {"text": "Alice is not vegan."}),
        ({"text": "Alice ran 10 km."}, {"text": "Alice ran 12 km."}),
        ({"text": "Alice is vegan."}, {"text": "Is Alice vegan?"}),
        ({"text": "Alice is vegan.", "agent": "helper"}, {"text": "Alice is vegan."}),
        ({"text": "Alice is vegan."}, {"text": "Alice is vegan.", "agent": "helper"}),
        ({"text": "Alice is vegan.", "data": {"n": 1}}, {"text": "Alice is vegan."}),
        ({"text": "Alice is vegan.", "data": {"n": 1}}, {"text": "Alice is vegan.", "data": {"n": 2}}),
        ({"text": "Alice is vegan.", "data": {"n": 1}}, {"text": "Alice is vegan.", "data": {"n": True}}),
        ({"text": "Alice is vegan.", "name": "diet"}, {"text": "Alice is vegan."}),
        ({"text": "Alice is vegan."}, {"text": "Alice is vegan.", "name": "diet"}),
        ({"text": "Alice is vegan."}, {"text": "Alice is vegan.", "expires": "2027-01-01T00:00:00Z"}),
        ({"text": "", "data": {"n": 1}}, {"text": "", "data": {"n": 1}}),
    ],
)
async def test_what_differs_is_another_memory(memory, first, again):
    one = await memory.add_memory(user="alice", **first)
    assert (await memory.add_memory(user="alice", **again)).id != one.id
    assert len(await facts(memory)) == 2


async def test_another_user_has_another_memory(memory):
    one = await memory.add_memory("Alice is vegan.", user="alice")
    assert (await memory.add_memory("Alice is vegan.", user="bob")).id != one.id


async def test_with_the_same_data_it_is_one(memory):
    one = await memory.add_memory("Alice is vegan.", user="alice", agent="helper", data={"n": {"a": [1, None]}})
    other = await memory.add_memory("Alice is vegan", user="alice", agent="helper", data={"n": {"a": [1.0, None]}})
    assert other.id == one.id


async def test_what_no_longer_holds_is_said_anew(memory):
    one = await memory.add_memory("Alice lives in Kiel.", user="alice")
    other = await memory.add_memory("Alice lives in Bonn.", user="alice")
    closing = Supersession(one.id, other.id, START, START)
    await memory.admin.runtime.services.store.apply("alice", ChangeSet(closed=(closing,)))
    again = await memory.add_memory("Alice lives in Kiel.", user="alice")
    assert again.id != one.id
    assert again.current


async def test_what_was_forgotten_is_said_anew(memory):
    one = await memory.add_memory("Alice is vegan.", user="alice")
    await memory.add_memory("Alice is vegan.", user="alice")
    report = await memory.forget(user="alice", ids=[one.id])
    assert (report.turns, report.observations) == (2, 1)
    again = await memory.add_memory("Alice is vegan.", user="alice")
    assert again.id != one.id
    assert len(await facts(memory)) == 1


async def test_a_fact_of_the_back_end_is_said_again(memory):
    await memory.add_turns([{"role": "user", "content": "vegan here", "id": "t"}], user="alice")
    made = observation("made", "t", text="Alice is vegan.", said=START)
    await memory.admin.runtime.services.store.apply("alice", ChangeSet(new=(made,), done=("t",)))
    assert (await memory.add_memory("Alice is vegan.", user="alice")).id == "made"


async def test_what_is_said_very_often_leaves_no_statement_without_its_memory(memory):
    for _ in range(MAX_SOURCES + 4):
        made = await memory.add_memory("Alice is vegan.", user="alice")
        memory.wait(hours=3)
    assert len(made.sources) == MAX_SOURCES
    assert {turn.key for turn in await memory.list(user="alice", kinds=["turn"])} == set(made.sources)
    await memory.forget(user="alice", ids=[made.id])
    assert await memory.list(user="alice") == []


async def test_with_a_time_a_repeated_statement_is_the_one_that_is_here(memory):
    times = [f"2026-02-0{day}T10:00:00Z" for day in (3, 1, 2)]
    made = [await memory.add_memory("Alice is vegan.", user="alice", time=time) for time in (*times, *times)]
    assert len({one.id for one in made}) == 1
    assert len(made[-1].sources) == 3
    assert made[-1] == made[2]
    first = await memory.get(made[-1].sources[0], user="alice")
    assert first.time.day == 1  # what said it first stands in front
    await memory.forget(user="alice", ids=[made[0].id])
    with pytest.raises(Conflict, match="forgotten"):
        await memory.add_memory("Alice is vegan.", user="alice", time=times[1])
    assert await memory.list(user="alice") == []


async def test_a_statement_of_a_forgotten_time_changes_nothing(memory):
    forgotten = await memory.add_memory("Alice is vegan.", user="alice", time="2026-02-01T10:00:00Z")
    await memory.forget(user="alice", ids=[forgotten.id])
    here = await memory.add_memory("Alice is vegan.", user="alice")
    with pytest.raises(Conflict, match="forgotten"):
        await memory.add_memory("Alice is vegan.", user="alice", time="2026-02-01T10:00:00Z")
    assert await facts(memory) == [here]


async def test_said_by_many_at_once_it_is_one_memory(memory):
    made = await asyncio.gather(*(memory.add_memory("Alice is vegan.", user="alice") for _ in range(MAX_SOURCES)))
    assert len({one.id for one in made}) == 1
    (fact,) = await facts(memory)
    assert len(fact.sources) == MAX_SOURCES


async def test_a_revision_by_another_process_meanwhile_is_no_error(tmp_path):
    path = tmp_path / "memory.db"
    async with AsyncMemoryScope(path, settings={}) as one, AsyncMemoryScope(path, settings={}) as other:
        first = await one.add_memory("Alice is vegan.", user="alice")
        calls = [memory.add_memory("Alice is vegan.", user="alice") for memory in (one, other) * 3]
        assert {made.id for made in await asyncio.gather(*calls)} == {first.id}
        assert len((await one.get(first.id, user="alice")).sources) == 7


async def test_an_insight_stated_again_is_one(memory):
    one = await memory.add_memory("vegan since 2020", user="alice", kind="insight", subject="diet")
    memory.wait(days=1)
    other = await memory.add_memory("Vegan since 2020.", user="alice", kind="insight", subject="Diet")
    assert other.id == one.id
    assert [found.id for found in await memory.list(user="alice", kinds=["insight"], superseded=True)] == [one.id]
    elsewhere = await memory.add_memory("vegan since 2020", user="alice", kind="insight", subject="cat")
    assert elsewhere.id != one.id
    changed = await memory.add_memory("vegan since 2021", user="alice", kind="insight", subject="diet")
    back = await memory.add_memory("vegan since 2020", user="alice", kind="insight", subject="diet")
    assert len({one.id, changed.id, back.id}) == 3
    assert {found.text for found in await memory.list(user="alice", kinds=["insight"])} == {back.text, elsewhere.text}


# ---- one id


async def test_tools_show_the_id_that_they_gave(memory):
    session = MemorySession(user="alice", memory=memory)
    told = await memory_tools.archival_insert(session, "The boat is called Aurora.")
    assert await memory_tools.archival_insert(session, "The boat is called Aurora") == told
    id = told.removeprefix("Remembered, id ").removesuffix(".")
    for shown in (
        await memory_tools.archival_search(session, "What is the boat called?"),
        await memory_tools.search_memory(session, "What is the boat called?"),
    ):
        assert shown.count("[id ") == 1
        assert f"[id {id}]" in shown
    assert isinstance(await memory.get(id, user="alice"), Observation)
    assert "Forgotten" in await memory_tools.forget(session, [id])
    assert await memory.list(user="alice") == []


async def test_a_hit_of_a_statement_has_the_id_of_its_memory(memory):
    made = await memory.add_memory("The boat is called Aurora.", user="alice")
    for query in ("What is the boat called?", "What do you know about me?"):
        found = await memory.retrieve(query, user="alice")
        assert {hit.id for hit in (*found, *found.profile)} <= {made.id}
    (hit,) = await memory.retrieve("What is the boat called?", user="alice")
    assert (hit.id, hit.turn.key) == (made.id, made.sources[0])
    for key in (made.id, made.sources[0]):
        assert not await memory.retrieve("What is the boat called?", user="alice", exclude=[key])
    closing = Supersession(made.id, None, START, START)
    await memory.admin.runtime.services.store.apply("alice", ChangeSet(closed=(closing,)))
    assert {hit.id for hit in await memory.retrieve("What is the boat called?", user="alice")} <= {made.id}


async def test_a_hit_of_what_was_said_keeps_the_turns_key(memory):
    await memory.add_turns([{"role": "user", "content": "My boat is called Aurora.", "id": "t"}], user="alice")
    made = observation("made", "t", text="The boat is called Aurora.", said=START)
    await memory.admin.runtime.services.store.apply("alice", ChangeSet(new=(made,), done=("t",)))
    assert [hit.id for hit in await memory.retrieve("What is the boat called?", user="alice")] == ["t"]
