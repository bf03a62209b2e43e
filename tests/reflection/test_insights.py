"""An insight keeps every fact that was placed, everything that was known, and one heading."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memscope.errors import ModelUnavailable
from memscope.records import ChangeSet, Insight, Observation, Revision, Scope, Supersession
from memscope.reflection.update import nearest_in_turn
from memscope_testing.models import data
from reflecting import BERLIN, FLAT, HOME, JANUARY, JUNE, MUNICH, Placing, insights, know, reflected

from workbench import NOW


async def test_an_insight_keeps_every_fact_that_was_ever_placed_under_it(world):
    def brief(messages):
        reply = Placing({"boats": ["boat"]})(messages)
        reply["insights"][0]["value"] = f"The user has {len(ids)} boats."
        return reply

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


async def test_a_value_that_comes_back_with_its_heading_has_one(world):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    await know(world, MUNICH)

    def with_headings(messages):
        reply = Placing(HOME)(messages)
        reply["insights"][0]["value"] = "living situation: Living situation: The user lives in Munich."
        return reply

    await reflected(world, with_headings)
    assert data(world.chat.prompts[0])["insights"][0]["value"] == f"{BERLIN} {FLAT}"
    assert [one.text for one in await insights(world)] == ["living situation: The user lives in Munich."]


async def test_a_repeat_that_was_merged_is_not_shown_as_over(world):
    (old, _) = await know(world, BERLIN, FLAT, said=JANUARY)
    await reflected(world, Placing(HOME))
    (more,) = await know(world, "The user lives in Berlin by the river.", said=JUNE)
    await world.store.apply("alice", ChangeSet(closed=(Supersession(old, more, NOW, JUNE),)))
    await reflected(world, Placing(HOME))
    assert "over" not in data(world.chat.prompts[0])["insights"][0]
    (insight,) = await insights(world)
    assert more in insight.sources
    assert old not in insight.sources


async def test_facts_that_say_nothing_new_are_added_to_the_insight_as_it_is(world):
    first = await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    (before,) = await insights(world)
    (again,) = await know(world, "In Berlin the user has a flat.")

    def nothing_new(messages):
        return {"insights": [{"insight": 1, "subject": "", "value": "", "facts": [1]}], "alone": [], "relations": []}

    report = await reflected(world, nothing_new)
    (after,) = await insights(world)
    assert (report.new, after.id, after.text) == (0, before.id, before.text)
    assert after.sources == (*first, again)


async def test_a_value_in_another_language_loses_no_placement(world):
    ids = await know(world, "用户住在北京。", "用户和阿波合租。")

    def english(messages):
        one = {"insight": 0, "subject": "居住情况", "value": "The user lives in Beijing with Bo.", "facts": [1, 2]}
        return {"insights": [one], "alone": [], "relations": []}

    report = await reflected(world, english)
    (insight,) = await insights(world)
    assert (dict(report.rejected), report.pending, insight.sources) == ({"translated": 1}, 0, tuple(ids))
    assert insight.text == "居住情况：用户住在北京。 用户和阿波合租。"


async def test_a_new_subject_in_another_language_leaves_its_facts_to_be_asked_again(world):
    await know(world, "用户住在北京。", "用户和阿波合租。", "用户今天很累。")
    one = {"insight": 0, "subject": "living situation", "value": "The user lives in Beijing.", "facts": [1, 2]}
    report = await reflected(world, lambda messages: {"insights": [one], "alone": [3], "relations": []})
    assert (report.done, report.pending, await insights(world)) == (1, 2, [])


@pytest.mark.parametrize(
    "text, subject", [("The user's name is Maya.", "basics"), ("Anna was born in 1990.", "Anna's basics"),
                      ("用户名叫陈美。", "基本情况")]
)  # fmt: skip
async def test_a_lone_lasting_fact_founds_the_basics(world, text, subject):
    (id,) = await know(world, text)
    one = {"insight": 0, "subject": subject, "value": text, "facts": [1]}
    report = await reflected(world, lambda messages: {"insights": [one], "alone": [], "relations": []})
    (insight,) = await insights(world)
    assert (report.calls, insight.subject, insight.sources) == (1, subject, (id,))


async def test_any_other_subject_needs_two_facts(world):
    await know(world, BERLIN)
    report = await reflected(world, Placing(HOME))
    assert (report.new, report.pending) == (0, 0)


# ---- too long


LONG = {"boats": ["boat"]}


def sail_or_oar(messages):
    """Places all under one long value, and divides it by sails and oars."""
    shown = data(messages)
    if "insights" in shown:
        reply = Placing(LONG)(messages)
        reply["insights"][0]["value"] = "The user has a boat. " * 60
        return reply
    facts = {side: [one["n"] for one in shown["facts"] if side in one["text"]] for side in ("sail", "oar")}
    return {
        "insights": [
            {"subject": f"boats with {side}s", "value": f"The user has boats with a {side}.", "facts": own[1:]}
            for side, own in facts.items()
        ]
    }


async def test_an_insight_that_is_too_long_is_split_and_keeps_every_fact(world):
    ids = await know(world, *(f"The user has boat {n} with a {side}." for n in range(4) for side in ("sail", "oar")))
    report = await reflected(world, sail_or_oar)
    made = {one.subject: one for one in await insights(world)}
    assert (report.calls, report.pending, set(made)) == (2, 0, {"boats with sails", "boats with oars"})
    assert set(made["boats with sails"].sources) == set(ids[::2])
    assert set(made["boats with oars"].sources) == set(ids[1::2])


async def test_a_split_takes_the_place_of_the_insight_that_was(world):
    await know(world, "The user has a boat with a sail.", "The user has a boat with an oar.")
    await reflected(world, Placing(LONG))
    await know(world, "The user has a second boat with a sail.")
    report = await reflected(world, sail_or_oar)
    current = await insights(world)
    assert (report.new, report.superseded, len(current)) == (2, 1, 2)
    assert sum(len(one.sources) for one in current) == 3


async def test_an_insight_whose_split_fails_stays_long_and_whole(world):
    ids = await know(world, "The user has a boat with a sail.", "The user has a boat with an oar.")

    def no_split(messages):
        return sail_or_oar(messages) if "insights" in data(messages) else ModelUnavailable("down")

    report = await reflected(world, no_split)
    (insight,) = await insights(world)
    assert (report.pending, dict(report.errors), insight.sources) == (0, {"model_unavailable": 1}, tuple(ids))
    assert len(insight.text) > 1_000


async def test_what_a_person_changes_meanwhile_is_not_overwritten(world):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    await know(world, MUNICH)

    async def slow(messages):
        (insight,) = await insights(world)
        mine = replace(insight, text="living situation: mine", recorded=NOW + timedelta(hours=1))
        await world.store.apply("alice", ChangeSet(revised=(Revision(mine, insight.version),)))
        return {"insights": [{"insight": 1, "subject": "", "value": "", "facts": [1]}], "alone": [], "relations": []}

    await reflected(world, slow)
    assert [one.text for one in await insights(world)] == ["living situation: mine"]


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
    assert "needed" in [one.id for one in nearest_in_turn(known, facts)[:2]]
