"""The profile: what memory tells of the user at a glance, in English and Chinese."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.adapters.memory_tools import search_memory
from memscope.adapters.session import MemorySession
from memscope.records import ChangeSet, Quote, Supersession
from talk import START, note, say, talking


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with talking() as memory:
        yield memory


SELF = {
    "en": ["My name is Rosalind.", "I work at the harbour in Leeds.", "I'm allergic to nuts, so no cake for me."],
    "zh": ["我叫马秀兰。", "我在郑州开面馆。", "我对花生过敏。"],
}
REMARKS = {"en": "The bus was late, number {} of the week.", "zh": "今天公交又晚点了，第{}次。"}
ABOUT = {
    "en": ["What do you know about me?", "Who am I?", "Describe me.", "Tell me what you remember"],
    "zh": ["你知道我的哪些事", "我是谁？", "介绍一下我", "你还记得我什么"],
}


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_a_question_about_the_user_gets_the_profile(memory: AsyncMemoryScope, lang: str) -> None:
    for day, text in enumerate(SELF[lang]):
        await say(memory, text, day=day)
        for n in range(20):
            await say(memory, REMARKS[lang].format(n), day=day)
    for query in ABOUT[lang]:
        found = await memory.retrieve(query, user="u")
        assert {hit.text.strip() for hit in found.profile} == set(SELF[lang])
        assert not {hit.id for hit in found.profile} & {hit.id for hit in found.hits}
        lines = await memory.context(query, user="u")
        assert all(text in lines for text in SELF[lang])
    told = await memory.profile("u")
    assert all(text in told for text in SELF[lang])


@pytest.mark.parametrize(
    ("shown", "stated"),
    [
        ("Have a look at this mail:\n> I live at 9 Harbour Lane.\n> I'm allergic to milk.", "I live in Leeds."),
        ('Anna writes: "I live at 9 Harbour Lane and I\'m allergic to milk." Sweet.', "I live in Leeds."),
        ("Uploaded document rent.pdf: I live at 9 Harbour Lane. I'm allergic to milk.", "I live in Leeds."),
        ("帮我看看这封邮件：\n> 我住在港湾路9号。\n> 我对牛奶过敏。", "我住在郑州。"),
        ("安娜写道：“我住在港湾路9号，对牛奶过敏。”真贴心。", "我住在郑州。"),
    ],
)
async def test_what_the_user_only_shows_stands_in_no_profile(memory: AsyncMemoryScope, shown: str, stated: str) -> None:
    for text in (stated, shown):
        await say(memory, text)
    profile = await memory.profile("u")
    assert stated in profile and "9" not in profile.replace("09:", "")


async def test_a_quotation_in_a_sentence_of_the_users_own_stays_in_the_profile(memory: AsyncMemoryScope) -> None:
    await say(memory, text := 'My daughter Ida says I dance "like someone looking for their keys".')
    assert text in await memory.profile("u")


async def test_the_name_comes_first(memory: AsyncMemoryScope) -> None:
    await say(memory, "Hi, I'm Marta. I've just started here.")
    for text in (
        "My sister Hanne teaches maths in Aarhus and has two boys.",
        "My mum Birgit is a retired vet from Skagen.",
    ):
        await say(memory, text)
    found = await memory.retrieve("Who am I?", user="u")
    assert len(found.profile) == 3 and "Marta" in found.profile[0].text


@pytest.mark.parametrize(
    ("told", "remark"),
    [
        ("The twins are teething, both of them, and Pablo is on the rigs.", "I've noticed that I say it a lot."),
        ("老公去重庆出差，双胞胎发烧了", "排行榜上的歌我一首也没听过"),
    ],
)
async def test_what_names_or_is_about_somebody_is_told_of_the_user(
    memory: AsyncMemoryScope, told: str, remark: str
) -> None:
    await say(memory, told)
    for n in range(8):
        await say(memory, f"{remark} ({n})")
    found = await memory.retrieve("What do you know about me?", user="u")
    assert found.profile[0].text == told


async def test_of_a_time_what_happens_then_is_shown_first(memory: AsyncMemoryScope) -> None:
    await say(memory, "On March 30th the cellar flooded.", day=20)
    for n in range(30):
        await say(memory, f"What a queue at the till, number {n}.", day=29)
    found = await memory.retrieve("What happened at the end of March?", user="u")
    assert found[0].text == "On March 30th the cellar flooded."


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_the_profile_helps_a_request_for_which_nothing_is_found(memory: AsyncMemoryScope, lang: str) -> None:
    for text in SELF[lang]:
        await say(memory, text)
    wanted = {"en": "Recommend a restaurant for tonight", "zh": "推荐个餐厅"}[lang]
    for query, shown in ((wanted, True), ("xyzzy", False), ("Hello there!", False), ("嗯", False)):
        found = await memory.retrieve(query, user="u")
        if not found.hits:
            assert bool(found.profile) == shown and found.reason


async def test_the_profile_prefers_what_still_holds_and_is_serious(memory: AsyncMemoryScope) -> None:
    old, new = await say(memory, "I live in Berlin."), await say(memory, "I live in Lisbon.", day=5)
    later = START + timedelta(days=5)
    await note(memory, "old", "The user lives in Berlin.", old, quotes=(Quote(old, "I live in Berlin"),))
    await note(memory, "new", "The user lives in Lisbon.", new, quotes=(Quote(new, "I live in Lisbon"),))
    await memory.admin.runtime.services.store.apply("u", ChangeSet(closed=(Supersession("old", "new", later, later),)))
    assert await memory.profile("u") == "[2026-03-07] The user lives in Lisbon."


async def test_the_profile_keeps_to_its_tokens_and_its_user(memory: AsyncMemoryScope) -> None:
    for n in range(40):
        await say(memory, f"I really love dish number {n}, with all of its many sauces and spices.", day=n)
    assert 0 < len(await memory.profile("u", tokens=60)) <= 240
    assert len(await memory.context("Who am I?", user="u", k=1)) <= 4 * 260
    assert await memory.profile("somebody") == ""


@pytest.mark.parametrize(
    ("query", "given", "why", "hint"),
    [
        ("Where is Rome?", {"user": "nobody"}, "nothing_stored", "add_turns"),
        ("Where is Rome?", {"user": "u", "session": "other"}, "nothing_stored", "session"),
        ("Where is Rome?", {"user": "u"}, "no_words", "words"),
        ("", {"user": "u"}, "not_searched", "query"),
        ("What happened in May 2019?", {"user": "u"}, "nothing_then", "about the time"),
    ],
)
async def test_the_reason_says_why_and_what_would_help(
    memory: AsyncMemoryScope, query: str, given: dict[str, Any], why: str, hint: str
) -> None:
    await say(memory, "The tea was cold")
    found = await memory.retrieve(query, **given)
    assert found.why == why and hint in found.reason


# ---- in chat, MCP and adapters


@pytest.mark.parametrize(("kinds", "shown"), [(["turn"], True), (["insight"], False)])
async def test_a_tool_searches_the_kinds_it_is_asked_for(
    memory: AsyncMemoryScope, kinds: list[Any], shown: bool
) -> None:
    await say(memory, "The spare key is under the blue pot")
    answer = await search_memory(MemorySession("u", memory=memory), "Where is my spare key?", kinds)
    assert ("blue pot" in answer) == shown


async def test_an_adapter_shows_the_profile_for_a_question_about_the_user(memory: AsyncMemoryScope) -> None:
    await say(memory, "My name is Rosalind.")
    session = MemorySession("u", memory=memory)
    assert "Rosalind" in (await session.recall("Who am I?")).text
    assert "Rosalind" in await search_memory(session, "What do you know about me?")
    assert not (await session.recall("Who am I?", shown=["My name is Rosalind."])).text


@pytest.mark.parametrize(
    ("said", "lasts", "recent", "head"),
    [
        (
            ["My sister Ines is a plumber.", "I want to learn Catalan by May.", "Greta and Tom adopted a puppy."],
            {"people": "My sister Ines is a plumber.", "pets": "Greta and Tom adopted a puppy."},
            {"wish": "I want to learn Catalan by May."},
            "Lately:",
        ),
        (
            ["我妹妹是修水管的。", "我打算学加泰罗尼亚语。"],
            {"people": "我妹妹是修水管的。"},
            {"wish": "我打算学加泰罗尼亚语。"},
            "最近：",
        ),
    ],
)
async def test_the_profile_tells_what_lasts_from_what_is_recent(
    memory: AsyncMemoryScope, said: list[str], lasts: dict[str, str], recent: dict[str, str], head: str
) -> None:
    for day, text in enumerate(said):
        await say(memory, text, day=day)
    found = (await memory.retrieve("What do you know about me?", user="u")).profile
    assert {hit.category: hit.text for hit in found if not hit.recent} == lasts
    assert {hit.category: hit.text for hit in found if hit.recent} == recent
    lines = (await memory.profile("u")).splitlines()
    assert lines.index(head) == len(lasts) and len(lines) == len(said) + 1


ERRANDS = {
    "en": [
        ("I'm off to go swimming with the kids.", "The user is off to go swimming with the kids."),
        ("Need to ring the plumber back in ten minutes.", "The user needs to ring the plumber back."),
        ("Heading to bed now.", "The user is heading to bed."),
    ],
    "zh": [
        ("我先去带孩子游泳了。", "用户去带孩子游泳了。"),
        ("十分钟后要给水管工回电话。", "用户要给水管工回电话。"),
        ("困了，先睡了。", "用户去睡了。"),
    ],
}


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_an_errand_of_last_year_stands_in_no_profile(memory: AsyncMemoryScope, lang: str, noted: bool) -> None:
    for day, text in enumerate(SELF[lang]):
        await say(memory, text, day=day)
    said = ERRANDS[lang] if noted else ERRANDS[lang][1:]  # the first tells that there are children
    for at, (text, fact) in enumerate(said):
        key = await say(memory, text, day=10 + at)
        if noted:
            await note(memory, f"f{at}", fact, key, day=10 + at, level=2)
    errands = {one for pair in said for one in pair}
    memory.days.now = START + timedelta(days=400)  # type: ignore[attr-defined]
    for shown in (await memory.profile("u"), *[await memory.context(ask, user="u") for ask in ABOUT[lang]]):
        assert SELF[lang][0] in shown
        assert not [one for one in errands if one in shown]


async def test_what_is_longer_than_the_profile_is_left_out_before_its_dates_are_read(monkeypatch):
    read = []
    lines = import_module("memscope.retrieval.context")
    monkeypatch.setattr(lines, "with_dates", lambda words, said, noted: read.append(len(words)) or words)
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        long = "I live in Berlin and play chess with my sister every Tuesday " * 2000
        await memory.add_turns([{"role": "user", "content": text} for text in (long, "I work in Leeds.")], user="a")
        assert "Leeds" in await memory.profile(user="a", tokens=300)
    assert read and max(read) < 1200


async def test_a_question_for_the_profile_leaves_out_nothing_for_its_words(memory: AsyncMemoryScope) -> None:
    await say(memory, "I am a nurse and I live in Graz")
    found = await memory.retrieve("What do you know about me?", user="u", explain=True)
    assert found.explanation and "(unlike)" not in found.explanation
