"""Questions about somebody of whom few other words are known, and the reason where nothing is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice

import pytest

from memscope import AsyncMemoryScope
from memscope.retrieval.subjects import subjects
from memscope.text.terms import term

NOW = datetime(2026, 7, 15, 10, tzinfo=UTC)
PEOPLE = [
    "周末和娜娜去看了展。", "客户徐总很难缠。", "物业的刘姐修好了水管。", "舅舅开的火锅店叫满江红。",
    "店里员工小陶要请假。", "健身教练叫巴图，很严格。", "儿子的同桌叫豆豆。", "我们的猫叫年糕。",
    "楼上的美乐蒂花店关张了。",
]  # fmt: skip
OTHERS = [
    "今天的会开得太久了。", "把空调修好花了不少钱。", "水管又堵了。", "新买的台灯很亮。", "地铁上人挤人。",
    "晚饭吃了面。", "作业写到十点。", "下雨没带伞。", "咖啡洒了一桌。", "快递放门口了。",
    "电梯坏了三天。", "头发剪短了。",
]  # fmt: skip


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with AsyncMemoryScope(":memory:", settings={"timezone": "UTC"}, clock=lambda: NOW) as memory:
        said = [*PEOPLE, *(f"{text}第{n}回。" for n, text in enumerate(islice(cycle(OTHERS), 60)))]
        start = NOW - timedelta(days=60)
        turns = [
            {"role": "user", "content": text, "time": start + timedelta(hours=20 * n), "session": str(n)}
            for n, text in enumerate(said)
        ]
        await memory.add_turns(turns, user="alice")
        yield memory


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("娜娜喜欢什么颜色", "娜娜"),
        ("徐总那边有什么进展了？", "徐总"),
        ("刘姐平时都负责些什么工作", "刘姐"),
        ("满江红的营业时间是几点到几点", "满江红"),
        ("小陶是做什么的", "小陶"),
        ("店里员工小陶的联系方式怎么查询得到", "小陶"),
        ("你知道娜娜最讨厌什么颜色吗", "娜娜"),
        ("那个徐总后来签合同没有", "徐总"),
        ("巴图带几个学员参加马拉松比赛", "巴图"),
        ("最近豆豆期末考试名次有没有进步", "豆豆"),
        ("年糕几岁啦打过几针疫苗", "年糕"),
        ("请问美乐蒂搬去哪条街了", "美乐蒂"),
    ],
)
async def test_a_question_about_a_name_brings_the_line_that_has_it(
    memory: AsyncMemoryScope, query: str, about: str
) -> None:
    found = await memory.retrieve(query, user="alice")
    assert found and about in found[0].text


@pytest.mark.parametrize("query", ["光合作用是什么", "秦始皇是哪年统一六国的", "怎么证明勾股定理", "解释一下量子纠缠"])
async def test_a_question_about_the_world_brings_nothing(memory: AsyncMemoryScope, query: str) -> None:
    assert not await memory.retrieve(query, user="alice")


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("When are the bins emptied?", "Bin day"),
        ("What did the band earn?", "The band"),
        ("How hot does the kiln get before the glaze melts?", "The kiln"),
        ("菜地啥时候交下一年的钱？", "菜地"),
        ("Where does the band rehearse?", "The band"),
        ("When's bellringing practice?", "Bellringing"),
        ("What time does bellringing start?", "Bellringing"),
        ("小陶哪年入职", "小陶"),
    ],
)
async def test_a_definite_thing_is_found_though_memory_lacks_the_other_word(
    memory: AsyncMemoryScope, query: str, about: str
) -> None:
    said = ["Bin day has moved to Fridays.", "The band practises in Dermot's shed.", "We want hens."]
    said += ["Bellringing is on Mondays, half seven.", "The kiln goes up to 1240 degrees.", "菜地租金每年十月交。"]
    await memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
    assert about in (await memory.context(query, user="alice"))
    for world in (
        "When did the Romans leave?",
        "How hot does the oven of a forge get?",
        "Where do hens sleep?",
        "When was Troy built?",
    ):
        assert not await memory.context(world, user="alice")


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("How does a boiler work?", ""),
        ("What do hens eat?", ""),
        ("钢琴是谁发明的", ""),
        ("What does a session cost at the physio?", "60"),
        ("两套房有什么区别", "朝向"),
    ],
)
async def test_a_question_about_a_kind_shows_only_what_has_nearly_all_of_its_words(
    memory: AsyncMemoryScope, query: str, about: str
) -> None:
    said = ["The boiler died in May.", "Our hens are called Betty and Doris.", "A session at the physio costs 60.",
            "钢琴是我妈给的。", "两套房的区别主要在朝向。"]  # fmt: skip
    await memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
    lines = (await memory.context(query, user="alice")).splitlines()
    assert len(lines) == bool(about) and all(about in line for line in lines)


async def test_a_thing_that_memory_knows_brings_its_lines_alone(memory: AsyncMemoryScope) -> None:
    lines = (await memory.context("水管为什么会结冰", user="alice")).splitlines()
    assert len(lines) <= 3 and all("水管" in line for line in lines)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("徐总那边有什么进展了", {"徐总"}),
        ("When are the bins emptied?", {"bin"}),
        ("What is the capital of Peru?", set()),
        ("When do I pay the rent?", {"rent"}),
        ("wheres the boat", {"boat"}),
        ("请问那个徐总和娜娜认识吗", {"徐总", "娜娜"}),
        ("解释一下光合作用", {"光合"}),
        ("为什么天是蓝的", set()),
        ("Who is Kim?", set()),
        ("我喜欢吃什么", set()),
    ],
)
def test_subjects_stand_at_the_beginning_or_behind_a_word_that_introduces_them(query: str, found: set[str]) -> None:
    assert subjects(query) == set(map(term, found))


# ---- why nothing is shown


async def test_words_that_were_said_are_not_denied(memory: AsyncMemoryScope) -> None:
    found = await memory.retrieve("光合作用是什么", user="alice", explain=True)  # 作业
    assert (len(found), found.why) == (0, "too_few_words")
    assert "left out: 5 " in found.explanation and "(unlike)" in found.explanation


async def test_words_that_were_never_said_are(memory: AsyncMemoryScope) -> None:
    found = await memory.retrieve("魑魅魍魉", user="alice", explain=True)
    assert found.why == "no_words"
    assert "unlike" not in found.explanation


async def test_words_that_were_said_elsewhere_are_named_by_what_narrows_the_search(memory: AsyncMemoryScope) -> None:
    found = await memory.retrieve("徐总", user="alice", session="0", kinds=["turn"])
    assert found.why == "no_words" and "session, kinds" in found.reason
    nothing = await memory.retrieve("徐总", user="alice", session="new", exclude=["x"])
    assert nothing.why == "nothing_stored" and "session, exclude" in nothing.reason


async def test_a_word_that_only_asks_makes_a_question_no_less_known() -> None:
    async with AsyncMemoryScope(":memory:", settings={"timezone": "UTC"}, clock=lambda: NOW) as memory:
        said = ["We bought a kayak at the harbour market.", *(f"The bus was late again, day {n}." for n in range(40))]
        await memory.add_turns([{"role": "user", "content": text, "time": NOW} for text in said], user="bob")
        assert "kayak" in await memory.context("What kind of kayak is it?", user="bob")
