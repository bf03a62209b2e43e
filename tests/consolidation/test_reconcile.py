"""Known facts are merged, facts that are over are superseded, the others are left alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.consolidation import CONSOLIDATION_STEPS
from memscope.consolidation.reconcile import merge_known
from memscope.languages.similarity import MIN_SIMILARITY, closeness, same
from memscope.pipeline import UNFINISHED
from memscope.reconciliation.settlement import Settlement
from memscope.records import ChangeSet, Quote, Revision, Search
from memscope.text.terms import terms
from memscope_testing.models import data
from memscope_testing.records import observation

from workbench import NOW, answering, fact, noted, told_of

JANUARY, MARCH, JUNE = (datetime(2026, month, 10, 9, tzinfo=UTC) for month in (1, 3, 6))
HOME = {"keywords": ["home"]}
BERLIN = ("I live in Berlin", "The user lives in Berlin.")
MUNICH = ("I moved to Munich", "The user moved to Munich.")


async def learn(world, said, text, at=NOW, relations=None, user="alice", **more):
    """The user says it, the model notes it."""
    await world.say(said, at=at, user=user)
    chat = answering(noted(fact(text, said, **more)), relations=relations)
    return await world.consolidate(chat=chat, user=user)


async def visible(world, as_of=None):
    """The observations that a question sees."""
    search = Search(world.scope(), tuple(terms("user lives moved Berlin Munich")), as_of=as_of)
    found = await world.store.search(search)
    derived = (await world.store.fetch("alice", list(found.handle))).derived
    seen = {memory.id: memory for group in derived.values() for memory in group}.values()
    return {m.text for m in seen if (as_of is None and m.current) or (as_of and known(m, as_of))}


def known(memory, as_of):
    return memory.said <= as_of and (memory.closed_said is None or memory.closed_said > as_of)


async def test_the_same_words_are_one_fact_with_two_sources_and_no_call(world):
    await learn(world, "I like green tea", "The user likes green tea.", at=JANUARY)
    report = await learn(world, "Yes, I like green tea", "The user likes  GREEN tea", at=JUNE)
    (memory,) = await world.memories()
    assert (report.new, report.merged, report.calls) == (0, 1, 1)
    assert memory.sources == ("t1", "t2")
    assert memory.said == JANUARY
    history = await world.store.history("alice", memory.id)
    assert [version.sources for version in history] == [("t1",), ("t1", "t2")]


async def test_what_is_said_again_after_it_expired_is_a_fact_of_its_own(world):
    await learn(world, "I like green tea", "The user likes green tea.", at=JANUARY)
    (old,) = await world.memories()
    changes = ChangeSet(revised=(Revision(replace(old, expires=NOW), old.version),))
    await world.store.apply("alice", changes)
    report = await learn(world, "I like green tea, really", "The user likes green tea.")
    assert (report.new, report.merged) == (1, 0)


async def test_t20_the_whole_batch_is_looked_at(world):
    await world.say("I like tea", "I like tea, I said", "I like tea!")
    text = "The user likes tea."
    reply = noted(*(fact(text, (turn, "I like tea")) for turn in (1, 2, 3)), levels=[3, 3, 3])
    report = await world.consolidate(reply)
    assert (report.new, report.merged) == (1, 2)
    assert (await world.memories())[0].sources == ("t1", "t2", "t3")


async def test_said_a_hundred_times_the_sources_stay_few(world):
    for _ in range(12):
        await learn(world, "I like tea", "The user likes tea.")
    (memory,) = await world.memories()
    assert len(memory.sources) == 8


async def test_the_same_activity_on_two_days_is_two_facts(world):
    await learn(world, "I ran today", "The user ran.", at=JANUARY)
    report = await learn(world, "I ran today", "The user ran.", at=MARCH, relations={})
    assert (report.new, report.merged) == (1, 0)


async def test_t13_a_contradiction_leaves_one_current_and_the_other_for_the_past(world):
    await learn(world, *BERLIN, at=JANUARY, **HOME)
    report = await learn(world, *MUNICH, at=JUNE, relations={MUNICH[1]: "ends"}, **HOME)
    assert (report.superseded, report.calls) == (1, 1)
    assert await world.texts() == [MUNICH[1]]
    assert await visible(world, as_of=MARCH) == {BERLIN[1]}
    assert await visible(world, as_of=JUNE + timedelta(days=1)) == {MUNICH[1]}
    berlin, munich = sorted(await world.memories(current=False), key=lambda memory: memory.said)
    assert (berlin.superseded_by, berlin.valid_to, berlin.closed_said) == (munich.id, JUNE, JUNE)
    assert {memory.text for memory in await world.store.history("alice", berlin.id)} == {BERLIN[1], MUNICH[1]}


async def test_a_contradiction_within_one_batch(world):
    await world.say("I live in Berlin", "Sorry, I moved to Munich")
    facts = [fact(BERLIN[1], (1, BERLIN[0]), **HOME), fact(MUNICH[1], (2, MUNICH[0]), **HOME)]
    report = await world.consolidate(chat=answering(noted(*facts, levels=[3, 3]), relations={MUNICH[1]: "ends"}))
    assert (report.new, report.superseded) == (2, 1)
    assert await world.texts() == [MUNICH[1]]


async def test_of_two_dated_past_events_the_earlier_never_ends_the_later(world):
    await learn(world, "I live in Berlin since May 2024", BERLIN[1], at=JUNE, when="2024-05", **HOME)
    said = "In 2019 I moved to Munich"
    await learn(world, said, MUNICH[1], at=JUNE, when="2019", relations={MUNICH[1]: "ends"}, **HOME)
    berlin, munich = await world.memories()
    assert (berlin.valid_to, munich.valid_to) == (None, datetime(2020, 1, 1, tzinfo=UTC))


async def test_t24_an_old_conversation_imported_today_supersedes_nothing_newer(world):
    await learn(world, *BERLIN, at=JUNE, **HOME)
    await learn(world, *MUNICH, at=JANUARY, relations={MUNICH[1]: "ends"}, **HOME)
    assert await world.texts() == [BERLIN[1]]
    assert await visible(world, as_of=MARCH) == {MUNICH[1]}


async def test_t14_what_is_said_of_another_never_ends_a_fact(world):
    await learn(world, *BERLIN, at=JANUARY, **HOME)
    text = "Anna lives in Munich."
    told = {"about": "Anna", "relations": {text: "ends"}}
    report = await learn(world, "Anna lives in Munich", text, at=JUNE, **told, **HOME)
    assert (report.superseded, report.calls) == (0, 1)
    assert await world.texts() == [BERLIN[1], text]


async def test_t14_an_unrelated_fact_about_the_same_person_ends_nothing(world):
    await learn(world, *BERLIN, at=JANUARY, **HOME)
    report = await learn(world, "I like rye bread", "The user likes rye bread.", at=JUNE)
    assert (report.superseded, report.calls) == (0, 1)


async def test_a_refined_fact_rests_on_both_turns_and_nothing_has_ended(world):
    await learn(world, "I have a dog", "The user has a dog.", at=JANUARY)
    text = "The user has a dog named Max."
    report = await learn(world, "My dog is named Max", text, at=JUNE, relations={text: "refines"})
    assert report.superseded == 1
    (memory,) = await world.memories()
    assert (memory.text, set(memory.sources)) == (text, {"t1", "t2"})
    old = next(memory for memory in await world.memories(current=False) if memory.text == "The user has a dog.")
    assert (old.superseded_by, old.valid_to) == (memory.id, None)


async def test_repeats_are_merged_on_the_models_word(world):
    await learn(world, "I have a dog", "The user has a dog.")
    text = "There is a dog at the user's home."
    report = await learn(world, "There is a dog in my home", text, relations={text: "repeats"})
    assert (report.new, report.merged) == (0, 1)


def shown(world, call=-1):
    """The texts of the known facts that a prompt shows."""
    return [one["text"] for one in data(world.chat.prompts[call]).get("known", ())]


async def test_one_call_shows_24_known_facts_the_nearest_first(world):
    said = [f"I keep {n} cups of the colour number {n}" for n in range(26)]
    await world.say(*said, "I live in Berlin", "I have a cat named Ada")
    facts = [fact(text.replace("I ", "The user ") + ".", (n, text)) for n, text in enumerate(said, 1)]
    facts += [fact(BERLIN[1], (27, BERLIN[0])), fact("The user has a cat named Ada.", (28, "I have a cat named Ada"))]
    world.settings["batch_turns"] = 28
    await world.consolidate(noted(*facts, levels=[3] * 28))
    assert shown(world) == []
    await world.say("My cat Ada sleeps", "I left Berlin")
    report = await world.consolidate(noted(levels=[0, 0]))
    assert report.calls == 1
    assert len(shown(world)) == 24
    assert set(shown(world)[:2]) == {BERLIN[1], "The user has a cat named Ada."}


async def test_the_fourth_nearest_fact_is_ended_too(world):
    searching = [f"I am still looking for a place for studio {name}" for name in ("A", "B", "C", "D")]
    await world.say(*searching, at=JUNE)
    olds = [text.replace("I am", "The user is") + "." for text in searching]
    await world.consolidate(noted(*(fact(old, (n, searching[n - 1])) for n, old in enumerate(olds, 1)), levels=[3] * 4))
    await world.say("Studio D opened yesterday")
    text = "The user opened studio D yesterday."

    def reply(messages):
        among = [one["text"] for one in data(messages)["known"]]
        told = told_of(1 + among.index(olds[3]), olds[3], "ends")
        return noted(fact(text, "Studio D opened yesterday", known=[told]))

    await world.consolidate(reply)
    assert await world.texts() == [*olds[:3], text]


WRONG = [
    # k of the known fact, the words copied from it
    (2, "lives in Berlin"),
    (1, "lives in Rome"),
    (1, "The user"),
    (1, ""),
    (-1, "lives in Berlin"),
]


@pytest.mark.parametrize(("k", "words"), WRONG)
async def test_a_relation_needs_words_of_the_fact_that_its_number_means(world, k, words):
    await learn(world, *BERLIN, at=JANUARY, **HOME)
    told = {"k": k, "words": words, "relation": "ends", "rest": ""}
    report = await learn(world, *MUNICH, at=JUNE, known=[told], **HOME)
    assert (report.superseded, dict(report.rejected)) == (0, {"wrong_known": 1})
    assert await world.texts() == [BERLIN[1], MUNICH[1]]


async def test_a_fact_may_end_several_and_three_at_most_in_one_answer(world):
    said = [f"I train on day {n} at the Blue Gym" for n in range(5)]
    await world.say(*said, at=JANUARY)
    facts = [fact(text.replace("I train", "The user trains") + ".", (n, text)) for n, text in enumerate(said, 1)]
    await world.consolidate(noted(*facts, levels=[3] * 5))
    text = "The user no longer trains at the Blue Gym."
    report = await learn(world, "I left the Blue Gym, I no longer train", text, at=JUNE, relations={text: "ends"})
    assert (report.superseded, len(await world.texts())) == (3, 3)


async def test_facts_of_one_message_stand_side_by_side(world):
    await world.say("I lived in Berlin, now it's Munich")
    facts = [fact(BERLIN[1], "I lived in Berlin"), fact(MUNICH[1], "now it's Munich")]
    report = await world.consolidate(chat=answering(noted(*facts), relations={MUNICH[1]: "ends"}))
    assert (report.new, report.superseded) == (2, 0)


async def test_a_batch_that_was_half_read_before_relations_were_told_is_finished(world):
    """A change set that 0.2's predecessors saved between two calls has levels and no relations."""
    key, _ = await world.say(BERLIN[0], "I like rye bread")
    saved = ChangeSet(
        (observation("o1", key, text=BERLIN[1], quotes=(Quote(key, BERLIN[0]),)),),
        report={"actions": [], "rejected": {}, UNFINISHED: {"read": {key: 16}, "levels": {key: 3}, "left": []}},
    )
    (claim,) = await world.store.claim("consolidate", 10, 60.0)
    await world.store.save_reply(claim, saved)
    await world.store.give_back(claim)
    report = await world.consolidate(noted(fact("The user likes rye bread.", (2, "I like rye bread")), levels={2: 3}))
    assert (report.done, report.pending) == (2, 0)
    assert await world.texts() == [BERLIN[1], "The user likes rye bread."]


