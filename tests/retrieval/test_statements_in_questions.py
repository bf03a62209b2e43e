"""Statements within questions are found and shown; a question is found by a search for its words."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memscope import AsyncMemoryScope
from talk import say, talking


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with talking() as memory:
        yield memory


async def test_what_is_told_after_a_question_is_shown(memory: AsyncMemoryScope) -> None:
    await say(memory, "could you find me a lift to Leeds, my van is in the garage until the 14th?")
    assert "14th" in await memory.context("When is the van back?", user="u")


async def test_it_is_in_the_profile(memory: AsyncMemoryScope) -> None:
    await say(memory, "what can I have for breakfast, I'm allergic to gluten")
    assert "gluten" in await memory.profile(user="u")


async def test_the_profile_shows_it_with_its_question(memory: AsyncMemoryScope) -> None:
    await say(memory, "how old is too old for a first violin, asking because my daughter wants to learn it")
    assert "violin, asking because my daughter" in await memory.profile(user="u")


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("What should I wear to my sister's wedding on the 4th?", "When is my sister's wedding?"),
        ("How do I tell my boss I'm leaving in March?", "When do I leave my job?"),
        ("Is it worth fixing the gearbox of my 2009 Fiesta?", "What car do I have?"),
        ("what's a good recipe for my vegan neighbour Priya", "Who is Priya?"),
        ("我姐四号婚礼我穿什么好？", "我姐哪天婚礼？"),
        ("我那辆09年的福克斯还值得修吗？", "我开什么车？"),
    ],
)
async def test_what_a_request_tells_by_the_way_is_shown(memory: AsyncMemoryScope, told: str, asked: str) -> None:
    await say(memory, told)
    for day in range(1, 30):
        await say(memory, f"It rained on the {day} tiles of the roof again.", day=day)
    assert told[:6] in await memory.context(asked, user="u")


async def test_a_search_for_words_finds_the_question_that_has_them(memory: AsyncMemoryScope) -> None:
    await say(memory, "Would a garage in Leeds take a van without a test?")
    for day in range(1, 15):
        await say(memory, f"The garage of house {day} is painted again.", day=day)
    assert "Leeds" in (await memory.retrieve("garage Leeds", user="u")).hits[0].text
