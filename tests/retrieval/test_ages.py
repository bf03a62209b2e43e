"""Facts that may have changed since they were said are marked as old; lasting ones never are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.records import Insight, Interval, Observation, Scope
from memscope.retrieval.ages import age_mark

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=426)

CHANGES = [
    "The user lives in Graz.", "The user's flat is in Linz.", "Anna lives with her parents in Rome.",
    "The user works at Siemens as an engineer.", "Tom is a nurse at the city hospital.",
    "The user is looking for a job.",
    "The user has diabetes.", "The user is on medication against migraine.", "The user's rent is 900 euros.",
    "The user plans to learn Spanish.", "The user wants to sell the car.", "The user has been working from home.",
    "用户住在苏州。", "小安住在上海。", "用户在西门子工作。", "用户是医生。", "用户打算学西班牙语。", "用户有糖尿病。",
    "用户的房租是3000元。", "用户正在找工作。",
]  # fmt: skip
LASTS = [
    "The user was born on 3 May 1990.", "The user's birthday is on 3 May.", "The user comes from Peru.",
    "The user likes pizza.", "The user is allergic to nuts.", "The user is called Maya.",
    "The user used to live in Rome.", "The user lived in Paris in 2010.", "The user saw a film.",
    "The user is vegetarian.", "Anna gave the user a clock.",
    "The user has two sisters.", "The user worked at Bosch until 2019.",
    "用户的生日是5月3日。", "用户喜欢比萨。", "用户对花生过敏。", "用户名叫陈美。", "用户以前住在罗马。",
    "用户曾在博世工作。", "用户看了一部电影。", "用户出生于1990年。", "用户有两个妹妹。",
]  # fmt: skip


def fact(text, **more):
    shared = {"scope": Scope("alice"), "sources": ("t",), "said": LONG_AGO, "recorded": LONG_AGO}
    return Observation(id="o", text=text, **shared, **more)


def mark(memory, now=NOW):
    return age_mark(memory, memory.said, now)


@pytest.mark.parametrize("text", CHANGES)
def test_what_may_have_changed_is_marked(text):
    assert mark(fact(text)) == (" (said 14 months ago)" if text.isascii() else "（14个月前说的）")
    assert mark(replace(fact(text), said=NOW - timedelta(days=90))) == ""


@pytest.mark.parametrize("text", LASTS)
def test_what_does_not_change_is_never_marked(text):
    assert mark(fact(text)) == ""


def test_a_dated_event_and_what_has_ended_are_not_marked():
    day = Interval(LONG_AGO, LONG_AGO + timedelta(days=1))
    assert mark(fact("The user is at the clinic in Graz.", happened=day)) == ""
    assert mark(fact("The user lives in Graz.", valid_to=NOW - timedelta(days=300))) == ""
    assert mark(fact("The user has lived in Graz since May.", happened=day)) != ""


def test_an_insight_is_as_old_as_its_latest_fact():
    insight = Insight(
        id="i", scope=Scope("alice"), text="living situation: The user lives in Graz.", sources=("o",), said=LONG_AGO,
        recorded=NOW, subject="living situation",
    )  # fmt: skip
    assert mark(insight) == " (said 14 months ago)"
    assert mark(replace(insight, said=NOW)) == ""


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        ("I live in Graz.", "Where does the user live?", "(said 14 months ago)"),
        ("我住在苏州。", "用户住在哪里？", "（14个月前说的）"),
    ],
)
async def test_a_line_says_how_old_it_is_until_it_is_confirmed(text, question, shown):
    async with AsyncMemoryScope(":memory:", settings={}, clock=lambda: NOW) as memory:
        await memory.add_memory(text, user="alice", time=LONG_AGO)
        assert shown in await memory.context(question, user="alice")
        assert shown not in await memory.context(question, user="alice", as_of=LONG_AGO + timedelta(days=2))
        await memory.add_memory(text, user="alice", session="later")
        assert shown not in await memory.context(question, user="alice")
