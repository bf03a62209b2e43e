"""A context within one budget of tokens: each part within its share, and what is shown in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError
from memscope.text.tokens import estimate_tokens
from memscope_testing.models import ScriptedChat

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
ASKED = "What is Kim allergic to?"


def said(text: str, days: float, session: str, role: str = "user") -> dict[str, object]:
    return {"role": role, "content": text, "time": NOW - timedelta(days=days), "session": session}


OLD = [
    said("My sister Kim moved to Lisbon.", 30, "old"), said("I visited Kim in Lisbon.", 20, "old"),
    said("Kim is allergic to walnuts.", 10, "old"), *(said(f"I walked {n} miles.", 9, "old") for n in range(60)),
]  # fmt: skip
LATELY = [said("Kim comes to dinner tonight.", 0.02, "now"), said("How nice!", 0.01, "now", "assistant")]


def opened(chat=None, **context) -> AsyncMemoryScope:
    return AsyncMemoryScope(":memory:", settings={"context": context}, chat=chat, clock=lambda: NOW)


async def fill(memory: AsyncMemoryScope) -> None:
    await memory.add_turns([*OLD, *LATELY], user="u", replay=True)
    await memory.blocks("u").append("human", "Likes to cook.")


async def test_all_parts_are_within_one_budget():
    async with opened() as memory:
        await fill(memory)
        for tokens in (60, 200, 400, 1000):
            shown = await memory.context(
                "What is Kim allergic to?", user="u", session="now", tokens=tokens, assemble=True
            )
            assert estimate_tokens(shown) <= tokens
        assert "Likes to cook." in shown and "walnuts" in shown and "assistant: How nice!" in shown
        assert "Kim (person, my sister): 4 turns, last 2026-06-30" in shown
        assert shown.count("Kim comes to dinner tonight.") == 1


async def test_shares_are_settings():
    async with opened(entities=0, recent=0, core=0) as memory:
        await fill(memory)
        shown = await memory.context(ASKED, user="u", session="now", tokens=300, assemble=True)
        assert "walnuts" in shown
        assert not any(part in shown for part in ("Likes to cook", "4 turns", "The conversation so far"))
    with pytest.raises(ConfigError, match="tenth"):
        opened(core=0.5, recent=0.5)


async def test_as_of_shows_what_was_said_by_then():
    async with opened() as memory:
        await fill(memory)
        then = NOW - timedelta(days=15)
        shown = await memory.context("Where is Kim?", user="u", session="now", as_of=then, assemble=True)
        assert "2 turns, last 2026-06-10" in shown and "dinner" not in shown and "walnuts" not in shown


async def test_a_chat_with_a_budget():
    chat = ScriptedChat(["Walnuts."])
    async with opened(chat, budget=600) as memory:
        await fill(memory)
        async for _ in memory.chat(ASKED, user="u", session="now"):
            pass
        prompt = "\n".join(message["content"] for message in chat.prompts[0])
        assert "Kim (person, my sister): 4 turns" in prompt and "Likes to cook." in prompt and "walnuts" in prompt
        assert "How nice!" in prompt and estimate_tokens(prompt) < 800  # the instructions are beside the budget
