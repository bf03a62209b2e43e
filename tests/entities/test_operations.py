"""Ranking, one entity, timeline and stream, over the stores in memory and SQLite."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope, MemoryScope
from memscope.entities import cache, record_names
from memscope.entities.index import EntityIndex, EntityView, score
from memscope.entities.record_names import NameMention, ReadRecords, ReadTurn
from memscope.errors import InputError, NotFound
from memscope.records import ChangeSet, Insight, Observation, Scope
from memscope_elasticsearch import ElasticsearchStore
from stores.elasticsearch.node import location, needs_node, remove

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)


def said(text: str, days_ago: float, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "time": NOW - timedelta(days=days_ago), **more}


TALK = [
    said("My sister Kim moved to Lisbon.", 60),
    said("I had lunch with Anna Schmidt in Hamburg.", 50),
    said("Anna works for Siemens.", 40),
    said("My sister called again.", 30),
    said("I flew to Lisbon and met Kim.", 20, session="trip"),
    said("我朋友赵磊在腾讯上班。", 10),
]


@pytest.fixture(params=["memory", "sqlite", pytest.param("elasticsearch", marks=needs_node)])
async def memory(request, tmp_path: Path) -> AsyncIterator[AsyncMemoryScope]:
    store: Any = {"memory": ":memory:", "sqlite": tmp_path / "memory.db"}.get(request.param)
    if request.param == "elasticsearch":
        store = ElasticsearchStore(location(f"test-{secrets.token_hex(4)}"))
    async with AsyncMemoryScope(store, clock=lambda: NOW) as opened:
        yield opened
    if request.param == "elasticsearch":
        await remove(ElasticsearchStore(store.options))


@pytest.fixture
async def talk(memory) -> AsyncMemoryScope:
    await memory.add_turns(TALK, user="u", agent="a", replay=True)
    return memory


async def counts(
    memory: AsyncMemoryScope, agent: str | None = None, session: str | None = None, **more: Any
) -> dict[str, int]:
    entities = memory.entities("u", agent=agent, session=session)
    return {one.name: one.count for one in await entities.list(**more)}


async def test_names_are_counted_by_turn_the_most_and_latest_first(talk):
    found = await talk.entities("u").list()
    assert {one.name: (one.kind, one.count) for one in found} == {
        "Kim": ("person", 3), "Lisbon": ("place", 2), "Anna Schmidt": ("person", 2), "Hamburg": ("place", 1),
        "Siemens": ("organisation", 1), "赵磊": ("person", 1), "腾讯": ("organisation", 1),
    }  # fmt: skip
    assert [one.name for one in found][:3] == ["Kim", "Lisbon", "Anna Schmidt"]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    kim = found[0]
    assert (kim.first, kim.last) == (NOW - timedelta(days=60), NOW - timedelta(days=20))
    assert kim.aliases == ("my sister",)
    assert kim.score == pytest.approx(sum(0.25 + 0.75 * 2 ** (-age / 90) for age in (60, 30, 20)), abs=1e-3)


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=20), st.integers(-500, 3000))
def test_a_score_from_the_last_turn_is_that_of_all_turns(ages, later):
    """Ages in days; ``later``: days from the newest to now, before it for a clock that is behind."""
    times = sorted(NOW - timedelta(days=age) for age in ages)
    kim = (NameMention("kim", "Kim", "person", 2),)
    turns = {str(at): ReadTurn(str(at), time, None, None, kim, frozenset()) for at, time in enumerate(times)}
    now = times[-1] + timedelta(days=later)
    index = EntityIndex(EntityView(None, None, None, now))
    index.update(ReadRecords(turns, {}), turns, now)
    (found,) = index.top(5, now)
    assert found.score == pytest.approx(score(times, now), abs=1e-3) and found.count == len(times)


async def test_what_is_said_lately_counts_more(memory):
    old = [said("Lunch with Oldrich in town.", 400 + day) for day in range(4)]
    await memory.add_turns([*old, *(said("Lunch with Newton in town.", day) for day in range(3))], user="u")
    assert list(await counts(memory)) == ["Newton", "Oldrich"]


async def test_the_same_turns_again_change_no_count(talk):
    before = await talk.entities("u").list()
    await talk.add_turns(TALK, user="u", agent="a", replay=True)
    assert await talk.entities("u").list() == before


async def test_masks_and_windows(talk):
    await talk.add_turns([said("I met Wilbur with Kim.", 5)], user="u", agent="b")
    await talk.add_turns([said("I met Boris.", 5)], user="other")
    assert await counts(talk, agent="b") == {"Wilbur": 1, "Kim": 1}
    assert await counts(talk, session="trip") == {"Lisbon": 1, "Kim": 1}
    assert await counts(talk, since=NOW - timedelta(days=15)) == {"赵磊": 1, "腾讯": 1, "Kim": 1, "Wilbur": 1}
    assert await counts(talk, kind="place") == {"Lisbon": 2, "Hamburg": 1}
    assert await counts(talk, as_of=NOW - timedelta(days=55)) == {"Kim": 1, "Lisbon": 1}
    assert len(await counts(talk, top=2)) == 2
    with pytest.raises(NotFound):
        await talk.entities("u", agent="b").get("Siemens")
    with pytest.raises(NotFound):
        await talk.entities("u").get("Boris")


async def test_a_name_of_another_agent_tells_nothing(memory):
    await memory.add_turns([said("My sister Kim is ill.", 3)], user="u", agent="a")
    await memory.add_turns([said("I miss my sister.", 2)], user="u", agent="b")
    assert await counts(memory, agent="b") == {}
    assert await counts(memory) == {"Kim": 2}


async def test_a_role_of_two_people_is_no_alias(memory):
    turns = [said("My friend Leo came.", 9), said("My friend Max came.", 8), said("I miss my friend.", 7)]
    await memory.add_turns(turns, user="u")
    assert await counts(memory) == {"Leo": 1, "Max": 1}


async def test_a_first_name_of_two_people_is_neither(memory):
    turns = [said("I met Anna Schmidt.", 9), said("I met Anna Jones.", 8), said("I met Anna.", 7)]
    await memory.add_turns(turns, user="u")
    assert await counts(memory) == {"Anna": 1, "Anna Jones": 1, "Anna Schmidt": 1}


async def test_a_first_word_of_a_sentence_counts_where_the_name_is_known(memory):
    await memory.add_turns([said("Zorblax is here.", 9)], user="u")
    assert await counts(memory) == {}
    await memory.add_turns([said("I met Zorblax.", 8)], user="u")
    assert await counts(memory) == {"Zorblax": 2}


async def add_fact(memory: AsyncMemoryScope, turn: int, text: str, **more: Any) -> Observation:
    stored = (await memory.list(user="u", kinds=["turn"]))[turn]
    fact = Observation(id=f"o{turn}", scope=Scope("u", "a"), text=text, sources=(stored.key,), said=stored.time,
                       recorded=NOW, **more)  # fmt: skip
    await memory.admin.runtime.services.store.apply("u", ChangeSet(new=(fact,)))
    return fact


async def test_one_entity_with_all_that_is_known(talk):
    await add_fact(talk, 0, "Kim lives in Lisbon.", about="Kim", keywords=("moving",))
    where, text = Scope("u", "a"), "Kim has moved away."
    insight = Insight(id="i", scope=where, text=text, sources=("o0",), said=NOW, recorded=NOW, subject="Kim")
    await talk.admin.runtime.services.store.apply("u", ChangeSet(new=(insight,)))
    found = await talk.entities("u").get("kim")
    assert found.entity.name == "Kim" and found.entity.count == 3
    assert [fact.id for fact in found.facts] == ["o0"] and [one.id for one in found.insights] == ["i"]
    assert [turn.text for turn in found.turns] == [TALK[0]["content"], TALK[3]["content"], TALK[4]["content"]]
    assert ("Lisbon", 2) in [(one.name, one.count) for one in found.neighbours]
    assert (await talk.entities("u").get("my sister")).entity.name == "Kim"


async def test_a_model_names_what_rules_do_not(memory):
    await memory.add_turns([said("saw her again in the bakery downtown", 3)], user="u", agent="a")
    await add_fact(memory, 0, "Saw her in the bakery.", about="Rosalind", keywords=("bakery",))
    assert await counts(memory) == {"Rosalind": 1, "bakery": 1}
    await memory.forget(user="u", ids=["o0"])
    assert await counts(memory) == {}


async def test_forgetting_the_last_mention_removes_the_entity(talk):
    await talk.entities("u").list()
    await talk.forget(user="u", text="Siemens")
    assert "Siemens" not in await counts(talk)
    assert (await counts(talk))["Anna Schmidt"] == 1
    with pytest.raises(NotFound):
        await talk.entities("u").get("Siemens")
    await talk.forget(user="u", everything=True)
    assert await counts(talk) == {} and await talk.entities("u").stream() == []
    assert (await talk.entities("u").timeline()).buckets == ()


async def test_a_repeated_call_reads_no_record_again(talk, monkeypatch):
    before = await talk.entities("u").list()

    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(record_names, "_read_turn", refuse)
    assert await talk.entities("u").list() == before
    await talk.forget(user="u", text="Hamburg")  # the other turns are known
    assert "Hamburg" not in await counts(talk)


async def test_a_statement_that_expires(memory):
    await memory.add_memory("The password is with Gustav.", user="u", expires=NOW + timedelta(days=1))
    assert "Gustav" in await counts(memory)


async def test_the_stream_is_in_order_of_time(talk):
    mentions = await talk.entities("u").stream(limit=3)
    assert [one.name for one in mentions][-2:] == ["赵磊", "腾讯"]
    assert mentions == sorted(mentions, key=lambda one: one.time)


async def test_the_timeline(memory):
    turns = [said("I cook with Rosa.", 100 - 7 * week) for week in range(12)]
    turns += [said(f"Rosa and I went to Turin, hour {hour}.", 16 + hour / 24) for hour in range(9)]
    await memory.add_turns(turns, user="u", replay=True)
    found = await memory.entities("u").timeline(by="week", zone="UTC")
    assert sum(one.count for one in found.buckets) == 21
    (burst,) = [one for one in found.buckets if one.burst]
    assert burst.count >= 9 and burst.start <= NOW - timedelta(days=16) < burst.start + timedelta(days=7)
    assert [(one.name, one.before) for one in burst.top] == [("Rosa", 1), ("Turin", None)]
    (cooking,) = [one for one in found.themes if one.name == "cooking"]
    assert cooking.count == 12 and not cooking.over
    turin = await memory.entities("u").timeline("Turin", by="day", zone="UTC")
    assert turin.entity is not None and turin.entity.name == "Turin"
    assert sum(one.count for one in turin.buckets) == 9


async def test_days_are_those_of_the_zone(memory):
    late = datetime(2026, 6, 29, 23, 30, tzinfo=UTC)
    await memory.add_turns([{"role": "user", "content": "I met Kim.", "time": late}], user="u")
    days = {
        zone: (await memory.entities("u").timeline(by="day", zone=zone)).buckets[0].start.day
        for zone in ("UTC", "Asia/Tokyo")
    }
    assert days == {"UTC": 29, "Asia/Tokyo": 30}


async def test_bad_arguments_are_typed_errors(memory):
    known = memory.entities("u")
    for call in (known.list(kind="animal"), known.list(top=0), known.timeline(by="year"), known.get(""),
                 known.list(since="soon")):  # fmt: skip
        with pytest.raises(InputError):
            await call
    with pytest.raises(InputError):
        memory.entities("")


def test_without_await(tmp_path):
    with MemoryScope(tmp_path / "m.db") as memory:
        memory.add_turns([{"role": "user", "content": "I met Kim."}], user="u")
        assert [one.name for one in memory.entities("u").list()] == ["Kim"]
        assert memory.entities("u").get("Kim").entity.count == 1
        assert len(memory.entities("u").timeline("Kim").buckets) == len(memory.entities("u").stream()) == 1


async def test_a_merge_stays_through_new_turns(memory):
    await memory.add_turns([said("I met Anna Schmidt.", 9), said("I called Nanne today.", 8)], user="u")
    merged = await memory.entities("u").merge("Anna Schmidt", "Nanne")
    assert (merged.name, merged.count, merged.aliases) == ("Anna Schmidt", 2, ("Nanne",))
    await memory.add_turns([said("I had lunch with Nanne.", 1)], user="u")
    assert await counts(memory) == {"Anna Schmidt": 3}
    assert (await memory.entities("u").get("nanne")).entity.name == "Anna Schmidt"


async def test_a_split_stays_and_a_merge_joins_again(talk):
    await talk.entities("u").split("Anna Schmidt", "Anna")
    await talk.add_turns([said("Anna wrote to me.", 1)], user="u")
    assert (await counts(talk))["Anna"] == 2 and (await counts(talk))["Anna Schmidt"] == 1
    await talk.entities("u").merge("Anna Schmidt", "Anna")
    assert (await counts(talk))["Anna Schmidt"] == 3


async def test_a_role_is_taken_from_one_and_given_to_another(talk):
    assert (await talk.entities("u").split("my sister", "Kim")).aliases == ()
    with pytest.raises(NotFound):
        await talk.entities("u").get("my sister")
    merged = await talk.entities("u").merge("Anna", "my sister")
    assert merged.aliases == ("Anna", "my sister") and merged.count == 4


async def test_a_dismissed_name_is_no_entity_until_it_is_merged_or_the_statement_forgotten(talk):
    def names(entities):
        return [one.name for one in entities]

    assert "Kim" in names(await talk.entities("u").list())
    await talk.entities("u").dismiss("kim")
    assert "Kim" not in names(await talk.entities("u").list())
    assert "Kim" not in names(await talk.entities("u").stream())
    with pytest.raises(NotFound):
        await talk.entities("u").get("Kim")
    await talk.add_turns([{"role": "user", "content": "Kim called again."}], user="u")
    assert "Kim" not in names(await talk.entities("u").list())
    (told,) = await talk.list(user="u", namespace="memscope.entities")
    assert told.text == "kim ∉"
    await talk.forget(user="u", ids=[told.id])
    assert "Kim" in names(await talk.entities("u").list())
    await talk.entities("u").dismiss("Kim")
    assert "Kim" in (await talk.entities("u").merge("Anna Schmidt", "Kim")).aliases


async def test_an_alias_stays_when_the_full_name_is_dismissed(memory):
    await memory.add_turns([{"role": "user", "content": "Anna Schmidt met Anna in Rome."}], user="u")
    await memory.entities("u").dismiss("Anna Schmidt")
    assert "Anna" in [one.name for one in await memory.entities("u").list()]


async def test_merges_are_records_of_one_user_that_can_be_forgotten(talk):
    await talk.entities("u").merge("Kim", "赵磊")
    assert (await counts(talk))["Kim"] == 4
    (record,) = await talk.list(user="u", namespace="memscope.entities")
    assert record.text == "赵磊 = Kim" and record.text not in await talk.profile("u")
    assert await counts(talk, as_of=NOW - timedelta(hours=1)) == await counts(talk, as_of=NOW - timedelta(hours=2))
    await talk.forget(user="u", ids=[record.id])
    assert (await counts(talk))["Kim"] == 3
    await talk.entities("u").merge("Kim", "赵磊")
    await talk.forget(user="u", text="赵磊")
    assert await talk.list(user="u", namespace="memscope.entities") == []


async def test_no_search_and_no_profile_shows_a_merge(talk):
    await talk.entities("u").merge("Kim", "赵磊")
    await talk.entities("u").split("Kim", "my sister")
    found = await talk.retrieve("Where does my sister Kim live?", user="u")
    shown = [hit.text for hit in found] + (await talk.profile("u")).splitlines()
    assert shown and not [text for text in shown if "=" in text or "≠" in text]
    assert not [hit.text for hit in found if hit.changed]


async def test_merges_are_copied_with_the_memory(talk, tmp_path):
    await talk.entities("u").merge("Kim", "赵磊")
    await talk.admin.export(tmp_path / "out.jsonl")
    async with AsyncMemoryScope(":memory:", clock=lambda: NOW) as other:
        await other.admin.import_(tmp_path / "out.jsonl")
        assert await counts(other) == await counts(talk)


async def test_a_merge_of_one_agent_is_its_own(memory):
    one = "a" * 250
    await memory.add_turns([said("I met Anna Schmidt and Nanne.", 3)], user="u", agent=one)
    await memory.add_turns([said("I met Anna Schmidt and Nanne.", 2)], user="u", agent="b")
    await memory.entities("u", agent=one).merge("Anna Schmidt", "Nanne")
    assert await counts(memory, agent=one) == {"Anna Schmidt": 1}
    assert await counts(memory, agent="b") == {"Anna Schmidt": 1, "Nanne": 1}
    await memory.entities("u", agent="b").merge("Anna Schmidt", "Nanne")
    await memory.entities("u", agent="b").split("Anna Schmidt", "Nanne")
    assert await counts(memory, agent=one) == {"Anna Schmidt": 1}
    assert await counts(memory, agent="b") == {"Anna Schmidt": 1, "Nanne": 1}
    assert all(len(step.name) < 256 for step in await memory.list(user="u", kinds=["observation"])), "can be imported"


async def test_chinese_without_wo_and_at_the_beginning_of_a_sentence(memory):
    """A relative without 我 is the user's; a name that only one sentence marks as one counts where sentences begin."""
    texts = (
        "我表弟陈宇在华为上班。",
        "表弟辞职了。",
        "李慧的表弟来了。",
        "我家猫叫团子。",
        "团子又感冒了。",
        "今天又加班。",
    )
    await memory.add_turns([said(text, 9 - day) for day, text in enumerate(texts)], user="u")
    assert {one: found for one, found in (await counts(memory)).items() if found > 1} == {"陈宇": 2, "团子": 2}


