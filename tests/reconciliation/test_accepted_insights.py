"""Two accepted insights on one subject become one, which says what both said."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memscope.reconciliation.approval import accept, proposals
from memscope.records import Insight, Select, Sentence
from memscope.reflection.insights import stated_insight
from memscope.stores.memory import InMemoryStore
from memscope_testing.records import START, at, inserts, insight, observation, remember

BERLIN, CAT = Sentence("Lives in Berlin.", ("f1",)), Sentence("Has a cat.", ("f2",))


@pytest.fixture
async def store():
    opened = InMemoryStore(clock=lambda: at(100))
    await opened.open()
    await opened.append("alice", inserts("a", "b"))
    facts = (observation("f1", "a", text="Lives in Berlin."), observation("f2", "b", text="Has a cat."))
    await remember(opened, *facts)
    yield opened
    await opened.close()


def proposal(id, *sentences, day=0, subject="Home", **fields):
    sources = [source for one in sentences for source in one.sources]
    text = " ".join(one.text for one in sentences)
    said = START + timedelta(days=day)
    return insight(id, *sources, text=text, sentences=sentences, proposed=True, said=said, subject=subject, **fields)


async def current(store):
    pages = store.scan(Select("alice", kinds=frozenset({"insight"}), current=True))
    return [record async for page in pages for record in page if isinstance(record, Insight)]


@pytest.mark.parametrize("calls", [[["i1", "i2"]], [["i1"], ["i2"]], [["i2"], ["i1"]]])
async def test_the_newest_takes_over_the_sentences_of_the_others(store, calls):
    await remember(store, proposal("i1", BERLIN), proposal("i2", CAT, day=1, subject="home"))
    for ids in calls:
        assert await accept(store, "alice", ids, clock=lambda: at(50)) == len(ids)
    (one,) = await current(store)
    assert (one.id, one.sentences, one.sources) == ("i2", (BERLIN, CAT), ("f1", "f2"))
    assert one.text == "home: Lives in Berlin. Has a cat."
    old = (await store.fetch("alice", ["i1"])).records["i1"]
    assert old.superseded_by == "i2" and old.closed and await proposals(store, "alice") == []


async def test_other_subjects_and_agents_and_documents_stay(store):
    others = (
        proposal("i2", CAT, subject="pets"), proposal("i3", CAT, agent="a"), proposal("i4", CAT, name="home"),
    )  # fmt: skip
    await remember(store, proposal("i1", BERLIN), *others)
    await accept(store, "alice", ["i1", "i2", "i3", "i4"], clock=lambda: at(50))
    assert {one.id: one.sentences for one in await current(store)} == {
        "i1": (BERLIN,), "i2": (CAT,), "i3": (CAT,), "i4": (CAT,),
    }  # fmt: skip


async def test_what_a_person_stated_later_stays_as_they_said_it(store):
    fact = replace(observation("f3", "a", text="I live in Rome."), said=START + timedelta(days=2))
    stated = await stated_insight(store, fact, "home")
    await store.apply("alice", stated)
    await remember(store, proposal("i1", BERLIN))
    await accept(store, "alice", ["i1"], clock=lambda: at(50))
    (one,) = await current(store)
    assert one.text == "home: I live in Rome." and not one.sentences
