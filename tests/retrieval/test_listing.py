"""Questions for all of a class, and how many lines answer them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.records import Observation, Scope, Turn
from memscope.retrieval.listing import ASKING, asks_for_all
from memscope.testing.models import IdealChat
from memscope.text.terms import packed_terms, terms
from memscope.text.units import COLUMNS, PACKED, Unit, make_units


@pytest.mark.parametrize(
    "question",
    [
        "Which museums have we been to?", "what cakes did I bake this winter", "Who all is coming to the picnic?",
        "List the plants on my balcony", "How many languages do I speak?", "What children's songs does Ida know?",
        "What are my neighbours called?", "Tell me everything I lent to Tom", "What have I paid so far?",
        "我都去过哪些博物馆？", "这个冬天我烤了哪几种蛋糕", "把我借给小汤的东西列一下", "野餐都有谁来？",
        "我養過的植物有哪些",
    ],
)  # fmt: skip
def test_a_question_for_all_of_a_class(question):
    assert asks_for_all(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which museum did we go to on Sunday?", "What is my boss's name?", "What was his address?", "Where do I live?",
        "What time does the class begin?", "Do I take the bus every day?", "When is Ida's birthday?",
        "我星期天去了哪个博物馆？", "我老板叫什么名字？", "我每天坐几路车？", "伊达生日是哪天？",
    ],
)  # fmt: skip
def test_a_question_for_one(question):
    assert not asks_for_all(question)


def test_a_pasted_text_asks_for_nothing():
    assert not asks_for_all("Where do I live? " + "x " * ASKING + "everyone " + "x " * ASKING)


@pytest.mark.parametrize(
    ("one", "all_of", "said"),
    [
        ("Which museum have we been to?", "Which museums have we been to?", "We went to the museum of {}."),
        ("我们去过哪个博物馆？", "我们去过哪些博物馆？", "我们去了{}博物馆。"),
    ],
)
async def test_all_of_a_class_is_shown_within_the_same_tokens(one: str, all_of: str, said: str) -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        for number in range(40):
            await memory.add_turns([{"role": "user", "content": said.format(number)}], user="u")
        shown = [len((await memory.context(question, user="u", k=4)).splitlines()) for question in (one, all_of)]
        assert shown == [4, 8]
        few = await memory.context(all_of, user="u", k=4, tokens=60)
        assert 1 <= len(few.splitlines()) < 6


@pytest.mark.parametrize(("question", "value"), [("What songs does Ann sing?", 3), ("Which song does Ann sing?", 1)])
async def test_of_two_people_the_one_named_tells_all_of_a_class(question: str, value: float) -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        said = [("Ann", "I sing the old song."), ("Ben", "Ann sings all songs well."), ("Ann", "And a new song.")]
        await memory.add_turns([{"role": "person", "speaker": who, "content": text} for who, text in said], user="u")
        hit = next(one for one in await memory.retrieve(question, user="u") if one.turn and one.turn.speaker == "Ann")
        assert {one.name: one.value for one in hit.features}["speaker"] == value


@pytest.mark.parametrize(
    ("said", "fact", "keyword", "question"),
    [
        ("how warm must a gecko's spot be?", "The user has a gecko.", "pets", "Do we have a gecko?"),
        ("The gecko's spot must be warm", "The user has a gecko.", "pets", "Which pets do we have?"),
        ("壁虎的灯要多热？", "用户养了一只壁虎。", "宠物", "家里的宠物有哪些？"),
    ],
)
async def test_a_fact_is_found_by_its_keywords_and_on_a_mere_question(
    said: str, fact: str, keyword: str, question: str
) -> None:
    turns = [{"role": "user", "content": said}, *({"role": "user", "content": f"{n} {said[:3]}"} for n in range(40))]
    noted = {"turns": [0], "text": fact, "about": "user", "when": "", "level": 2, "keywords": [keyword], "quote": said}
    told = [{"text": turn["content"]} for turn in turns]
    async with AsyncMemoryScope(":memory:", chat=IdealChat(told, [noted], [])) as memory:
        await memory.add_turns(turns, user="u")
        await memory.consolidate(user="u")
        assert (await memory.retrieve(question, user="u", k=1)).hits[0].text == fact


def test_keywords_count_once_and_tell_nothing_of_the_user() -> None:
    def unit(**more: Any) -> Unit:
        at, text, where = datetime(2026, 5, 4, tzinfo=UTC), "Kim has a gecko.", Scope("u")
        turn = Turn(key="t", scope=where, role="user", speaker="user", text=text, time=at, recorded=at)
        fact = Observation(id="o", scope=where, text=text, sources=("t",), said=at, recorded=at, about="Kim", **more)
        return make_units(fact, number=1, seq=0, turns=[(0, turn)])[0]

    plain, named = unit(), unit(keywords=("pets", "gecko", "Pets"))
    assert named.terms == plain.terms + packed_terms(terms("pets"))
    flags = [dict(zip((name for name, _ in COLUMNS), PACKED.unpack(one.columns), strict=True))["flags"]
             for one in (plain, named)]  # fmt: skip
    assert flags[0] == flags[1]
