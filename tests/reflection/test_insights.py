"""An insight keeps every fact that was placed, everything that was known, and one heading."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.records import ChangeSet, Insight, Observation, Revision, Scope, Sentence, Supersession
from memscope.reflection.batch import TopicBatch
from memscope.reflection.known_insights import shown
from memscope_testing.models import data
from reflecting import BERLIN, FLAT, HOME, JANUARY, JUNE, MUNICH, Placing, answer, insights, know, reflected, told

from workbench import NOW


async def test_an_insight_keeps_every_fact_that_was_ever_placed_under_it(world):
    def brief(messages):
        shown = data(messages)
        old = [n for one in shown["insights"] for n, _ in one.get("sentences", ())]
        facts = [one["n"] for one in (*shown["facts"], *shown["earlier"])]
        boats = f"The user has many boats, the last are number {len(ids)}."
        return answer(told(boats, *facts, insight=len(shown["insights"]), subject="boats", replaces=old))

    ids = []
    for year in range(3):
        ids += await know(world, *(f"The user bought boat {year}-{n}." for n in range(19)))
        await reflected(world, brief)
    (insight,) = await insights(world)
    assert set(insight.sources) == set(ids)


async def test_an_earlier_fact_joins_a_subject_that_is_there(world):
    await know(world, BERLIN, FLAT)
    (alone,) = await know(world, "The user has a balcony with a view of Berlin's river.")
    await reflected(world, Placing({"living situation": [BERLIN, "flat"]}))
    await know(world, "The user's flat in Berlin has a balcony.")
    await reflected(world, Placing(HOME))
    (insight,) = await insights(world)
    assert alone in insight.sources


async def test_a_sentence_that_comes_with_its_heading_loses_it(world):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    await know(world, MUNICH)

    def with_headings(messages):
        return answer(told("living situation: Living situation: The user lives in Munich.", 1))

    await reflected(world, with_headings)
    assert data(world.chat.prompts[0])["insights"][0]["sentences"] == [[1, BERLIN], [2, FLAT]]
    text = f"living situation: {BERLIN} {FLAT} The user lives in Munich."
    assert [one.text for one in await insights(world)] == [text]


async def test_a_repeat_that_was_merged_is_not_shown_as_over(world):
    (old, _) = await know(world, BERLIN, FLAT, said=JANUARY)
    await reflected(world, Placing(HOME))
    (more,) = await know(world, "The user lives in Berlin by the river.", said=JUNE)
    await world.store.apply("alice", ChangeSet(closed=(Supersession(old, more, NOW, JUNE),)))
    await reflected(world, Placing(HOME))
    assert data(world.chat.prompts[0])["earlier"] == []
    (insight,) = await insights(world)
    assert more in insight.sources
    assert old not in insight.sources


async def test_facts_that_say_nothing_new_are_added_to_the_insight_as_it_is(world):
    first = await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    (before,) = await insights(world)
    (again,) = await know(world, "In Berlin the user has a flat.")

    report = await reflected(world, lambda messages: answer(told("", 1)))
    (after,) = await insights(world)
    assert (report.new, after.id, after.text) == (0, before.id, before.text)
    assert after.sources == (*first, again)


async def test_a_value_in_another_language_loses_no_placement(world):
    ids = await know(world, "用户住在北京。", "用户和阿波合租。")

    english = told("The user lives in Beijing with Bo.", 1, 2, insight=0, subject="居住情况")
    report = await reflected(world, lambda messages: answer(english))
    (insight,) = await insights(world)
    assert (dict(report.rejected), report.pending, insight.sources) == ({"translated": 1}, 0, tuple(ids))
    assert insight.text == "居住情况：用户住在北京。用户和阿波合租。"


async def test_a_new_subject_in_another_language_leaves_its_facts_to_be_asked_again(world):
    await know(world, "用户住在北京。", "用户和阿波合租。", "用户今天很累。")
    one = told("The user lives in Beijing.", 1, 2, insight=0, subject="living situation")
    report = await reflected(world, lambda messages: answer(one, alone=[3]))
    assert (report.done, report.pending, await insights(world)) == (1, 2, [])


@pytest.mark.parametrize(
    "text, subject", [("The user's name is Maya.", "basics"), ("Anna was born in 1990.", "Anna's basics"),
                      ("用户名叫陈美。", "基本情况")]
)  # fmt: skip
async def test_a_lone_lasting_fact_founds_the_basics(world, text, subject):
    (id,) = await know(world, text)
    report = await reflected(world, lambda messages: answer(told(text, 1, insight=0, subject=subject)))
    (insight,) = await insights(world)
    assert (report.calls, insight.subject, insight.sources) == (1, subject, (id,))


async def test_any_other_subject_needs_two_facts(world):
    await know(world, BERLIN)
    report = await reflected(world, Placing(HOME))
    assert (report.new, report.pending) == (0, 0)


# ---- too long


async def test_the_oldest_sentences_of_an_insight_that_is_too_long_become_one_of_their_own(world):
    ids = [
        *await know(
            world, *(f"The user's boat number {n} lies in the harbour of Genoa." for n in range(20)), said=JANUARY
        ),
        *await know(world, *(f"The user's boat number {n} was sold in Genoa." for n in range(20, 40)), said=JUNE),
    ]
    report = await reflected(world, Placing({"boats": ["boat"]}))
    parts = await insights(world)
    assert (report.pending, {one.subject for one in parts}) == (0, {"boats", "boats (2026-01-10 – 2026-01-10)"})
    sentences = [one for insight in parts for one in insight.sentences]
    assert sorted(id for one in sentences for id in one.sources) == sorted(ids)
    assert max(len(one.text) for one in parts) < 1_600
    assert [len(one.text) > 1_300 for one in parts if one.subject == "boats"] == [True]


async def test_the_model_parts_a_long_subject_by_numbers(world):
    await know(world, *(f"The user's boat number {n} has a sail made in Genoa by Rossi." for n in range(8)))
    await know(world, *(f"The user's boat number {n} has an oar made in Turin by Bianchi." for n in range(8)))
    await reflected(world, Placing({"boats": ["boat"]}))
    (before,) = await insights(world)
    await know(world, "The user's boat has an oar.")

    def part(messages):
        (shown,) = data(messages)["insights"]
        assert shown["long"]
        oars = [number for number, text in shown["sentences"] if "oar" in text]
        return answer(told("", insight=0, subject="oars", replaces=oars), alone=[1])

    report = await reflected(world, part)
    made = {one.subject: [sentence.text for sentence in one.sentences] for one in await insights(world)}
    assert (report.calls, set(made)) == (1, {"boats", "oars"})
    assert len(made["oars"]) == 8 and all("oar" in text for text in made["oars"])
    assert sorted(made["boats"] + made["oars"]) == sorted(one.text for one in before.sentences)


async def test_what_a_person_changes_meanwhile_is_not_overwritten(world):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    await know(world, "Berlin is where the user lives.")

    async def slow(messages):
        (insight,) = await insights(world)
        mine = replace(insight, text="living situation: mine", recorded=NOW + timedelta(hours=1))
        await world.store.apply("alice", ChangeSet(revised=(Revision(mine, insight.version),)))
        return answer(told("", 1))

    await reflected(world, slow)
    assert [one.text for one in await insights(world)] == ["living situation: mine"]


async def test_what_a_person_states_meanwhile_stays_and_what_it_superseded_does_not_come_back(world):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    await know(world, "Berlin is where the user lives.")
    (before,) = await insights(world)

    async def slow(messages):
        memory = AsyncMemoryScope(world.store, settings={}, clock=world.clock)
        await memory.add_memory("On a boat now.", user="alice", kind="insight", subject="living situation")
        return answer(told("The user lives there.", 1))

    await reflected(world, slow)
    (after,) = await insights(world)
    assert after.text == "living situation: On a boat now. The user lives there." and after.id != before.id
    assert "flat" in before.text and "flat" not in after.text


async def test_what_a_person_states_meanwhile_is_the_only_insight_on_its_subject(world):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    await know(world, "The user lives by the river.")

    async def slow(messages):
        memory = AsyncMemoryScope(world.store, settings={}, clock=world.clock)
        await memory.add_memory("On a boat now.", user="alice", kind="insight", subject="living situation")
        return answer(told("The user lives by the river.", 1, insight=1))

    await reflected(world, slow)
    (after,) = await insights(world)
    assert "On a boat now." in after.text and "flat" not in after.text


@pytest.mark.parametrize(
    ("insight", "crowd", "needy", "needed", "things"),
    [
        ("Caroline loves a {0} among Caroline's things", ("Caroline", "Caroline loves her things."),
         ("Melanie", "Melanie asked an agency."), "Melanie will adopt through an agency",
         "kiln easel racket canoe lute drum loom kite sled bike harp globe dome".split()),
        ("小红有一把{0}，小红很喜欢", ("小红", "小红很喜欢。"),
         ("小梅", "小梅问了收养机构。"), "小梅要通过机构收养孩子", [*"琴棋弓剑伞扇刀锁尺壶枪椅梳"]),
    ],
)  # fmt: skip
def test_the_insight_that_one_fact_needs_is_not_crowded_out_by_those_near_another(
    insight, crowd, needy, needed, things
):
    shared = {"scope": Scope("alice"), "said": NOW, "recorded": NOW}
    texts = {**{f"i{n:02}": insight.format(thing) for n, thing in enumerate(things)}, "needed": needed}
    known = [Insight(id=id, text=text, sources=("o",), subject=id, **shared) for id, text in texts.items()]
    facts = [Observation(id=about, text=text, sources=("t",), about=about, **shared) for about, text in (crowd, needy)]
    batch = TopicBatch("b", Scope("alice"), tuple(facts), tuple(known))
    assert "needed" in [one.id for one in shown(batch, NOW).insights[:2]]


BESIDE = [  # news, the subject that they belong to (its value, the fact behind that), another subject with its fact
    ("Ann's marathon training starts in May.", "Ann's marathon", "She wants to run under four hours.", "",
     "Ann's work", "Ann's new job starts in May."),
    ("安给陶艺班的碗上了釉。", "安的陶艺", "三月的花瓶送给了母亲，在李街的窑里烧的。", "", "安的厨房", "安的碗很旧。"),
    ("Ann's parrot Kiki pecked the postman.", "Ann's animals", "Two of them live with her now.",
     "Ann adopted the parrot Kiki.", "Ann's post", "Ann sent a postcard to the postman."),
    ("安的鹦鹉奇奇学会了吹口哨。", "安的动物", "现在一共有两只。", "安养了鹦鹉奇奇。", "安的课程", "安学会了跳舞。"),
]  # fmt: skip


@pytest.mark.parametrize(("news", "subject", "value", "fact", "other", "beside"), BESIDE)
def test_a_subject_is_near_by_its_heading_and_by_the_facts_under_it(news, subject, value, fact, other, beside):
    about = "Ann" if news.isascii() else "安"
    shared = {"scope": Scope("alice"), "said": NOW, "recorded": NOW}
    known = [
        Insight(id=name, text=f"{name}: {text}", sources=(name,), subject=name, **shared)
        for name, text in ((other, beside), (subject, value))
    ]
    new, *old = (
        Observation(id=id, text=text, sources=("t",), about=about, **shared)
        for id, text in (("new", news), (subject, fact), (other, beside))
    )
    sources = {one.id: one for one in old} if fact else {}
    view = shown(TopicBatch("b", Scope("alice"), (new,), tuple(known), sources), NOW)
    assert [one.subject for one in view.insights] == [subject, other]


@pytest.mark.parametrize(
    ("held", "used", "things"),
    [
        ("Ann has a {0}.", "Ann cleaned the {0}.",
         "kiln easel racket canoe lute drum loom kite sled bike harp globe dome lamp tent rope anvil oven".split()),
        ("安有一把{0}。", "安擦了那把{0}。", [*"琴棋弓剑伞扇刀锁尺壶枪椅梳镐铲锯锤秤"]),
    ],
)  # fmt: skip
def test_the_subjects_of_a_dozen_facts_are_all_shown_with_their_sentences(held, used, things):
    shared = {"scope": Scope("alice"), "said": NOW, "recorded": NOW, "about": "Ann" if held.isascii() else "安"}
    known = {thing: Observation(id=thing, text=held.format(thing), sources=("t",), **shared) for thing in things}
    del shared["about"]
    subjects = [
        Insight(id=id, text=f"{id}: {fact.text}", sources=(id,), subject=id, sentences=(Sentence(fact.text, (id,)),),
                **shared)
        for id, fact in known.items()
    ]  # fmt: skip
    news = [replace(known[thing], id=f"new {thing}", text=used.format(thing)) for thing in things[::-1][:12]]
    view = shown(TopicBatch("b", Scope("alice"), tuple(news), tuple(subjects), known), NOW)
    assert {one.id for one, _ in view.sentences} >= {*things[::-1][:12]}
