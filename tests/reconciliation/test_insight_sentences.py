"""The facts that a sentence of an insight rests on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope.errors import Conflict
from memscope.reconciliation.insight_sentences import (
    attributed,
    corrected,
    covers_text,
    details,
    keeps_details,
    superseding,
    with_corrections,
    with_fact,
    with_own_sentences,
    without_heading,
)
from memscope.records import (
    SUMMARY_NAMESPACE,
    ChangeSet,
    Insight,
    Observation,
    Revision,
    Scope,
    Select,
    Sentence,
    Supersession,
)
from memscope.records.stored import CORRECTED
from memscope.stores.memory import InMemoryStore
from memscope_testing.records import ids, inserts, insight, remember

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def fact(id: str, text: str) -> Observation:
    return Observation(id=id, scope=Scope("alice"), text=text, sources=(f"turn-{id}",), said=NOW, recorded=NOW)


def test_a_value_of_an_earlier_version_rests_sentence_by_sentence_on_the_facts_that_are_close():
    facts = {
        "city": fact("city", "The user lives in Berlin."),
        "flat": fact("flat", "The user shares a flat with Abo."),
        "again": fact("again", "The user shares the flat with Abo and a cat."),
    }
    insight = Insight(
        id="home", scope=Scope("alice"), said=NOW, recorded=NOW, subject="living situation", sources=tuple(facts),
        text="living situation: The user lives in Berlin. The user shares a flat with Abo.",
    )  # fmt: skip
    assert [one.sources for one in attributed(insight, facts)] == [("city",), ("flat", "again")]


def test_a_sentence_that_knows_of_the_end_stays_and_says_the_news_for_the_others():
    bonn, berlin = fact("bonn", "The user lives in Bonn."), fact("berlin", "The user lives in Berlin.")
    old, new = Sentence(bonn.text, ("bonn",)), Sentence("The user left Bonn for Berlin.", ("bonn", "berlin"))
    over, facts = {"bonn": [berlin]}, {"bonn": bonn, "berlin": berlin}
    assert corrected([old, new], over, facts, {new}) == (new,)
    assert corrected([old], over, facts) == (Sentence(berlin.text, ("berlin",)),)


def test_a_fact_that_a_sentence_says_already_joins_its_sources():
    flat = Sentence("The user shares a flat with Abo in Berlin.", ("flat",))
    assert with_fact([flat], "The user shares a flat with Abo.", ["abo"]) == [replace(flat, sources=("flat", "abo"))]
    assert len(with_fact([flat], "The user shares a flat with Carla.", ["carla"])) == 2


def test_a_rewritten_sentence_may_lose_the_names_of_ended_facts_alone():
    bonn = replace(fact("bonn", "The user lives in Bonn."), closed=NOW, valid_to=NOW)
    abo = fact("abo", "The user lives with Abo.")
    old = Sentence("The user lives in Bonn with Abo.", ("bonn", "abo", "forgotten"))
    assert keeps_details("The user lives with Abo.", old, {"bonn": bonn, "abo": abo})
    assert not keeps_details("The user lives in Bonn.", old, {"bonn": bonn, "abo": abo})
    assert not keeps_details(
        "The user lives with Abo.", old, {"bonn": replace(bonn, closed=None, valid_to=None), "abo": abo}
    )


@pytest.mark.parametrize(
    ("value", "subject", "rest"),
    [
        ("Home: Berlin.", "home", "Berlin."),
        ("home: Home:\n Berlin,  by the river.", "home", "Berlin, by the river."),
        ("居住情况：用户住在北京。", "居住情况", "用户住在北京。"),
        ("Home is where the cat is.", "home", "Home is where the cat is."),
        ("Berlin. Home: none.", "home", "Berlin. Home: none."),
    ],
)
def test_a_value_is_said_without_the_heading(value, subject, rest):
    assert without_heading(value, subject) == rest


def test_only_insights_are_split_into_sentences():
    home = insight("home", "a", "b", subject="home", text="home: The user lives in Berlin. The user has a cat.")
    first, second = with_own_sentences(home).sentences
    assert (first, second) == (
        Sentence("The user lives in Berlin.", ("a", "b")),
        Sentence("The user has a cat.", ("a", "b")),
    )
    for whole in (replace(home, sentences=(first,)), replace(home, namespace=SUMMARY_NAMESPACE), fact("a", "x")):
        assert with_own_sentences(whole) == whole


def test_what_two_sentences_say_rests_on_the_fact_in_both():
    facts = {id: fact(id, text) for id, text in (("a", "The user has a cat."), ("b", "The user feeds birds."))}
    cats = insight("pets", *facts, "gone", text="home: The user has a cat. The cat of the user has a collar.")
    assert [one.sources for one in attributed(cats, facts)] == [("a", "b", "gone"), ("a", "b", "gone")]
    long = "The user has a small black cat with a collar."
    parts = insight("pets", "a", text=f"home: {long} The small black cat has a big collar. It rains.")
    assert [one.sources for one in attributed(parts, {"a": fact("a", long)})][:2] == [("a",), ("a",)]
    assert attributed(replace(parts, sources=("a", "b")), {"a": fact("a", long), "b": fact("b", "It rains.")})[2] == (
        Sentence("It rains.", ("b",))
    )
    alone = insight("pets", *facts, text="home: The user has a cat.")
    assert [one.sources for one in attributed(alone, facts)] == [("a", "b")]
    told = replace(cats, sentences=(Sentence("The user has a cat.", ("b",)), Sentence("It is old.", ("a",))))
    assert attributed(told, facts) == told.sentences


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The user met Anna in May at 10:30, for 1,150 euros.", {"anna", "10:30", "1,150"}),
        ("The user rented a flat for two weeks.", set()),
        ("用户养了三只猫。", {"三"}),
        ("用户和小雨在3月爬山。", {"小雨", "3"}),
    ],
)
def test_names_and_numbers_are_what_no_rewording_may_lose(text, kept):
    assert kept <= details(text) <= kept | {"may"}


@pytest.mark.parametrize(
    ("sentence", "text", "said"),
    [
        ("The user shares a small flat in Berlin with Abo.", "The user shares a flat with Abo.", True),
        ("The user shares a flat with Abo.", "The user shares a small sunny flat in Berlin with Abo.", False),
        ("The user eats meat.", "The user does not eat meat.", False),
        ("The user does not eat meat.", "The user eats meat.", False),
        ("The user paid the rent of the old flat in May.", "The user paid the rent of the old flat 2 times.", False),
        ("用户和阿波合租，住在柏林。", "用户和阿波合租。", True),
        ("用户养了三只猫。", "用户养了两只猫。", False),
        ("用户吃肉。", "用户不吃肉。", False),
    ],
)
def test_a_sentence_says_a_fact_with_its_words_and_numbers_and_denials(sentence, text, said):
    assert covers_text(sentence, text) is said


def test_what_still_holds_of_an_ended_sentence_stands_alone():
    """The fact beside the ended one stays, in its own words; what ended or was forgotten goes without a successor."""
    bonn, cat = fact("bonn", "The user lives in Bonn."), fact("cat", "The user has a cat.")
    both = Sentence("The user lives in Bonn with a cat.", ("bonn", "cat", "forgotten"))
    assert corrected([both], {"bonn": []}, {"bonn": bonn, "cat": cat}) == (Sentence(cat.text, ("cat",)),)
    assert corrected([both], {"bonn": []}, {"bonn": bonn, "cat": replace(cat, closed=NOW)}) == ()


async def test_an_insight_is_written_anew_where_a_sentence_rests_on_the_ended_fact():
    facts = {"berlin": "The user lives in Berlin.", "cat": "The user has a cat.", "bonn": "The user lives in Bonn."}
    berlin, cat, bonn = (fact(id, text) for id, text in facts.items())
    in_berlin, with_cat, in_bonn = (Sentence(text, (id,)) for id, text in facts.items())
    home = insight("home", "berlin", "cat", sentences=(in_berlin, with_cat))
    pets = insight("pets", "cat", "berlin", sentences=(with_cat,))
    changes = ChangeSet(new=(bonn,), closed=(Supersession("berlin", "bonn", NOW, NOW, NOW),))
    again, corrections = await corrected_in_store([berlin, cat, home, pets], changes)
    assert [one.sentences for one in again] == [(in_bonn, with_cat)]
    assert [(one.id, one.by) for one in corrections.closed] == [("berlin", "bonn"), ("home", again[0].id)]


async def test_each_insight_of_an_ended_fact_is_closed_by_its_own_successor():
    dog = fact("dog", "The user has a dog.")
    with_dog = Sentence(dog.text, (dog.id,))
    home, pets = (insight(id, "home", one.id, subject=id, sentences=(IN_BERLIN, sentence))
                  for id, one, sentence in (("flat", CAT, WITH_CAT), ("pets", dog, with_dog)))  # fmt: skip
    changes = ChangeSet(closed=(Supersession("home", None, NOW, NOW, NOW),))
    again, whole = await corrected_in_store([HOME, CAT, dog, home, pets], changes)
    successors = {one.subject: one.id for one in again}
    assert {one.subject: one.sentences for one in again} == {"flat": (WITH_CAT,), "pets": (with_dog,)}
    assert {one.id: one.by for one in whole.closed[1:]} == successors


async def corrected_in_store(stored, changes, now=NOW):
    """Return the new insights that a change set gains where the memories are stored, and the whole of it."""
    store = InMemoryStore()
    await store.append("alice", inserts(*(f"turn-{one.id}" for one in stored if isinstance(one, Observation))))
    await remember(store, *stored)
    whole = await with_corrections(store, "alice", changes, now)
    await store.close()
    return whole.new[len(changes.new) :], whole


HOME = fact("home", "The user lives in Berlin.")
CAT = fact("cat", "The user has a cat.")
IN_BERLIN, WITH_CAT = (Sentence(one.text, (one.id,)) for one in (HOME, CAT))


def life(*sentences, **more):
    return insight("life", "home", "cat", sentences=sentences, said=NOW, recorded=NOW, **more)


@pytest.mark.parametrize(
    ("text", "origin", "sentences"),
    [
        ("The user lives in Bonn.", CORRECTED, [(Sentence("The user lives in Bonn.", ("home",)), WITH_CAT)]),
        ("The user lives in Bonn.", "model", []),  # no correction of a person: a merge of two facts
        ("The user lives in Berlin.", CORRECTED, []),  # another of its fields was corrected
    ],
)
async def test_a_fact_that_a_person_corrects_is_corrected_in_its_insight(text, origin, sentences):
    changes = ChangeSet(revised=(Revision(replace(HOME, text=text, origin=origin), HOME.version),))
    again, _ = await corrected_in_store([HOME, CAT, life(IN_BERLIN, WITH_CAT)], changes)
    assert [one.sentences for one in again] == sentences


async def test_an_insight_that_is_forgotten_before_its_correction_is_written_does_not_come_back():
    store = InMemoryStore()
    await store.append("alice", inserts("turn-home", "turn-cat"))
    await remember(store, HOME, CAT, life(IN_BERLIN, WITH_CAT))
    corrected_home = replace(HOME, text="The user lives in Bonn.", origin=CORRECTED)
    whole = await with_corrections(store, "alice", ChangeSet(revised=(Revision(corrected_home, 1),)), NOW)
    await store.forget(Select("alice", ids=frozenset({"life"})))
    with pytest.raises(Conflict):
        await store.apply("alice", whole)
    assert await ids(store, kinds=frozenset({"insight"})) == []
    await store.close()


async def test_an_insight_of_which_nothing_is_left_ends_without_another():
    closed = (Supersession("home", None, NOW, NOW, NOW),)
    again, whole = await corrected_in_store([HOME, CAT, life(IN_BERLIN)], ChangeSet(closed=closed))
    assert (again, whole.closed[1:]) == ((), (Supersession("life", None, NOW, NOW, NOW),))


async def test_an_insight_that_changes_anyway_and_a_fact_that_is_only_replaced_leave_all_as_it_is():
    life_too = life(IN_BERLIN, WITH_CAT)
    for closed in (
        (Supersession("home", None, NOW, NOW, NOW), Supersession("life", None, NOW, NOW, NOW)),
        (Supersession("home", "cat", NOW, NOW),),  # it says the same and more: no time ended
    ):
        changes = ChangeSet(closed=closed)
        assert await corrected_in_store([HOME, CAT, life_too], changes) == ((), changes)


@pytest.mark.parametrize(("day", "known_of_it"), [(1, False), (-1, True)])
async def test_the_end_that_was_announced_is_told_with_the_next_correction(day, known_of_it):
    """A sentence written after the end knew of it, and stays."""
    ends = replace(HOME, valid_to=NOW + day * DAY)
    changes = ChangeSet(closed=(Supersession("cat", None, NOW + 2 * DAY, NOW, NOW),))
    again, _ = await corrected_in_store([ends, CAT, life(IN_BERLIN, WITH_CAT)], changes, NOW + 2 * DAY)
    assert [one.sentences for one in again] == ([(IN_BERLIN,)] if known_of_it else [])


async def test_where_no_insight_rests_on_an_ended_fact_the_facts_are_read_once(monkeypatch):
    store, fetched = InMemoryStore(), list[object]()
    await store.append("alice", inserts("turn-home"))
    await remember(store, HOME)
    fetch = store.fetch
    monkeypatch.setattr(store, "fetch", lambda user, ids: fetched.append(ids) or fetch(user, ids))
    changes = ChangeSet(closed=(Supersession("home", None, NOW, NOW, NOW),))
    assert (await with_corrections(store, "alice", changes, NOW), len(fetched)) == (changes, 1)
    await store.close()


async def test_for_a_batch_that_ends_nothing_nothing_is_read():
    changes = ChangeSet(new=(CAT,))
    store = InMemoryStore()
    await store.close()
    assert await with_corrections(store, "alice", changes, NOW) == changes


def test_an_insight_in_the_place_of_another_is_a_first_version_with_an_id_of_its_own():
    old = replace(life(IN_BERLIN), version=3)
    new = superseding(old, (WITH_CAT,), ["cat", "dog"], NOW, NOW)
    assert (new.text, new.sources, new.version) == ("home: The user has a cat.", ("home", "cat", "dog"), 1)
    assert len({old.id, new.id, superseding(replace(old, version=4), (WITH_CAT,), ["cat", "dog"], NOW, NOW).id}) == 3