async def test_what_cannot_be_merged_or_split(talk):
    for call, error in (
        (talk.entities("u").merge("Kim", "Nobody"), NotFound),
        (talk.entities("u").dismiss("Nobody"), NotFound), (talk.entities("v").merge("Kim", "Anna"), NotFound),
        (talk.entities("u").split("Kim", "Anna"), InputError), (talk.entities("u").merge("Kim", "kim"), InputError),
    ):  # fmt: skip
        with pytest.raises(error):
            await call
    assert await talk.list(user="u", namespace="memscope.entities") == []


async def test_questions_and_writes_at_the_same_time(memory, monkeypatch):
    """Callers that are cancelled, and turns that are written meanwhile, leave an index as one built at once."""

    async def write(number: int) -> None:
        await memory.add_turns([said(f"I met Kim and Person{number} in Lisbon.", number)], user="u")

    for round in range(4):
        asked = [asyncio.create_task(counts(memory)) for _ in range(6)]
        await asyncio.sleep(0)
        asked[round].cancel()
        await asyncio.gather(*asked, *(write(3 * round + one) for one in range(3)), return_exceptions=True)
    assert (await counts(memory))["Kim"] == (await counts(memory))["Lisbon"] == 12
    following = await memory.entities("u").list(top=100)
    monkeypatch.setattr(cache, "_users", WeakKeyDictionary())  # as another process reads it
    assert await memory.entities("u").list(top=100) == following


@pytest.mark.slow
async def test_the_event_loop_goes_on_while_names_are_read(memory):
    texts = (f"My colleague Kim{number} moved to Lisbon and works for Siemens now." for number in range(3000))
    await memory.add_turns([said(text, 1) for text in texts], user="u")
    asked, turns = asyncio.create_task(memory.entities("u").list()), 0
    while not asked.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await asked)[0].count == 3000 and turns > 100
