"""Ends announced for a day, and plans whose day comes: looked at when they are read, without any job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.records import Block, ChangeSet, Insight, Interval, Quote, Scope, Sentence
from talk import START, note, say, talking

DAY = START + timedelta(days=20)
LATER = START + timedelta(days=80)
HOMES = [  # the old state, another fact of the sentence, one sentence of both, the news, a line of a block, a question
    ("The user works at Novak Glass.", "The user is an engraver.", "The user is an engraver at Novak Glass.",
     "The user starts at Orlik Films on 22 March.", "Engraver at Novak Glass", "Where does the user work?", "Novak"),
    ("The user lives in Tampere.", "The user has a cat.", "The user lives in Tampere with a cat.",
     "The user moves to Turku on 22 March.", "Lives in Tampere", "Where does the user live?", "Tampere"),
    ("用户住在拉萨。", "用户养了一只猫。", "用户和一只猫住在拉萨。", "用户3月22日搬到三亚。", "住在拉萨",
     "用户住在哪里？", "拉萨"),
    ("用户在诺瓦玻璃厂上班。", "用户是雕刻师。", "用户是诺瓦玻璃厂的雕刻师。", "用户3月22日入职奥利影业。",
     "在诺瓦玻璃厂上班", "用户在哪里上班？", "诺瓦"),
]  # fmt: skip
PLANS = [  # a plan, what holds, a question
    ("The user plans to climb Triglav.", "The user loves climbing.", "What does the user climb?"),
    ("The user will run the Bergen half marathon.", "The user loves running.", "What does the user run?"),
    ("Nina hopes to see the northern lights.", "Nina loves the northern lights.", "What about Nina and the lights?"),
    ("用户打算爬黄山。", "用户喜欢爬山。", "用户爬什么山？"),
    ("用户计划参加青岛马拉松。", "用户喜欢马拉松。", "用户参加什么马拉松？"),
]
MARKS = ("(now past)", "（已过去）")


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with talking() as memory:
        yield memory


async def insight(memory: AsyncMemoryScope, subject: str, *sentences: Sentence) -> None:
    ids = tuple(dict.fromkeys(id for one in sentences for id in one.sources))
    text = f"{subject}: {' '.join(one.text for one in sentences)}"
    made = Insight(id="i", scope=Scope("u"), text=text, sources=ids, said=START, recorded=START, subject=subject,
                   sentences=sentences)  # fmt: skip
    await memory.admin.runtime.services.store.apply("u", ChangeSet(new=(made,)))


async def surfaces(memory: AsyncMemoryScope, question: str) -> dict[str, str]:
    return {
        "context": await memory.context(question, user="u", kinds=["insight"]),
        "profile": await memory.profile("u"),
        "block": await memory.blocks("u").text(),
    }


async def listed(memory: AsyncMemoryScope) -> str:
    return " ".join(record.text for record in await memory.list(user="u", superseded=True))


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(("old", "beside", "both", "news", "line", "question", "name"), HOMES)
async def test_what_has_ended_on_its_day_is_told_nowhere(
    memory: AsyncMemoryScope, merged: bool, old: str, beside: str, both: str, news: str, line: str, question: str,
    name: str,
) -> None:  # fmt: skip
    for id, text, end in (("old", old, DAY), ("beside", beside, None), ("news", news, None)):
        when = Interval(DAY, DAY + timedelta(days=1)) if id == "news" else None
        await note(memory, id, text, await say(memory, text), valid_to=end, happened=when)
    own = [Sentence(both, ("old", "beside"))] if merged else [Sentence(old, ("old",)), Sentence(beside, ("beside",))]
    await insight(memory, "life", *own, Sentence(news, ("news",)))
    block = Block(scope=Scope("u"), label="human", recorded=START, value=f"{line}\n{news}", version=1, author="backend",
                  sources=("i",))  # fmt: skip
    await memory.admin.runtime.services.store.put_blocks("u", [block])
    before = await surfaces(memory, question)
    assert all(name in text for text in before.values()), before
    memory.days.now = LATER  # type: ignore[attr-defined]
    after = await surfaces(memory, question)
    assert not [text for text in after.values() if name in text and "changed later" not in text and "后来" not in text]
    assert beside in after["context"]
    assert news in after["block"]
    assert name in await memory.context(question, user="u", kinds=["insight"], as_of=DAY - timedelta(days=1))


async def test_what_has_expired_is_told_nowhere_nor_of_the_past(memory: AsyncMemoryScope) -> None:
    code, cat, question = "The user's locker code is 4711.", "The user has a cat.", "What is the user's locker code?"
    stated = await memory.add_memory(code, user="u", expires=DAY)
    await note(memory, "cat", cat, await say(memory, cat))
    await insight(memory, "life", Sentence(code, (stated.id,)), Sentence(cat, ("cat",)))
    block = Block(scope=Scope("u"), label="human", recorded=START, value=f"Locker code 4711\n{cat}", version=1,
                  author="backend", sources=("i",))  # fmt: skip
    await memory.admin.runtime.services.store.put_blocks("u", [block])
    assert all("4711" in text for text in (await surfaces(memory, question)).values())
    memory.days.now = LATER  # type: ignore[attr-defined]
    after = await surfaces(memory, question)
    assert not [text for text in after.values() if "4711" in text]
    assert cat in after["context"]
    past = await memory.context(question, user="u", kinds=["insight"], as_of=DAY - timedelta(days=1))
    assert "4711" not in past
    assert "4711" not in await listed(memory) and cat in await listed(memory)


@pytest.mark.parametrize(("plan", "holds", "question"), PLANS)
async def test_a_plan_whose_day_is_past_is_marked_or_left_out(
    memory: AsyncMemoryScope, plan: str, holds: str, question: str
) -> None:
    then = Interval(DAY, DAY + timedelta(days=1))
    await note(memory, "plan", plan, await say(memory, plan), happened=then)
    await note(memory, "holds", holds, await say(memory, holds))
    await insight(memory, "sport", Sentence(holds, ("holds",)), Sentence(plan, ("plan",)))
    before = await surfaces(memory, question)
    assert not any(mark in text for text in before.values() for mark in MARKS)
    memory.days.now = LATER  # type: ignore[attr-defined]
    after = await surfaces(memory, question)
    assert any(plan + mark in after["context"].replace(" (now", "(now") for mark in MARKS), after["context"]
    marked = [line for line in after["profile"].splitlines() if plan in line]
    assert all(any(mark in line for mark in MARKS) for line in marked), marked
    month = "2026年3月有什么计划？" if "用户" in plan else "What was planned for March 2026?"
    facts = [line for line in (await memory.context(month, user="u")).splitlines() if line.endswith((plan, *MARKS))]
    assert all(line.endswith(MARKS) or "user:" in line for line in facts), facts


SAID_PLANS = [  # a question and its answer, the plan that they make, a question for it
    ("Will you really climb Triglav?", "Sure, with ropes and all.", "The user plans to climb Triglav.",
     "Will the user climb Triglav?"),
    ("Are you off to Bergen?", "Yes, packed and ready!", "The user will travel to Bergen.",
     "Is the user off to Bergen?"),
    ("你真的要爬黄山吗？", "当然，绳子都买好了。", "用户打算爬黄山。", "用户要爬黄山吗？"),
    ("你要去青岛吗？", "嗯，行李都收拾好了。", "用户计划去青岛旅行。", "用户要去青岛吗？"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "answered", "plan", "question"), SAID_PLANS)
async def test_a_plan_of_the_past_adds_nothing_to_its_turn_and_is_in_no_profile(
    memory: AsyncMemoryScope, asked: str, answered: str, plan: str, question: str
) -> None:
    keys = [await say(memory, asked, "assistant"), await say(memory, answered)]
    quotes = tuple(Quote(key, words) for key, words in zip(keys, (asked, answered), strict=True))
    then = Interval(DAY, DAY + timedelta(days=1))
    await note(memory, "plan", plan, *keys, quotes=quotes, happened=then, level=3)
    words = plan.rstrip(".。")
    assert words in await memory.context(question, user="u")
    assert words in await memory.profile("u")
    memory.days.now = LATER  # type: ignore[attr-defined]
    assert words not in await memory.context(question, user="u")
    assert words not in await memory.profile("u")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I plan to sell my bike on 20 March 2026.", "I have played the cello for nine years."),
        ("我打算2026年3月20日卖掉我的自行车。", "我拉大提琴九年了。"),
    ],
)
async def test_a_profile_of_own_words_has_no_plan_of_the_past(memory: AsyncMemoryScope, said: str, kept: str) -> None:
    await say(memory, said)
    await say(memory, kept)
    assert said[:12] in await memory.profile("u")
    memory.days.now = LATER  # type: ignore[attr-defined]
    profile = await memory.profile("u")
    assert said[:12] not in profile
    assert kept in profile
