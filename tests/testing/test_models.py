"""A model that answers from what there is to be known drives both stages to their end."""

from __future__ import annotations

from datetime import UTC, datetime

from memscope import AsyncMemoryScope
from memscope_testing.models import IdealChat

TURNS = [{"text": "I live in Berlin."}, {"text": "Are you sure?"}, {"text": "I moved, my home is in Munich now."}]
ABOUT = {"about": "user", "when": "", "keywords": ["home", "city"], "level": 3}
FACTS = [
    {**ABOUT, "turns": [0], "text": "The user lives in Berlin.", "quote": "I live in Berlin"},
    {**ABOUT, "turns": [2], "text": "The user's home is in Munich.", "quote": "my home is in Munich"},
]


async def noted(relations):
    chat = IdealChat(TURNS, FACTS, relations)
    clock = iter(datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 29))
    now = next(clock)
    async with AsyncMemoryScope(":memory:", settings={}, chat=chat, clock=lambda: now) as memory:
        for turn in TURNS:
            now = next(clock)
            await memory.add_turns([{"role": "user", "content": turn["text"]}], user="alice")
            await memory.consolidate(user="alice")
        report = await memory.reflect(user="alice")
        assert (report.pending, dict(report.rejected), dict(report.errors)) == (0, {}, {})
        return [one.text for one in await memory.list(user="alice", kinds=["observation"])]


async def test_an_ideal_chat_notes_each_fact_once_and_nothing_else():
    assert await noted([]) == [fact["text"] for fact in FACTS]


async def test_an_ideal_chat_says_which_fact_the_other_ends():
    assert await noted([(0, 1, "contradicts")]) == [FACTS[1]["text"]]


async def test_an_ideal_chat_says_which_fact_repeats_the_other_and_no_name_is_lost_with_it():
    (joined,) = await noted([(0, 1, "repeats")])
    assert FACTS[0]["text"] in joined and "Berlin" in joined


async def test_an_ideal_chat_quotes_the_words_it_was_given_of_each_turn():
    turns = [{"text": "Do you have a dog, or a cat?"}, {"text": "A cat. Her name is Mia."}]
    quotes = [(0, "a cat"), (1, "Her name is Mia")]
    whole = {**ABOUT, "quotes": quotes, "text": "The user has a cat called Mia."}
    async with AsyncMemoryScope(":memory:", settings={}, chat=IdealChat(turns, [whole])) as memory:
        roles = ("assistant", "user")
        said = [{"role": role, "content": turn["text"]} for role, turn in zip(roles, turns, strict=True)]
        await memory.add_turns(said, user="alice", session="s")
        await memory.consolidate(user="alice")
        (found,) = await memory.list(user="alice", kinds=["observation"])
        assert [quote.text for quote in found.quotes] == ["a cat", "Her name is Mia"]
