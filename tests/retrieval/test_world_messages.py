"""A message about the world stays one where it names a day in passing, somebody's role, or no name but a capital."""

from __future__ import annotations

import pytest

from memscope import MemoryScope

SAID = [
    "I'm allergic to cats.",
    "My flatmate Jo works nights at the bakery.",
    "I give the plants water on Mondays.",
    "We moved to Leeds last spring.",
    "My quiz team meets at the Crown.",
    "我闺女在上海上大学。",
    "我今天开始在银行上班。",
]


@pytest.fixture(scope="module")
def memory():
    with MemoryScope(":memory:") as memory:
        for text in SAID:
            memory.add_turns([{"role": "user", "content": text}], user="alice")
        yield memory


@pytest.mark.parametrize(
    "message",
    [
        "What caused the Boer War, in a paragraph, I've got an exam in ten minutes",
        "saw a woodpecker in the park today, do they ever get headaches",
        "why do geese shout when they fly",
        "what day of the week was 14 February 1998",
        "my flatmate reckons glass is a liquid, is that true?",
        "Give me a pangram about rowing.",
        "老师今天讲光合作用我走神了，叶绿素为什么是绿的",
    ],
)
def test_nothing_is_shown(memory, message):
    assert memory.context(message, user="alice") == ""


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("When does my flatmate get home?", "Jo works nights"),
        ("what does my flatmate do all night", "Jo works nights"),
        ("我闺女为什么不高兴", "上海"),
        ("What have I got on Mondays?", "plants"),
    ],
)
def test_what_asks_about_the_user_or_their_people_is_answered(memory, message, words):
    assert words in memory.context(message, user="alice")
