"""A user who is called by name is the user."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.languages.questions import in_first_person


@pytest.mark.parametrize(
    ("query", "user", "meant"),
    [
        ("Where does Alice live?", "alice", "Where does me live?"),
        ("Alice's job?", "alice", "my job?"),
        ("What is Alice’s job?", "Alice", "What is my job?"),
        ("小明住在哪里？", "小明", "我住在哪里？"),
        ("Alice lives where?", "alice", "Alice lives where?"),
        ("Will it rain?", "will", "Will it rain?"),
        ("I saw alice in the film", "alice", "I saw alice in the film"),
        ("What about Alices?", "alice", "What about Alices?"),
        ("What does Me mean?", "me", "What does Me mean?"),
        ("Is a.b in C?", "a.b", "Is a.b in C?"),
        ("u-17", "u-17", "u-17"),
    ],
)
def test_the_name_of_the_user_is_the_first_person(query, user, meant):
    assert in_first_person(query, user) == meant


@pytest.mark.parametrize(
    ("user", "query", "answer"),
    [
        ("alice", "Where does Alice live?", "I moved to Berlin last May."),
        ("alice", "What is Alice's job?", "I started at Siemens as a data engineer."),
        ("小明", "小明住在哪里？", "我去年搬到了杭州。"),
        ("小明", "小明对什么过敏？", "我对花生过敏。"),
    ],
)
async def test_a_question_about_the_user_by_name_finds_what_the_user_said(user, query, answer):
    said = {
        "alice": ["I moved to Berlin last May.", "Alice Cooper is playing in town, shall we go?",
                  "I can't stand mushrooms.", "I started at Siemens as a data engineer."],
        "小明": ["我去年搬到了杭州。", "小明星演唱会的票很贵。", "我对花生过敏。"],
    }  # fmt: skip
    async with AsyncMemoryScope(":memory:", settings={"timezone": "UTC"}) as memory:
        for text in said[user]:
            await memory.add_turns([{"role": "user", "content": text}], user=user, session=text)
        assert (await memory.retrieve(query, user=user))[0].text == answer


@pytest.mark.parametrize("query", ["Who is Alice?", "What do you know about Alice?"])
async def test_who_the_user_is_asks_for_the_profile(query):
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        await memory.add_turns([{"role": "user", "content": "I'm vegetarian."}], user="alice")
        assert (await memory.retrieve(query, user="alice")).profile