async def test_t18_nothing_is_compared_with_what_another_user_said(world):
    await learn(world, *BERLIN, user="bob", **HOME)
    report = await learn(world, *BERLIN, **HOME)
    assert (report.new, report.merged, report.calls) == (1, 0, 1)


async def test_nor_with_what_another_agent_was_told(world):
    await world.say(BERLIN[0], agent="doctor")
    await world.consolidate(noted(fact(BERLIN[1], BERLIN[0])))
    await world.say(BERLIN[0], agent="friend")
    assert (await world.consolidate(noted(fact(BERLIN[1], BERLIN[0])))).new == 1


async def test_reconcile_can_be_dropped(world):
    await learn(world, *BERLIN)
    await world.say(BERLIN[0])
    report = await world.consolidate(noted(fact(BERLIN[1], BERLIN[0])), steps=CONSOLIDATION_STEPS[:3])
    assert (report.new, report.merged) == (1, 0)


@pytest.mark.parametrize(
    "one, other",
    [
        ("The user likes tea.", "the user likes TEA"),
        ("In May the user moved to Berlin", "The user moved to Berlin in May."),
        ("用户喜欢喝绿茶。", "用户很喜欢喝绿茶"),
        ("Ｕｓｅｒ likes tea", "user likes tea"),
    ],
)
def test_the_same_in_other_words_without_weight(one, other):
    assert same(one, other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("The user likes tea.", "The user does not like tea."),
        ("The user has 2 cats.", "The user has 3 cats."),
        ("Anna likes Bob.", "Bob likes Anna."),
        ("The user lives in Berlin.", "The user lived in Berlin."),
        ("The user moved to Berlin.", "The user will move to Berlin."),
        ("用户喜欢茶。", "用户不喜欢茶。"),
        ("用户有两只猫。", "用户有三只猫。"),
    ],
)
def test_small_words_make_another_fact(one, other):
    assert not same(one, other)


