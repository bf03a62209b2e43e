"""Questions for all of a class, and how many lines answer them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.languages.questions import QUESTION_EDGE_CHARS, asks_for_list
from memscope.records import Observation, Scope, Turn
from memscope.search.units import UNIT_COLUMNS, UNIT_STRUCT, Unit, make_units
from memscope.text.terms import packed_terms, terms
from memscope_testing.models import IdealChat


@pytest.mark.parametrize(
    "question",
    [
        "Which museums have we been to?", "what cakes did I bake this winter", "Who all is coming to the picnic?",
        "Who do I owe money to?", "What am I allergic to?", "Who came to my party?", "What do I still need to pack?",
        "Name the cities I visited.", "What does Kim do on weekends?",
        "List the plants on my balcony", "How many languages do I speak?", "What children's songs does Ida know?",
        "What books did Mila read?", "What cities I've lived in?", "How many hens do we have?",
        "so how many maps have I got",
        "What are my neighbours called?", "Tell me everything I lent to Tom", "What have I paid so far?",
        "What clients pay late?", "Which days work for Sam?", "Which allergies do the kids have?",
        "what plants need water",
        "我都去过哪些博物馆？", "这个冬天我烤了哪几种蛋糕", "把我借给小汤的东西列一下", "野餐都有谁来？",
        "我養過的植物有哪些", "Who is in my family?", "what books've I read", "Where've I been on holiday?",
        "Who has my books?", "Who has visited my mother?",
        "我看过啥书？", "我对什么过敏？", "谁来我家住过？", "我请谁吃过饭？",
    ],
)  # fmt: skip
def test_a_question_for_all_of_a_class(question):
    assert asks_for_list(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which museum did we go to on Sunday?", "What is my boss's name?", "What was his address?", "Where do I live?",
        "What do I do for a living?", "What does Kim do for work?", "What does Rob do?", "Who am I?",
        "Which year did things end with Renato?", "What makes Tom happy?", "What usually helps Anna sleep?",
        "What drives Jon?", "What scares Mila most?", "What reminds my aunt of home?", "What annoys me?",
        "What causes my headaches?", "Make a packing list for the trip", "Put together a shopping list",
        "Who has my ladder?", "who has got the spare key",
        "What time does the class begin?", "Do I take the bus every day?", "When is Ida's birthday?",
        "What do I have to remember for Ida's party?", "what do I need to be careful about", "Who do I report to?",
        "how many mugs does the cafe want?", "How many weeks have I left?", "What gloves should I buy for the studio?",
        "which days does my assistant work", "why am I doing all the cleaning?", "Everything is turning",
        "everyone's here", "How do I know everyone's birthday?", "why am I eating in my room all the time",
        "which postgres version do we run", "what sports club am I in", "what day's dominoes?",
        "Which client pays late?", "Which cousin lives in Oslo?", "Which doctor treats my back?", "what suits me best",
        "What does our cat look like?",
        "我星期天去了哪个博物馆？", "我老板叫什么名字？", "我每天坐几路车？", "伊达生日是哪天？",
        "我每个月要还银行多少钱？", "每個星期上幾次課？", "每个小时收费多少？",
        "五一那几天帮我排个班", "谁对花生过敏？", "谁通过考试了？", "谁过两天来？",
    ],
)  # fmt: skip
def test_a_question_for_one(question):
    assert not asks_for_list(question)


def test_a_pasted_text_asks_for_nothing():
    assert not asks_for_list(
        "Where do I live? " + "x " * QUESTION_EDGE_CHARS + "everyone " + "x " * QUESTION_EDGE_CHARS
    )


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
        assert shown == [4, 10]
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
    ("said", "fact", "keyword", "question", "shown"),
    [
        ("how warm must a gecko's spot be?", "The user has a gecko.", "pets", "Do we have a gecko?", "fact"),
        ("The gecko's spot must be warm", "The user has a gecko.", "pets", "Which pets do we have?", "words"),
        ("壁虎的灯要多热？", "用户养了一只壁虎。", "宠物", "家里的宠物有哪些？", "fact"),
    ],
)
async def test_a_fact_makes_its_turn_found_by_its_keywords_and_is_shown_for_a_mere_question(
    said: str, fact: str, keyword: str, question: str, shown: str
) -> None:
    turns = [{"role": "user", "content": said}, *({"role": "user", "content": f"{n} {said[:3]}"} for n in range(40))]
    noted = {"turns": [0], "text": fact, "about": "user", "when": "", "level": 2, "keywords": [keyword], "quote": said}
    told = [{"text": turn["content"]} for turn in turns]
    async with AsyncMemoryScope(":memory:", chat=IdealChat(told, [noted], [])) as memory:
        await memory.add_turns(turns, user="u")
        await memory.consolidate(user="u")
        hit = (await memory.retrieve(question, user="u", k=1)).hits[0]
        assert [one.text for one in hit.observations] == [fact]
        assert hit.text == (fact if shown == "fact" else said)


def test_keywords_count_once_and_tell_nothing_of_the_user() -> None:
    def unit(**more: Any) -> Unit:
        at, text, where = datetime(2026, 5, 4, tzinfo=UTC), "Kim has a gecko.", Scope("u")
        turn = Turn(key="t", scope=where, role="user", speaker="user", text=text, time=at, recorded=at)
        fact = Observation(id="o", scope=where, text=text, sources=("t",), said=at, recorded=at, about="Kim", **more)
        return make_units(fact, number=1, seq=0, turns=[(0, turn)])[0]

    plain, named = unit(), unit(keywords=("pets", "gecko", "Pets"))
    assert named.terms == plain.terms + packed_terms(terms("pets"))
    flags = [dict(zip((name for name, _ in UNIT_COLUMNS), UNIT_STRUCT.unpack(one.columns), strict=True))["flags"]
             for one in (plain, named)]  # fmt: skip
    assert flags[0] == flags[1]


REMARK = "The evening light on the roofs over there lasted and lasted, nobody in the street looked up even once"
REMARK_ZH = "傍晚屋顶上的光一直不散，对面楼里的人谁也没有抬头看一眼，风吹着晾出去的床单"


@pytest.mark.parametrize(
    ("question", "best", "item", "remark"),
    [
        ("Which subscriptions am I paying for?", "My subscriptions are many", "New Yorker on the mat again", REMARK),
        ("我开着哪些会员？", "我的会员太多了", "网易云又涨了两块", REMARK_ZH),
    ],
)
async def test_lines_of_the_user_that_share_no_word_stand_behind_the_best(
    question: str, best: str, item: str, remark: str
) -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        for text in (item, *(f"{remark} {number}" for number in range(20)), best):
            said = [{"role": "user", "content": text}, {"role": "assistant", "content": "Hm."}]
            await memory.add_turns(said, user="u", session=f"s{text[-2:].strip()}")
        found = await memory.retrieve(question, user="u", k=1, expand_lists=True)
        assert [hit.text for hit in found.hits] == [best, item]
        assert item in await memory.context(question, user="u", k=1)


async def test_lines_without_evidence_are_no_more_than_those_with() -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        for text in (REMARK, REMARK_ZH, "Hail all night", "The lift is broken", "My subscriptions are many"):
            await memory.add_turns([{"role": "user", "content": text}], user="u", session=text)
        await memory.add_turns([{"role": "assistant", "content": "Hm."}], user="u", session="s")
        asked = "Which subscriptions am I paying for?"
        narrow, wide = [
            (await memory.retrieve(asked, user="u", expand_lists=expand_lists)).hits for expand_lists in (False, True)
        ]
        assert wide[: len(narrow)] == narrow and len(narrow) < len(wide) <= 2 * len(narrow)


@pytest.mark.parametrize(
    ("question", "said", "further"),
    [
        (  # short before long
            "我都烤过哪些蛋糕？",
            ["冬天我烤的蛋糕都是拿去集市上卖的，附近村子里的人一大早就来买，不管天气怎么样，也不管路上要走多久",
             "到了夏天我烤的蛋糕还是拿去集市上卖的，附近村子里的人一大早就来买，来了要聊上半天才肯回去",
             "今天给伊达烤了个李子蛋糕"],
            "今天给伊达烤了个李子蛋糕",
        ),
        (  # the user's before the assistant's
            "Which cakes did I bake?",
            ["I did bake cakes, cakes I did bake.", "assistant: You did bake cakes, I see, and good ones",
             "plum cake today, for Ida and Tom"],
            "plum cake today, for Ida and Tom",
        ),
        (  # for books, a title before none
            "Which books did I finish?",
            ["I finish books slowly, books and books", "done with dishes and all of that",
             "done with Kindred and all of that", "done with laundry and all of that"],
            "done with Kindred and all of that",
        ),
    ],
)  # fmt: skip
async def test_behind_the_best_stands_what_is_likely_for_its_tokens(
    question: str, said: list[str], further: str
) -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        for text in said:
            role, _, words = text.rpartition(": ")
            await memory.add_turns([{"role": role or "user", "content": words}], user="u")
        await memory.add_turns([{"role": "assistant", "content": "Hm."}], user="u")
        found = await memory.retrieve(question, user="u", k=1, expand_lists=True)
        assert len(found.hits) == 2 and found.hits[1].text == further
