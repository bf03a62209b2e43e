"""Observations become insights: every one has a place, nothing is asked twice, what fails is tried again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope.errors import ModelReplyCut, ModelUnavailable
from memscope.records import (
    ChangeSet,
    Insight,
    Interval,
    Observation,
    Revision,
    Scope,
    Select,
    Supersession,
)
from memscope_testing.models import ScriptedChat, data
from reflecting import (
    BERLIN,
    FLAT,
    HOME,
    JANUARY,
    JUNE,
    MUNICH,
    Placing,
    answer,
    insights,
    know,
    reflect,
    reflected,
    told,
    unseen,
)

from workbench import NOW, answering, fact, noted

# ---- making and changing


async def test_a_fact_that_has_expired_is_in_no_insight_and_waits_no_longer(world):
    *_, id = await know(world, BERLIN, "The user's cat is grey.", FLAT)
    flat = (await world.store.fetch("alice", [id])).records[id]
    await world.store.apply("alice", ChangeSet(revised=(Revision(replace(flat, expires=NOW), flat.version),)))
    await reflected(world, Placing({**HOME, "pets": ["cat"]}))
    assert not any(FLAT in one.text for one in await insights(world))
    assert await unseen(world) == 0


async def test_facts_about_one_subject_become_an_insight_that_names_them(world):
    ids = await know(world, BERLIN, FLAT, "The user is tired today.")
    report = await reflected(world, Placing(HOME))
    (insight,) = await insights(world)
    assert (insight.subject, insight.sources) == ("living situation", tuple(ids[:2]))
    assert insight.text == f"living situation: {BERLIN} {FLAT}"
    assert (report.new, report.calls, report.done, report.pending) == (1, 1, 3, 0)


async def test_nulls_and_an_unknown_relation_cost_no_sentence(world):
    await know(world, BERLIN, FLAT)
    bad = {"older": 1, "newer": 2, "relation": "supersedes"}
    home = {"insight": None, "subject": "living situation", "text": None, "facts": [1, 2], "replaces": None}
    report = await reflected(world, [{"sentences": [home], "alone": [], "relations": [bad, {**bad, "older": None}]}])
    assert (report.new, report.pending, dict(report.errors)) == (1, 0, {})
    (insight,) = await insights(world)
    assert insight.text == f"living situation: {BERLIN} {FLAT}"


async def test_nothing_new_asks_nothing(world):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    report = await reflected(world, [])
    assert (report.calls, report.new, report.milliseconds < 10_000) == (0, 0, True)


async def test_only_what_an_observation_touches_is_told_anew(world):
    await know(world, BERLIN, FLAT, "The user likes tea.", "The user likes rye bread.")
    both = {**HOME, "food": ["tea", "bread"]}
    assert (await reflected(world, Placing(both))).calls == 1
    await know(world, MUNICH)
    report = await reflected(world, Placing(both))
    assert (report.calls, report.new, report.superseded) == (1, 1, 1)
    old = next(one for one in await insights(world, current=False) if one.closed)
    home = next(one for one in await insights(world) if one.subject == "living situation")
    assert old.superseded_by == home.id
    assert len(home.sources) == 3
    assert {one.id for one in await world.store.history("alice", home.id)} == {old.id, home.id}


async def test_a_second_fact_finds_the_first_that_stood_alone(world):
    (first,) = await know(world, BERLIN)
    report = await reflected(world, Placing(HOME))
    assert (report.new, report.calls, await unseen(world)) == (0, 1, 0)
    (second,) = await know(world, "The user's flat is in Berlin.")
    await reflected(world, Placing(HOME))
    assert {id for one in await insights(world) for id in one.sources} == {first, second}


async def test_a_name_that_is_there_is_the_subject_that_is_there(world):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    await know(world, MUNICH)

    def rename(messages):
        return answer(told("The user lives in Munich.", 1, insight=0, subject="Living  Situation"))

    await reflected(world, rename)
    assert [one.subject for one in await insights(world)] == ["living situation"]


async def test_the_language_of_the_facts_is_that_of_the_prompt(world):
    await know(world, "用户住在北京。", "用户和阿波合租。")
    await reflected(world, Placing({"居住情况": ["北京", "合租"]}))
    assert "主题" in world.chat.prompts[0][0]["content"]
    assert (await insights(world))[0].text == "居住情况：用户住在北京。用户和阿波合租。"


# ---- nothing is lost


async def test_defect_16_an_observation_that_the_reply_leaves_out_is_not_seen(world):
    await know(world, BERLIN, FLAT, "The user plays chess.")

    def forgetful(messages):
        reply = Placing(HOME)(messages)
        return {**reply, "alone": []}

    report = await reflected(world, forgetful)
    assert report.pending == 1
    assert (await reflected(world, Placing(HOME))).pending == 0


SEVEN = {name: [name] for name in ("tea", "chess", "boats", "cello", "Nora", "Rome", "bread")}


async def test_twenty_facts_of_seven_subjects_are_one_call_and_nothing_is_asked_again(world):
    names = [*SEVEN] * 3
    ids = await know(world, *(f"The user says something about {names[n]}, number {n}." for n in range(20)))
    report = await reflected(world, Placing(SEVEN))
    assert (report.calls, report.new, report.done, report.pending) == (1, 7, 20, 0)
    assert {id for one in await insights(world) for id in one.sources} == set(ids)


async def test_a_full_batch_sees_the_sentences_of_every_subject_that_its_facts_need(world):
    """More facts in a call need more insights: what is not shown with its sentences cannot be changed."""
    things = "piano chess tea garden boat camera bicycle violin tent kayak oven lamp desk kettle guitar".split()
    things += "mirror ladder quilt drum globe spade".split()
    subjects = {one: [one] for one in things}
    for text in ("The user owns a {}.", "The user cleaned the {} in spring."):
        await know(world, *(text.format(one) for one in things))
    await reflected(world, Placing(subjects))
    await know(
        world, *(f"The user's {one} is broken." for one in things), *(f"The {one} rattles." for one in things[:9])
    )
    shown = []

    def listening(messages):
        shown.append(data(messages))
        return Placing(subjects)(messages)

    report = await reflected(world, listening)
    assert (report.calls, report.pending) == (1, 0)
    assert {one["subject"] for one in shown[0]["insights"] if one.get("sentences")} == {*things}


async def test_a_reply_that_was_cut_halves_the_batch(world):
    ids = await know(world, *(f"The user says something about {name}, number {n}." for name in SEVEN for n in range(2)))

    def short_of_breath(messages):
        return Placing(SEVEN)(messages) if len(data(messages)["facts"]) <= 4 else ModelReplyCut("cut")

    report = await reflected(world, short_of_breath)
    assert report.pending == 0
    assert {id for one in await insights(world) for id in one.sources} == set(ids)


async def test_a_model_that_is_down_loses_nothing(world):
    await know(world, BERLIN, FLAT)
    report = await reflected(world, lambda messages: ModelUnavailable("down"))
    assert (report.done, report.pending, dict(report.errors)) == (0, 2, {"model_unavailable": 1})
    assert (await reflected(world, Placing(HOME))).new == 1


async def test_what_waits_for_either_stage_counts_once_and_so_do_its_errors(world):
    """A turn waits for its facts, a fact for its insight: no record waits for both."""
    await know(world, BERLIN, FLAT)
    await world.say("I like rye bread.", "I keep a boat.", "I play chess.")
    ctx = world.ctx(chat=ScriptedChat(lambda messages: ModelUnavailable("down")))
    for _ in range(2):  # the second time both stages rest after their failures, and nobody is asked
        report = await reflect(ctx)
        assert (report.operation, report.done, report.pending) == ("reflect", 0, 5)
        assert dict(report.errors) == {"model_unavailable": 2}
    assert report.calls == 0


@pytest.mark.parametrize(
    "reply",
    [
        answer(),
        answer(alone=[99, -1, 0]),
        answer(told("Out of nowhere.", insight=0, subject="x")),
        answer(told("Out of nowhere.", 1, 2, insight=7)),
        "no",
    ],
)
async def test_a_reply_that_places_nothing_is_refused(world, reply):
    await know(world, BERLIN, FLAT)
    report = await reflected(world, lambda messages: reply)
    assert await insights(world) == []
    assert (report.pending, dict(report.errors)) == (2, {"model_reply": 1})


async def test_numbers_that_were_not_given_are_counted(world):
    await know(world, BERLIN, FLAT)

    def wild(messages):
        reply = Placing(HOME)(messages)
        more = [told("x", 1, insight=9), told("x", 1, 2, insight=0, subject="n" * 81)]
        reply["sentences"][0]["facts"] += [77]
        reply["sentences"][0]["replaces"] += [55]
        return {**reply, "sentences": reply["sentences"] + more}

    report = await reflected(world, wild)
    assert dict(report.rejected) == {"unknown_number": 3, "too_long": 1}


# ---- bounds


async def test_defect_31_prompts_are_bounded_however_much_there_is(world):
    await know(world, *(f"The user bought boat number {n} and named it after a river in Bavaria." for n in range(60)))

    def all_of_them(messages):
        shown = data(messages)
        boats = [
            told(fact["text"], fact["n"], insight=len(shown["insights"]), subject="boats") for fact in shown["facts"]
        ]
        return answer(*boats)

    report = await reflected(world, all_of_them)
    assert report.pending == 0
    assert max(sum(len(m["content"]) for m in prompt) for prompt in world.chat.prompts) < 13_000


async def test_defect_17_fifty_insights_and_nothing_new_cost_nothing(world):
    await know(world, *(f"The user owns boat{n} here." for n in range(50)))
    facts = [memory for memory in await world.memories() if isinstance(memory, Observation)]
    known = tuple(
        Insight(
            id=f"i{n}",
            scope=Scope("alice"),
            text=f"boat{n}",
            sources=(one.id,),
            said=NOW,
            recorded=NOW,
            subject=f"b{n}",
        )
        for n, one in enumerate(facts)
    )
    await world.store.apply("alice", ChangeSet(new=known, done=tuple(one.id for one in facts)))
    assert (await reflected(world, [])).calls == 0


THINGS = (
    "piano garden chess sailing baking pottery archery yoga fishing knitting skiing painting cycling stars opera "
    "karate gliding poker ballet tennis"
).split()
UNSEEN = [
    ("en", "The user likes {} on weekends.", "The user owns gear for {}.", "{}", "The user won a silver cup.", ""),
    ("zh", "用户周末喜欢{}。", "用户有{}的装备。", "{}", "用户得了银杯。", "。"),
]


@pytest.mark.parametrize(("language", "one", "other", "subject", "news", "stop"), UNSEEN)
async def test_an_insight_whose_sentences_were_not_shown_keeps_them(world, language, one, other, subject, news, stop):
    things = THINGS if language == "en" else [*"琴棋书画茶花鱼鸟船车弓瓷山星鼓笛剑帆棒网"]
    subjects = {subject.format(thing): [thing] for thing in things}
    await know(world, *(text.format(thing) for thing in things for text in (one, other)))
    await reflected(world, Placing(subjects))
    assert len(await insights(world)) == len(things)
    (cup,) = await know(world, news)
    closed_ones = []

    def add(messages):
        shown = data(messages)
        closed_ones.append(next(known for known in shown["insights"] if "sentences" not in known))
        return answer(told(news, 1, insight=closed_ones[0]["n"]))

    await reflected(world, add)
    (insight,) = [one for one in await insights(world) if one.subject == closed_ones[0]["subject"]]
    old = [text.format(insight.subject) for text in (one, other)]
    assert [sentence.text for sentence in insight.sentences] == [*old, news]
    assert insight.text.partition("：" if stop else ": ")[2] == ("" if stop else " ").join([*old, news])
    assert insight.sources[-1] == cup and len(insight.sources) == 3


# ---- what is lost


async def test_an_insight_that_lost_a_fact_is_told_anew_whatever_the_model_places(world):
    (old, _) = await know(world, BERLIN, FLAT, said=JANUARY)
    await reflected(world, Placing(HOME))
    (new,) = await know(world, "The user left town.", said=JUNE)
    await world.store.apply("alice", ChangeSet(closed=(Supersession(old, new, NOW, JUNE, JUNE),)))

    def tell(messages):
        shown = data(messages)
        assert [(one["text"], one["until"]) for one in shown["earlier"]] == [(BERLIN, "2026-06-10")]
        return answer(told("The user has left Berlin; the user shares a flat with Bo.", replaces=[1, 2]), alone=[1])

    report = await reflected(world, tell)
    assert (report.calls, report.superseded) == (1, 1)
    assert (await insights(world))[0].text.endswith("shares a flat with Bo.")


async def test_a_forgotten_turn_takes_its_facts_and_the_insight_is_made_again_without_it(world):
    await know(world, BERLIN, FLAT, "The flat of the user has a balcony.")
    await reflected(world, Placing(HOME))
    await world.store.forget(Select("alice", ids=frozenset({"t1"})))
    assert await insights(world) == []
    await reflected(world, Placing(HOME))
    (insight,) = await insights(world)
    assert "Berlin" not in insight.text
    assert len(insight.sources) == 2


# ---- scopes, preview, the whole operation


async def test_agents_and_users_are_kept_apart(world):
    await know(world, BERLIN, FLAT, agent="doctor")
    await know(world, MUNICH, "The user's flat has a garden.", agent="friend")
    await know(world, "The user lives in Berlin too.", user="bob")
    await reflected(world, Placing(HOME))
    assert sorted((one.scope.agent, len(one.sources)) for one in await insights(world)) == [
        ("doctor", 2),
        ("friend", 2),
    ]
    assert all("too" not in prompt[1]["content"] for prompt in world.chat.prompts)


async def test_a_preview_writes_nothing(world):
    await know(world, BERLIN, FLAT)
    report = await reflected(world, Placing(HOME), preview=True)
    assert (report.new, report.done, report.pending) == (1, 0, 2)
    assert await insights(world) == []


async def test_reflect_consolidates_first_and_reports_both(world):
    await world.say("I live in Berlin", "I share a flat with Bo")
    facts = [fact(BERLIN, (1, "I live in Berlin")), fact(FLAT, (2, "I share a flat with Bo"))]
    placing = Placing(HOME)
    chat = answering(noted(*facts, levels=[3, 3]), placing)
    ctx = world.ctx(chat=chat)
    report = await reflect(ctx)
    assert (report.operation, report.new, report.calls, report.done, report.pending) == ("reflect", 3, 2, 4, 0)
    assert 8_000 < report.prompt_characters < 14_000


async def test_without_a_chat_model_nothing_is_lost(world):
    await know(world, BERLIN)
    await world.say("tea")
    ctx = replace(world.ctx(), chat=None)
    report = await reflect(ctx)
    assert (report.model, report.pending, dict(report.errors)) == ("none", 2, {})


async def test_when_a_fact_happened_is_told_to_the_model(world):
    await know(world, BERLIN, FLAT)
    memory = (await world.store.fetch("alice", ["o1"])).records["o1"]
    dated = replace(memory, happened=Interval(JANUARY, JANUARY + timedelta(days=1)))
    await world.store.apply("alice", ChangeSet(revised=(Revision(dated, 1),)))
    await reflected(world, Placing(HOME))
    told = {one["text"]: one.get("when") for one in data(world.chat.prompts[0])["facts"]}
    assert told == {BERLIN: "2026-01-10", FLAT: None}


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [((2026, 5, 1), (2026, 6, 1), "2026-05"), ((2026, 1, 1), (2027, 1, 1), "2026"),
     ((2026, 5, 7), (2026, 5, 8), "2026-05-07"), ((2026, 5, 7), (2026, 5, 10), "2026-05-07/2026-05-09")],
)  # fmt: skip
async def test_a_month_is_shown_to_the_model_as_a_month(world, start, end, shown):
    (id,) = await know(world, "The user sails to Malta.")
    (known,) = [one for one in await world.memories() if one.id == id]
    happened = Interval(datetime(*start, tzinfo=UTC), datetime(*end, tzinfo=UTC))
    await world.store.apply("alice", ChangeSet(revised=(Revision(replace(known, happened=happened), known.version),)))
    seen = []
    await reflected(world, lambda messages: seen.append(data(messages)["facts"][0]["when"]) or answer(alone=[1]))
    assert seen == [shown]
