"""Questions for all of a class, and how many lines answer them."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.retrieval.listing import ASKING, asks_for_all


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
        assert shown == [4, 12]
        few = await memory.context(all_of, user="u", k=4, tokens=60)
        assert 1 <= len(few.splitlines()) < 6
