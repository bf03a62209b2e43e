"""A chat's prompts share their beginning, which a provider's prompt cache keeps; memory stands at the end."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from memscope import AsyncMemoryScope
from memscope.prompts.memory_block import OPEN_MARK, strip_memory
from memscope.retrieval.window import first_shown
from memscope_testing.models import ScriptedChat

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)


def opened(chat: ScriptedChat, **settings) -> AsyncMemoryScope:
    given = {"background": False, **settings}
    return AsyncMemoryScope(":memory:", settings=given, chat=chat, clock=lambda: NOW)


async def talk(memory: AsyncMemoryScope, texts: list[str], **options) -> None:
    for text in texts:
        await memory.chat(text, user="alice", session="now", **options)


async def test_a_prompt_begins_with_what_the_last_one_sent():
    texts = [
        "What is my boat called?",
        "Where does Kim live?",
        "我的小船叫什么？",
        "Does Kim live in Lisbon?",
        "And my boat?",
    ]
    chat = ScriptedChat(["Good."] * len(texts))
    async with opened(chat) as memory:
        for fact in ("My boat is called Aurora.", "Kim lives in Lisbon.", "我的小船叫晨曦号。"):
            await memory.add_turns([{"role": "user", "content": fact}], user="alice", session="old")
        await memory.blocks("alice").append("human", "Alice sails.")
        await talk(memory, texts)
    assert len({prompt[0]["content"] for prompt in chat.prompts}) == 1
    for before, after in pairwise(chat.prompts):
        newest = before[-1]
        assert OPEN_MARK in newest["content"]
        assert after[: len(before)] == [*before[:-1], {**newest, "content": strip_memory(newest["content"])}]


async def test_the_assistant_is_told_in_the_language_that_the_user_speaks():
    chat = ScriptedChat(["好。"] * 3)
    async with opened(chat) as memory:
        await talk(memory, ["你好，我想聊聊我的小船。", "ok", "Aurora"])
    assert ["长期记忆" in prompt[0]["content"] for prompt in chat.prompts] == [True] * 3


async def test_a_full_window_keeps_its_beginning_for_many_turns():
    chat = ScriptedChat(["I will keep that in mind."] * 40)
    async with opened(chat) as memory:
        await talk(memory, [f"Remark {number} about the garden." for number in range(40)], window=300)
    begins = [prompt[1]["content"] for prompt in chat.prompts]
    assert strip_memory(begins[-1]) != strip_memory(begins[0])  # it moved
    assert len({strip_memory(begin) for begin in begins}) <= 6


def test_a_window_holds_half_of_its_tokens_or_more():
    for costs in ([10] * 50, [3, 40, 7] * 20, [1] * 7):
        for upto in range(1, len(costs) + 1):
            shown = sum(costs[first_shown(costs[:upto], 100) : upto])
            assert shown <= 100
            assert shown == sum(costs[:upto]) or shown > 50 - max(costs)
    assert first_shown([30, 30, 99], 100) == 2  # a long turn is shown though it is more than a step
    assert first_shown([30, 101], 100) == 2


async def test_an_assembled_context_ends_with_what_changes():
    async with opened(ScriptedChat([])) as memory:
        await memory.add_turns(
            [{"role": "user", "content": "Kim is allergic to walnuts."}], user="alice", session="old"
        )
        await memory.add_turns([{"role": "user", "content": "Kim comes to dinner."}], user="alice", session="now")
        await memory.blocks("alice").append("human", "Likes to cook.")
        shown = await memory.context("What is Kim allergic to?", user="alice", session="now", assemble=True)
    places = [shown.index(part) for part in ("user: Kim comes to dinner.", "Likes to cook.", "walnuts")]
    assert places == sorted(places)
