"""Lines of turns with facts: the words, a fact behind them or in their place, whichever says more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.records import ChangeSet, Insight, Interval, Quote, Scope, Sentence
from talk import START, note, say, talking


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with talking() as memory:
        yield memory


@pytest.mark.parametrize(
    ("said", "fact", "query", "line"),
    [
        ("Hi, how are you? He started school and loves his new satchel.", "Anna's son Tim started school.",
         "Who started school?", "user: He started school and loves his new satchel. — Anna's son Tim started school."),
        ("你好吗？他上小学了，新书包可喜欢了。", "安娜的儿子小天上小学了。", "谁上小学了？",
         "user: 他上小学了，新书包可喜欢了。 — 安娜的儿子小天上小学了。"),
    ],
)  # fmt: skip
async def test_a_fact_that_says_of_whom_the_words_are_stands_behind_them(
    memory: AsyncMemoryScope, said: str, fact: str, query: str, line: str
) -> None:
    await note(memory, "o", fact, await say(memory, said))
    assert (await memory.context(query, user="u")).endswith(line)
    assert fact not in await memory.context(query, user="u", lines="turns")


@pytest.mark.parametrize(
    ("said", "fact", "query"),
    [
        ("My gran in Malmö gave me the silver necklace when I left home.",
         "The user has a necklace from their gran.", "Who gave me the necklace?"),
        ("我离家时奶奶在青岛给了我一条银项链。", "我有奶奶给的项链。", "谁给了我项链？"),
    ],
)  # fmt: skip
async def test_a_fact_that_says_less_than_the_words_does_not_take_their_place(
    memory: AsyncMemoryScope, said: str, fact: str, query: str
) -> None:
    await note(memory, "o", fact, await say(memory, said))
    assert (await memory.context(query, user="u")).endswith(f"user: {said}")


@pytest.mark.parametrize(
    ("said", "fact", "query"),
    [
        ("I moved to Bergen.", "The user moved to Bergen.", "Where did I move?"),
        ("我搬到了青岛。", "用户搬到了青岛。", "我搬到了哪里？"),
    ],
)
async def test_a_fact_that_says_all_of_the_words_stands_alone(
    memory: AsyncMemoryScope, said: str, fact: str, query: str
) -> None:
    await note(memory, "o", fact, await say(memory, said))
    assert (await memory.context(query, user="u")).endswith(f"] {fact}")


@pytest.mark.parametrize(
    ("asked", "answered", "fact", "query"),
    [
        ("How long have you been married?", "Five years already, can you believe it?",
         "Melanie has been married for five years.", "How long has Melanie been married?"),
        ("你结婚多久了？", "都五年了，你敢信？", "小梅结婚五年了。", "小梅结婚多久了？"),
    ],
)  # fmt: skip
async def test_an_answer_is_not_shown_as_its_question(
    memory: AsyncMemoryScope, asked: str, answered: str, fact: str, query: str
) -> None:
    keys = [await say(memory, asked, "assistant"), await say(memory, answered)]
    quotes = tuple(Quote(key, words) for key, words in zip(keys, (asked, answered), strict=True))
    await note(memory, "o", fact, *keys, quotes=quotes)
    lines = await memory.context(query, user="u")
    assert lines.count(fact) == 1
    assert asked not in lines


@pytest.mark.parametrize(
    ("said", "fact", "query"),
    [
        ("Can't stay long, tomorrow I'm off to the dentist again, that molar keeps hurting.",
         "The user plans to see the dentist.", "When do I see the dentist?"),
        ("不多聊了，明天又要去看牙医，那颗牙一直疼。", "用户打算去看牙医。", "我什么时候看牙医？"),
    ],
)  # fmt: skip
async def test_a_plan_for_a_day_that_is_past_is_not_told_as_one_ahead(
    memory: AsyncMemoryScope, said: str, fact: str, query: str
) -> None:
    key, day = await say(memory, said), START + timedelta(days=1)
    await note(memory, "o", fact, key, happened=Interval(day, day + timedelta(days=1)))
    assert "2026-03-03" in await memory.context(query, user="u")
    memory.days.now = START + timedelta(days=40)  # type: ignore[attr-defined]
    lines = await memory.context(query, user="u")
    assert fact not in lines
    assert "2026-03-03" in lines


async def test_the_day_that_a_fact_knows_stands_in_the_place_of_what_rules_make_of_the_words(
    memory: AsyncMemoryScope,
) -> None:
    key, start = (
        await say(memory, "It was ten years ago that we met in that tiny bar."),
        datetime(2017, 1, 1, tzinfo=UTC),
    )
    year = Interval(start, start.replace(year=2018))
    await note(memory, "o", "They met.", key, happened=year, quotes=(Quote(key, "ten years ago that we met"),))
    assert (await memory.context("tiny bar", user="u")).endswith("in that tiny bar (2017).")


@pytest.mark.parametrize(
    ("first", "second", "fact", "query"),
    [
        ("The welding course starts next Tuesday.", "The welding class moved from Tuesdays to Wednesdays.",
         "The welding course started on 2026-03-10 and is on Wednesdays.", "When is welding moved to?"),
        ("焊接课下周二开始。", "焊接课从周二改到周三了。", "焊接课2026年3月10日开始。", "我的焊接课改到周几了？"),
    ],
)  # fmt: skip
async def test_a_turn_is_not_dated_by_a_day_that_another_turn_of_its_fact_names(
    memory: AsyncMemoryScope, first: str, second: str, fact: str, query: str
) -> None:
    start, moved = await say(memory, first), await say(memory, second, day=20)
    day = datetime(2026, 3, 10, tzinfo=UTC)
    quotes = (Quote(start, first), Quote(moved, second))
    await note(memory, "o", fact, moved, happened=Interval(day, day + timedelta(days=1)), quotes=quotes)
    lines = (await memory.context(query, user="u")).splitlines()
    (line,) = [one for one in lines if second[:-1] in one]
    assert "2026-03-10" not in line.partition(second[:-1])[2].partition(" — ")[0]


@pytest.mark.parametrize(
    ("other", "fact", "plain", "query"),
    [
        ("Nice weather, item {n}.", "The boat in the harbour was painted by crew {n}.",
         "My uncle's boat is called Swallow.", "What is the boat in the harbour called?"),
        ("今天天气不错{n}。", "港口的船是第{n}队刷的漆。", "我叔叔的船叫燕子号。", "港口的船叫什么？"),
    ],
)  # fmt: skip
async def test_a_turn_without_facts_is_not_pushed_out_by_those_that_have_some(
    memory: AsyncMemoryScope, other: str, fact: str, plain: str, query: str
) -> None:
    for n in range(15):
        await note(memory, f"o{n}", fact.format(n=n), await say(memory, other.format(n=n), day=n))
    await say(memory, plain, day=20)
    hits = await memory.retrieve(query, user="u", k=10)
    assert plain in [hit.text for hit in hits[:2]]


@pytest.mark.parametrize("told", [True, False])
async def test_a_fact_that_a_shown_insight_tells_is_not_printed_again(memory: AsyncMemoryScope, told: bool) -> None:
    key = await say(memory, "He started school in the big yellow house behind the mill.")
    fact = await note(memory, "o", "Anna's son Tim started school.", key)
    text = f"Tim: {fact.text if told else 'he is nearly six'}"
    insight = Insight(
        id="i", scope=Scope("u"), text=text, sources=(fact.id,), said=START, recorded=START, subject="Tim"
    )
    await memory.admin.runtime.services.store.apply("u", ChangeSet(new=(insight,)))
    lines = await memory.context("Where did Anna's son Tim start school?", user="u")
    assert text in lines
    assert "yellow house" in lines
    assert lines.count(fact.text) == 1


async def test_no_more_than_two_insights_take_the_places_of_turns(memory: AsyncMemoryScope) -> None:
    key = await say(memory, "The garden needs water, seeds, a fence and a shed.")
    seen = await note(memory, "o", "The garden needs a lot.", key)
    made = [
        Insight(id=f"i{n}", scope=Scope("u"), text=f"garden {n}: the garden needs {thing}", sources=(seen.id,),
                said=START, recorded=START, subject=f"garden {n}")
        for n, thing in enumerate(("water", "seeds", "a fence", "a shed"))
    ]  # fmt: skip
    await memory.admin.runtime.services.store.apply("u", ChangeSet(new=tuple(made)))
    hits = await memory.retrieve("What does the garden need?", user="u")
    assert sum(hit.insight is not None for hit in hits) == 2
    assert any(hit.turn and hit.turn.key == key for hit in hits)
    assert len(await memory.retrieve("What does the garden need?", user="u", kinds=["insight"])) == 4


@pytest.mark.parametrize(
    ("said", "fact", "query"),
    [
        ("Six years already! Time flies.", "Lena has been married for six years.", "Is Lena married?"),
        ("Yes, since the spring, in the end.", "Lena keeps bees.", "Does Lena keep bees?"),
        ("都六年了，时间真快。", "小莲结婚六年了。", "小莲结婚了吗？"),
        ("对，今年春天开始的。", "小莲养蜜蜂。", "小莲养蜜蜂吗？"),
    ],
)
async def test_a_turn_without_a_word_of_the_question_is_printed_with_the_fact_that_has_one(
    memory: AsyncMemoryScope, said: str, fact: str, query: str
) -> None:
    await note(memory, "o", fact, await say(memory, said))
    assert fact in await memory.context(query, user="u", k=1)


@pytest.mark.parametrize(
    ("asked", "answered", "fact", "query"),
    [
        ("Lovely picture! How long have you two been a couple?", "Six years already, time flies!",
         "Lena has been married for six years.", "How long have they been a couple?"),
        ("Nice garden! Who looks after the roses?", "That would be my neighbour Ilse.",
         "Lena's neighbour Ilse tends the flowers.", "Who looks after the roses?"),
        ("照片真好看！你们俩在一起多久了？", "都六年了，时间真快。", "小莲结婚六年了。", "他们俩在一起多久了？"),
        ("花园真漂亮！玫瑰是谁照看的？", "我邻居伊尔莎呀。", "伊尔莎打理小莲家的花。", "玫瑰是谁照看的？"),
    ],
)  # fmt: skip
async def test_the_turn_of_a_question_is_printed_with_its_answer(
    memory: AsyncMemoryScope, asked: str, answered: str, fact: str, query: str
) -> None:
    keys = [await say(memory, asked, "assistant"), await say(memory, answered)]
    question = asked.partition("! ")[2] or asked.partition("！")[2]
    quotes = tuple(Quote(key, words) for key, words in zip(keys, (question, answered), strict=True))
    await note(memory, "o", fact, *keys, quotes=quotes)
    lines = await memory.context(query, user="u", k=1)
    assert fact in lines
    assert question not in lines


@pytest.mark.parametrize(
    ("said", "facts", "query"),
    [
        (("I adore sailing on the lake.", "I own a yawl called Tern."),
         ("The user adores sailing on the lake.", "The user owns a yawl called Tern."), "Which yawl do I own?"),
        (("I work at a mill.", "I paint the old mills of Kent."),
         ("The user works at a mill.", "The user paints the old mills of Kent."), "Which mills do I paint?"),
        (("我喜欢在湖上划船。", "我有一条船叫燕鸥号。"), ("用户喜欢在湖上划船。", "用户有一条船叫燕鸥号。"),
         "我的船叫什么？"),
        (("我在磨坊干活。", "我画肯特的老磨坊。"), ("用户在磨坊干活。", "用户画肯特的老磨坊。"), "我画什么磨坊？"),
    ],
)  # fmt: skip
async def test_what_a_shown_insight_says_takes_no_second_line(
    memory: AsyncMemoryScope, said: tuple[str, ...], facts: tuple[str, ...], query: str
) -> None:
    for n, (words, text) in enumerate(zip(said, facts, strict=True)):
        await note(memory, f"o{n}", text, await say(memory, words))
    sentences = tuple(Sentence(text, (f"o{n}",)) for n, text in enumerate(facts))
    made = Insight(id="i", scope=Scope("u"), text=f"mine: {' '.join(facts)}", sources=("o0", "o1"), said=START,
                   recorded=START, subject="mine", sentences=sentences)  # fmt: skip
    await memory.admin.runtime.services.store.apply("u", ChangeSet(new=(made,)))
    lines = (await memory.context(query, user="u")).splitlines()
    assert len(lines) == 1, lines
    assert all(text in lines[0] for text in facts)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("The user owns a yawl called Tern.", "The user works at the mill."),
        ("The user is allergic to nuts.", "The user is allergic to nuts and to cats."),
        ("用户有一条船叫燕鸥号。", "用户在磨坊工作。"),
    ],
)
async def test_what_an_insight_of_the_profile_says_takes_no_second_line(
    memory: AsyncMemoryScope, own: str, other: str
) -> None:
    for id, text in (("own", own), ("other", other)):
        await note(memory, id, text, await say(memory, f"{id}!"), level=3)
    made = Insight(id="i", scope=Scope("u"), text=f"mine: {own}", sources=("own", "other"), said=START, recorded=START,
                   subject="mine", sentences=(Sentence(own, ("own", "other")),))  # fmt: skip
    await memory.admin.runtime.services.store.apply("u", ChangeSet(new=(made,)))
    lines = (await memory.profile("u")).splitlines()
    assert [line.partition("] ")[2] for line in lines] == [made.text, other]


@pytest.mark.parametrize(
    ("others", "said", "fact", "query"),
    [
        (["I was at the office on Tuesday.", "On Tuesday the plumber rang."],
         "Guess who sings again, same evening as every winter!", "The user has choir practice every Tuesday.",
         "What do I have on Tuesday?"),
        (["我周二吃了披萨。", "周二有人来修水管。"], "合唱团又开始了，还是老时间！", "用户每周二有合唱团排练。",
         "我周二有什么安排？"),
    ],
)  # fmt: skip
async def test_a_day_that_only_the_fact_repeats_is_met(
    memory: AsyncMemoryScope, others: list[str], said: str, fact: str, query: str
) -> None:
    for other in others:
        await say(memory, other)
    await note(memory, "o", fact, await say(memory, said))
    assert (await memory.retrieve(query, user="u"))[0].text == f"{said} — {fact}"
