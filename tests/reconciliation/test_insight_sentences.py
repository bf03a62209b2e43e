"""The facts that a sentence of an insight rests on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from memscope.reconciliation.insight_sentences import attributed, corrected, keeps, with_corrections, with_fact
from memscope.records import ChangeSet, Insight, Observation, Scope, Sentence, Supersession
from memscope.stores.memory import InMemoryStore
from memscope_testing.records import inserts, insight, remember

NOW = datetime(2026, 6, 1, tzinfo=UTC)


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
    assert keeps("The user lives with Abo.", old, {"bonn": bonn, "abo": abo})
    assert not keeps("The user lives in Bonn.", old, {"bonn": bonn, "abo": abo})
    assert not keeps("The user lives with Abo.", old, {"bonn": replace(bonn, closed=None, valid_to=None), "abo": abo})


async def test_an_insight_is_written_anew_where_a_sentence_rests_on_the_ended_fact():
    facts = {"berlin": "The user lives in Berlin.", "cat": "The user has a cat.", "bonn": "The user lives in Bonn."}
    berlin, cat, bonn = (fact(id, text) for id, text in facts.items())
    in_berlin, with_cat, in_bonn = (Sentence(text, (id,)) for id, text in facts.items())
    home = insight("home", "berlin", "cat", sentences=(in_berlin, with_cat))
    pets = insight("pets", "cat", "berlin", sentences=(with_cat,))
    changes = ChangeSet(new=(bonn,), closed=(Supersession("berlin", "bonn", NOW, NOW, NOW),))
    store = InMemoryStore()
    await store.append("alice", inserts("turn-berlin", "turn-cat"))
    await remember(store, berlin, cat, home, pets)
    corrections = await with_corrections(store, "alice", changes, NOW)
    await store.close()
    (again,) = corrections.new[1:]
    assert again.sentences == (in_bonn, with_cat)
    assert [one.id for one in corrections.closed] == ["berlin", "home"]
