"""Repetition: what happens on a weekday or a day of every year is found by the days of a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.languages.repetitions import days_asked, repeated_days
from memscope.records import Interval

SAID = datetime(2024, 3, 4, 10, tzinfo=UTC)
MONDAY = datetime(2026, 6, 15, tzinfo=UTC)


def of_week(start: datetime) -> set[int]:
    return set(days_asked([Interval(start, start + timedelta(days=7))]))


@pytest.mark.parametrize(
    "text",
    [
        "I go to choir every Tuesday evening.",
        "Tuesdays and Thursdays I teach",
        "We hike on weekends",
        "I've started pottery on Wednesday nights",
        "My birthday is June 18th.",
        "We pay the rent on the 16th of every month",
        "I work Tuesday, Thursday and Saturday",
        "每周三晚上我有法语课",
        "周二周四周六晚上八点直播",
        "我的生日是6月19日",
    ],
)
def test_what_is_repeated_shares_a_day_with_a_week_of_another_year(text: str) -> None:
    assert of_week(MONDAY) & {*repeated_days(text, SAID)}


@pytest.mark.parametrize("text", ["I see the dentist on Tuesday", "I run every day", "Every man was there", "生日快乐"])
def test_what_is_said_of_one_day_or_of_every_day_has_no_term(text: str) -> None:
    assert repeated_days(text, SAID) == ()


def test_a_birthday_is_not_of_another_week_and_a_long_time_has_no_days() -> None:
    assert not of_week(MONDAY + timedelta(days=14)) & {*repeated_days("My birthday is June 18th.", SAID)}
    assert days_asked([Interval(MONDAY, MONDAY + timedelta(days=90))]) == ()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What do I do on Wednesdays?", "pottery"),
        ("What do I do on Wednesday evenings?", "pottery"),
        ("我每周三干什么", "pottery"),
        ("What do I do at the moment?", "teach"),
        ("我现在对什么过敏", "青霉素"),
        ("我现在是做什么的", "教书"),
        ("What happens on Saturday mornings?", ""),
        ("What did I do in May 1999?", ""),
        ("1999年夏天我干嘛了？", ""),
    ],
)
async def test_a_question_for_a_time_brings_what_happens_then_or_nothing(question: str, answer: str) -> None:
    said = [
        "I've started pottery on Wednesday nights.",
        "I teach maths at a school in Cork.",
        "我对青霉素过敏。",
        "我在小学教书。",
    ]
    async with AsyncMemoryScope(":memory:", clock=lambda: MONDAY) as memory:
        for n, text in enumerate(said):
            await memory.add_turns([{"role": "user", "content": text, "time": SAID}], user="alice", session=str(n))
        shown = await memory.context(question, user="alice")
        assert answer in shown and (answer or not shown)
        if answer == "pottery":
            assert len(shown.splitlines()) == 1
        if not answer:
            found = await memory.retrieve(question, user="alice", speak="when_needed")
            assert found.why == "nothing_then"


@pytest.mark.parametrize("noted", [False, True])
@pytest.mark.parametrize(
    ("said", "question"),
    [
        (["I go to choir every Tuesday evening.", "My birthday is June 18th."], "What do I have this week?"),
        (["每周三晚上我有法语课", "我妈的生日是6月19日"], "我这周有什么安排？"),
    ],
)
async def test_the_week_brings_what_is_repeated_in_it(said: list[str], question: str, noted: bool) -> None:
    async with AsyncMemoryScope(":memory:", clock=lambda: MONDAY) as memory:
        for n, text in enumerate(said):
            if noted:
                await memory.add_memory(text, user="alice")
            else:
                turn = {"role": "user", "content": text, "time": SAID + timedelta(days=n)}
                await memory.add_turns([turn], user="alice", session=str(n))
        for n in range(60):
            turn = {
                "role": "user",
                "content": f"I always liked tram line {n}, 我喜欢{n}路电车",
                "time": SAID + timedelta(days=10 * n),
            }
            await memory.add_turns([turn], user="alice", session=f"tram {n}")
        found = await memory.retrieve(question, user="alice", k=3, explain=True)
    happening = [hit for hit in found if any(one.name == "event" for one in hit.features)]
    assert {*said} == {one.text for hit in happening for one in (hit.observations or [hit])}
