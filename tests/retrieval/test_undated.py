"""Numbers and names of months that are no date do not meet the day on which something was said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.retrieval.undated import undated_terms
from memscope.text.terms import term

FIRST = datetime(2026, 6, 20, 9, tzinfo=UTC)
SAID = {
    "en": ["My bike has a flat tyre.", "I love tacos with lime.", "I have a yellow kitchen.", "Tom left.",
           "My cat hides under the sofa.", "I finished the blue puzzle.", "I can't eat shrimp.", "The train was late."],
    "zh": ["我的自行车又爆胎了。", "我喜欢吃卷饼。", "我们把厨房刷成黄色了。", "老王换了新工作。", "猫躲在沙发底下。",
           "我拼完了蓝色的拼图。", "我不能吃虾。", "火车晚点了。"],
}  # fmt: skip
TAILS = {"en": ["", " Sadly.", " Again.", " At last.", " As ever."], "zh": ["", "唉。", "又是。", "终于。", "还好。"]}


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    """One remark a day for 40 days, in English of one user and in Chinese of another."""
    now = FIRST + timedelta(days=45)
    async with AsyncMemoryScope(":memory:", settings={"timezone": "UTC"}, clock=lambda: now) as memory:
        for user, said in SAID.items():
            days = [FIRST + timedelta(days=n) for n in range(40)]
            turns = [
                {"role": "user", "content": said[n % 8] + TAILS[user][n // 8], "time": day, "session": f"{day:%m-%d}"}
                for n, day in enumerate(days)
            ]
            await memory.add_turns(turns, user=user)
        yield memory


async def features(memory: AsyncMemoryScope, query: str) -> set[str]:
    user = "en" if query.isascii() else "zh"
    return {one.name for hit in await memory.retrieve(query, user=user) for one in hit.features}


@pytest.mark.parametrize(
    "query",
    ["what's 17*23", "What is 17 times 23?", "Is 17 a prime number?", "set a timer for 20 minutes", "17乘以23等于多少",
     "15是质数吗"],
)  # fmt: skip
async def test_a_sum_brings_nothing(memory: AsyncMemoryScope, query: str) -> None:
    assert not await memory.retrieve(query, user="en" if query.isascii() else "zh")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("a taco in 20 minutes", "I love tacos with lime."),
        ("Can I fit 25 people in my kitchen?", "I have a yellow kitchen."),
        ("Give me 7 names for my cat", "My cat hides under the sofa."),
        ("May I eat shrimp?", "I can't eat shrimp."),
        ("我能吃3只虾吗", "我不能吃虾。"),
        ("我想20分钟做卷饼", "我喜欢吃卷饼。"),
    ],
)
async def test_a_number_takes_the_first_place_from_no_word(memory: AsyncMemoryScope, query: str, best: str) -> None:
    found = await memory.retrieve(query, user="en" if query.isascii() else "zh")
    assert found[0].text.startswith(best)
    assert "header" not in await features(memory, query)


@pytest.mark.parametrize("query", ["我的生日是几月几日", "日本的首都在哪年搬的"])
async def test_the_words_of_every_chinese_date_meet_no_date(memory: AsyncMemoryScope, query: str) -> None:
    assert "header" not in await features(memory, query)


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("What did I say on July 17?", "07-17"),
        ("What happened on 17 July 2026?", "07-17"),
        ("What happened on the evening of July 17?", "07-17"),
        ("7月17号我说了什么", "07-17"),
        ("17号我干嘛了", "07-17"),
        ("2026年7月2日发生了什么", "07-02"),
    ],
)
async def test_a_date_still_finds_its_day(memory: AsyncMemoryScope, query: str, day: str) -> None:
    found = await memory.retrieve(query, user="en" if query.isascii() else "zh")
    assert f"{found[0].time:%m-%d}" == day
    assert any(one.name == "header" for one in found[0].features)


async def test_a_number_in_a_speakers_name_is_that_of_the_speaker() -> None:
    async with AsyncMemoryScope(":memory:", clock=lambda: FIRST) as memory:
        said = [
            {"role": "person", "speaker": f"Speaker {n}", "content": f"Hello, {w}."} for n, w in ((1, "a"), (2, "b"))
        ]
        await memory.add_turns(said, user="alice")
        found = await memory.retrieve("What did Speaker 2 say?", user="alice")
        assert found[0].turn is not None and found[0].turn.speaker == "Speaker 2"


def test_only_the_numbers_of_a_time_named_are_a_date() -> None:
    from memscope.dates import asked

    named = asked("3 weeks ago, on May 5, 2024", FIRST, past=True, ahead=False)
    words = {term(word): word for word in ("3", "5", "may", "2024", "12345", "week")}
    assert undated_terms(words, named) == {term("3")}