def test_closeness_is_by_content_not_by_who_it_is_about():
    assert closeness("The user has a dog.", "The user has a dog named Max.") >= MIN_SIMILARITY
    assert closeness("The user has a dog.", "The user speaks French.") < MIN_SIMILARITY
    assert closeness("Caroline paints.", "Caroline runs.", without="Caroline") == 0
    assert closeness("用户住在北京。", "用户从北京搬到上海。") >= MIN_SIMILARITY
    assert closeness("用户住在北京。", "用户喜欢下棋。") < MIN_SIMILARITY


async def test_a_turn_is_marked_where_it_was_contradicted_and_not_where_it_was_refined(world):
    dog = {"keywords": ["pets"]}
    await learn(world, "I have a dog", "The user has a dog.", at=JANUARY, **dog)
    text = "The user has a dog named Max."
    await learn(world, "My dog is named Max", text, at=MARCH, relations={text: "refines"}, **dog)
    await learn(world, *BERLIN, at=JANUARY, **HOME)
    await learn(world, *MUNICH, at=JUNE, relations={MUNICH[1]: "ends"}, **HOME)
    memory = AsyncMemoryScope(world.store, settings={}, clock=world.clock)
    changed = {hit.turn.text: hit.changed for hit in await memory.retrieve("dog Berlin Munich live", user="alice")}
    assert changed["I have a dog"] is changed["My dog is named Max"] is None, "each as it was said"
    assert changed["I live in Berlin"] == JUNE


def test_a_fact_that_another_worker_stored_meanwhile_is_not_merged_into_itself():
    """A worker whose lease ran out still settles its batch, whose facts have the ids of those stored by the other one.

    Merged into itself, a fact would be its own heir, and ``latest`` would never end.
    """
    tea = observation("tea", "The user likes tea.")
    settlement = Settlement({tea.id: tea}, NOW)
    merge_known(settlement, [tea])
    assert settlement.fresh == {tea.id: tea} and not settlement.actions and not settlement.closed
