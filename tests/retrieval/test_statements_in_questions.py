"""What is told in the sentence of a question is found and shown; a question is found by a search for its words."""

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


async def test_a_search_for_a_word_finds_the_question_that_has_it(memory: AsyncMemoryScope) -> None:
    await say(memory, "Would a garage in Leeds take a van without a test?")
    assert (await memory.retrieve("garage", user="u")).hits
