"""Insights are sentences: what a reply may add, merge, move and drop, and what it may not take away."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from memscope.reconciliation.insight_sentences import details, own_sentences
from memscope.records import ChangeSet, Insight, Revision, Scope, Sentence, Supersession
from memscope_testing.models import data
from reflecting import BERLIN, FLAT, HOME, JANUARY, JUNE, MUNICH, Placing, answer, insights, know, reflected, told

from workbench import NOW


def sentences(insight):
    return [(one.text, one.sources) for one in insight.sentences]


async def test_each_sentence_says_where_it_comes_from(world):
    one, other = await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    (insight,) = await insights(world)
    assert sentences(insight) == [(BERLIN, (one,)), (FLAT, (other,))]
    assert insight.sources == (one, other)


async def test_a_merged_sentence_has_the_sources_of_all(world):
    ids = await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    ids += await know(world, "The user's flat has a balcony.")
    whole = "The user shares a flat with a balcony in Berlin with Bo."
    report = await reflected(world, lambda messages: answer(told(whole, 1, replaces=[1, 2])))
    (insight,) = await insights(world)
    ((text, sources),) = sentences(insight)
    assert (text, set(sources), report.rejected) == (whole, set(ids), {})


@pytest.mark.parametrize(
    ("known", "news", "merged", "lost"),
    [
        ((BERLIN, FLAT), "The user's flat has a balcony.", "The user shares a Berlin flat that has a balcony.", FLAT),
        (("The user is 34.", BERLIN), "The user lives by the river.", "The user is past thirty.", "The user is 34."),
        (("用户34岁。", "用户住在北京。"), "用户住在河边。", "用户住在北京的河边。", "用户34岁。"),
        (("用户养了三只猫。", "用户住在北京。"), "用户的猫很老。", "用户养了老猫。", "用户养了三只猫。"),
    ],
)
async def test_a_sentence_whose_name_or_number_would_be_lost_stays(world, known, news, merged, lost):
    await know(world, *known)
    await reflected(world, Placing({"living situation": ["user"], "基本情况": ["用户"]}))
    await know(world, news)
    report = await reflected(world, lambda messages: answer(told(merged, 1, replaces=[1, 2])))
    (insight,) = await insights(world)
    assert report.rejected["would_lose"] >= 1
    assert {lost, merged} <= {one.text for one in insight.sentences}


@pytest.mark.parametrize(
    ("known", "subject", "invented", "name"),
    [
        ((BERLIN, FLAT), "living situation", "The user lives in Tokyo with Bo.", "Tokyo"),
        ((BERLIN, FLAT), "living situation", "The user lives in Berlin with Bo and Maria Lopez.", "Maria"),
        (("用户住在北京。", "用户和小芳合租。"), "居住情况", "用户和小芳一起住在上海。", "上海"),
    ],
)
async def test_a_sentence_with_a_name_that_was_not_shown_is_told_by_its_facts(world, known, subject, invented, name):
    await know(world, *known)
    report = await reflected(world, lambda messages: answer(told(invented, 1, 2, insight=0, subject=subject)))
    (insight,) = await insights(world)
    assert report.rejected == {"invented_name": 1} and name not in insight.text
    assert [one.text for one in insight.sentences] == [*known]


async def test_a_sentence_is_dropped_only_if_another_says_it(world):
    await know(world, "The user has a cat named Tim.", "The cat of the user is called Tim and sleeps a lot.", FLAT)
    await reflected(world, Placing({"home": ["user"]}))
    await know(world, "The user is tired.")
    drop = told("", replaces=[1, 3])
    report = await reflected(world, lambda messages: answer(drop, alone=[1]))
    (insight,) = await insights(world)
    assert (FLAT in insight.text, report.rejected) == (True, {"would_lose": 2})
    await know(world, "The user is wide awake.")
    longer = told("The user has a cat named Tim, which sleeps a lot.", replaces=[1, 2])
    report = await reflected(world, lambda messages: answer(longer, alone=[1]))
    (insight,) = await insights(world)
    assert [one.text for one in insight.sentences] == ["The user has a cat named Tim, which sleeps a lot.", FLAT]


@pytest.mark.parametrize(
    ("known", "again"),
    [
        (("The user is allergic to nuts.", FLAT), "The user is allergic to nuts!"),
        (("用户对花生过敏。", "用户住在北京。"), "用户对花生过敏"),
    ],
)  # fmt: skip
async def test_a_fact_that_a_sentence_says_is_attached_to_it(world, known, again):
    first = await know(world, *known)
    await reflected(world, Placing({"health": ["user"], "健康": ["用户"]}))
    (more,) = await know(world, again)
    await reflected(world, lambda messages: answer(told(again, 1)))
    (insight,) = await insights(world)
    assert sentences(insight) == [(known[0], (first[0], more)), (known[1], (first[1],))]


async def test_a_sentence_rests_on_those_too_that_it_fails_to_replace(world):
    """The new sentence may have their words, and is forgotten with them wherever it stands."""
    home, _ = await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    (news,) = await know(world, "The user's flat has a balcony.")
    report = await reflected(world, lambda messages: answer(told("The user lives on a balcony.", 1, replaces=[1])))
    (insight,) = await insights(world)
    assert report.rejected == {"would_lose": 1}
    assert sentences(insight)[-1] == ("The user lives on a balcony.", (news, home))


@pytest.mark.parametrize("text", ["The user lives in Berlin by the river.", ""])
async def test_one_of_two_equal_sentences_is_replaced_once(world, text):
    await know(world, BERLIN, FLAT)
    await reflected(world, Placing(HOME))
    (insight,) = await insights(world)
    twice = replace(insight, sentences=(insight.sentences[0], *insight.sentences))
    await world.store.apply("alice", ChangeSet(revised=(Revision(twice, insight.version),)))
    await know(world, "The user lives by the river.")
    entries = told("The user lives in Berlin by the river.", 1, replaces=[1]), told(text, replaces=[1, 2])
    report = await reflected(world, lambda messages: answer(*entries))
    assert (report.errors, report.pending) == ({}, 0)


async def test_a_sentence_follows_its_fact_through_several_merges(world):
    one, other, last = await know(world, BERLIN, "The user's home is Berlin.", "The user has a home in Berlin.")
    await reflected(world, Placing({"home": ["Berlin", "river"]}))
    merged = (Supersession(one, other, NOW, NOW), Supersession(other, last, NOW, NOW))
    await world.store.apply("alice", ChangeSet(closed=merged))
    await know(world, "The user lives by the river.")
    report = await reflected(world, Placing({"home": ["Berlin", "river"]}))
    (insight,) = await insights(world)
    assert (report.errors, report.pending) == ({}, 0)
    assert {one, other}.isdisjoint(id for sentence in insight.sentences for id in sentence.sources)


async def test_a_denial_is_no_repetition(world):
    await know(world, "The user eats meat.", FLAT)
    await reflected(world, Placing({"x": ["user"]}))
    await know(world, "The user eats no meat.")
    await reflected(world, lambda messages: answer(told("The user eats no meat.", 1)))
    (insight,) = await insights(world)
    assert insight.text.endswith("The user eats no meat.")


# ---- what is shown


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user spent a week in Paris in spring.", "The user is going to Rome on holiday."),
        ("Melanie has been married for five years.", "Melanie's wedding was in a small church."),
        ("The user plays the cello.", "The user joined an orchestra."),
        ("用户春天去巴黎旅游了一周。", "用户要去罗马度假。"),
        ("小梅结婚五年了。", "小梅的婚礼在教堂举行。"),
    ],
)
async def test_what_stood_alone_is_shown_again_beside_a_neighbour(world, first, second):
    about = next((name for name in ("Melanie", "小梅") if name in first), "user")
    (alone,) = await know(world, first, about=about)
    noise = [f"The user bought screw number {n} at the hardware store." for n in range(25)]
    await know(world, *noise)
    await reflected(world, lambda messages: answer(alone=range(1, 1 + len(data(messages)["facts"]))))
    await know(world, second, about=about)
    seen = []

    def founding(messages):
        shown = data(messages)
        seen.extend(one["text"] for one in shown["earlier"])
        number = next((one["n"] for one in shown["earlier"] if one["text"] == first), 0)
        return answer(told(f"{first} {second}", 1, number, insight=0, subject="x" if first.isascii() else "旅行"))

    await reflected(world, founding)
    assert first in seen
    (insight,) = await insights(world)
    assert alone in insight.sources


async def test_a_backlog_is_placed_in_the_order_of_saying(world):
    count = 50
    days = [JANUARY + timedelta(days=n) for n in range(count)]
    for n in random.Random(4).sample(range(count), count):
        await know(world, f"The user's boat sailed to island {n}.", said=days[n])
    known, late, placed = set(), [], []

    def alone(messages):
        shown = data(messages)
        late.extend(one["text"] for one in shown["earlier"] if one["text"] not in known)
        placed.extend(one["said"] for one in shown["facts"])
        known.update(one["text"] for one in shown["facts"])
        return answer(alone=[one["n"] for one in shown["facts"]])

    report = await reflected(world, alone)
    assert (report.pending, late, len(known)) == (0, [], count)
    assert placed == [f"{day:%Y-%m-%d}" for day in days]


async def test_what_has_ended_is_shown_with_its_day_and_today(world):
    (old, _) = await know(world, "The user rents a flat in Graz until summer.", FLAT, said=JANUARY)
    memory = (await world.store.fetch("alice", [old])).records[old]
    ends = replace(memory, valid_to=JUNE)
    await world.store.apply("alice", ChangeSet(revised=(Revision(ends, memory.version),)))
    world.clock.now = JANUARY + timedelta(days=1)
    both = [told(ends.text, 1, insight=0, subject="home"), told(FLAT, 2, insight=0, subject="home")]
    await reflected(world, lambda messages: answer(*both))
    world.clock.now = NOW
    await know(world, MUNICH)
    shown = []

    def ask(messages):
        shown.append(data(messages))
        return answer(told(MUNICH, 1))

    await reflected(world, ask)
    assert shown[0]["today"] == f"{NOW:%Y-%m-%d}"
    assert [(one["text"], one["until"]) for one in shown[0]["earlier"]] == [(ends.text, "2026-06-10")]
    (insight,) = await insights(world)
    assert [one.text for one in insight.sentences] == [FLAT, MUNICH]


# ---- insights of earlier versions


@pytest.mark.parametrize(
    ("texts", "subject", "colon", "space"),
    [((BERLIN, FLAT), "living situation", ": ", " "), (("用户住在北京。", "用户和阿波合租。"), "居住情况", "：", "")],
)
async def test_a_value_of_an_earlier_version_becomes_sentences(world, texts, subject, colon, space):
    ids = await know(world, *texts)
    old = Insight(
        id="old", scope=Scope("alice"), text=subject + colon + space.join(texts), sources=tuple(ids), said=NOW,
        recorded=NOW, subject=subject,
    )  # fmt: skip
    await world.store.apply("alice", ChangeSet(new=(old,), done=tuple(ids)))
    assert own_sentences(old) == tuple(Sentence(text, tuple(ids)) for text in texts)
    (new,) = await know(world, "The user's flat has a balcony." if colon == ": " else "用户的家有阳台。")
    news = []

    def add(messages):
        shown = data(messages)
        assert [text for _, text in shown["insights"][0]["sentences"]] == [*texts]
        news.append(shown["facts"][0]["text"])
        return answer(told(news[0], 1))

    await reflected(world, add)
    (insight,) = await insights(world)
    assert sentences(insight) == [(texts[0], (ids[0],)), (texts[1], (ids[1],)), (news[0], (new,))]
    assert insight.text == subject + colon + space.join((*texts, news[0]))


# ---- whatever a model replies


@pytest.mark.slow
async def test_no_reply_loses_a_name_or_a_number(world):
    """A model that answers at random: what is known stays known, and each sentence rests on facts of its insight."""
    chance = random.Random(7)
    names = "Anna Bo Carla Dimitri Elif Farid Greta Hugo Ines Jonas".split()
    known: set[str] = set()

    def wild(messages):
        shown = data(messages)
        numbers = [n for one in shown["insights"] for n, _ in one.get("sentences", ())]
        facts = [one["n"] for one in (*shown["facts"], *shown["earlier"])]
        entries = [
            told(
                chance.choice(["", "The user met people.", *(one["text"] for one in shown["facts"])]),
                *chance.sample(facts, chance.randint(0, min(3, len(facts)))),
                insight=chance.randint(0, len(shown["insights"])), subject=chance.choice(["people", "trips", "basics"]),
                replaces=chance.sample(numbers, min(len(numbers), chance.randint(0, 4))),
            )
            for _ in range(6)
        ]  # fmt: skip
        return answer(*entries, alone=[one["n"] for one in shown["facts"]])

    for year in range(25):
        await know(
            world, *(f"The user met {name} in {1990 + year} at lake {year * 7 + n}." for n, name in enumerate(names))
        )
        await reflected(world, wild)
        now = await insights(world)
        lost = known - {one for insight in now for sentence in insight.sentences for one in details(sentence.text)}
        assert not lost, (year, lost)
        known |= {one for insight in now for sentence in insight.sentences for one in details(sentence.text)}
        for insight in now:
            assert {id for one in insight.sentences for id in one.sources} <= set(insight.sources)
            assert all(one.sources for one in insight.sentences)
    assert len(known) > 60
