"""The times that a question names: weekends, the next few days, a day of the week ahead or behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from memscope import AsyncMemoryScope, dates
from memscope.records import Interval
from memscope.retrieval import Query, understand
from memscope.retrieval.events import with_dates

KIT: Any = SimpleNamespace()
Ask = Callable[..., Query]
WEDNESDAY = datetime(2026, 7, 15, 10, tzinfo=UTC)
SUNDAY = datetime(2026, 7, 19, 20, tzinfo=UTC)


def days(named: str) -> tuple[Interval, ...]:
    """``"07-11..07-12 07-18"``: days of July and August 2026, both ends included."""
    found = []
    for part in named.split():
        first, _, last = part.partition("..")
        start, end = (datetime.fromisoformat(f"2026-{day}T00:00+00:00") for day in (first, last or first))
        found.append(Interval(start, end + timedelta(days=1)))
    return tuple(found)


async def asked(question: Ask, query: str, now: datetime = WEDNESDAY) -> Query:
    return await understand(question(query, now=now), KIT)


LAST_WEEKEND, THIS_WEEKEND = "07-11..07-12", "07-18..07-19"


@pytest.mark.parametrize(
    ("query", "when"),
    [
        ("How was my weekend?", LAST_WEEKEND),
        ("What did I do over the weekend?", LAST_WEEKEND),
        ("What did we get up to at the weekend?", LAST_WEEKEND),
        ("What's on at the weekend?", THIS_WEEKEND),
        ("Am I free on the weekend?", THIS_WEEKEND),
        ("Any plans for the weekend?", THIS_WEEKEND),
        ("Weekend plans?", THIS_WEEKEND),
        ("Who is visiting me at the weekend?", f"{LAST_WEEKEND} {THIS_WEEKEND}"),
        ("What do I have to pack before the weekend?", "07-15..07-17"),
        ("Is a weekend in Rome a good present?", ""),
        ("我周末过得怎么样？", LAST_WEEKEND),
        ("周末干嘛了", LAST_WEEKEND),
        ("周末我跟谁吃饭了？", LAST_WEEKEND),
        ("周末有什么安排", THIS_WEEKEND),
        ("週末有什麼安排？", THIS_WEEKEND),
        ("周末打算做什么？", THIS_WEEKEND),
        ("周末约了谁？", THIS_WEEKEND),
        ("周末一般做什么？", f"{LAST_WEEKEND} {THIS_WEEKEND}"),
    ],
)
async def test_a_weekend_is_the_last_or_the_coming_one_as_the_question_looks(
    question: Ask, query: str, when: str
) -> None:
    assert (await asked(question, query)).periods == days(when)


@pytest.mark.parametrize(
    ("query", "when"),
    [
        ("Do I have anything in the next few days?", "07-15..07-20"),
        ("What is on in the coming days?", "07-15..07-20"),
        ("Are there appointments over the next few weeks?", "07-15..08-19"),
        ("What did I eat in the last few days?", "07-10..07-14"),
        ("Who did I meet these past few days?", "07-10..07-14"),
        ("What did I buy a few days ago?", "07-10..07-14"),
        ("接下来几天有什么安排？", "07-15..07-20"),
        ("未来几天忙不忙？", "07-15..07-20"),
        ("過幾天有什麼事", "07-15..07-20"),
        ("后面几天有空吗", "07-15..07-20"),
        ("未来几周有什么计划", "07-15..08-19"),
        ("最近几天我吃了什么？", "07-10..07-14"),
        ("前几天我说要买什么？", "07-10..07-14"),
        ("这两天我要做什么？", "07-13..07-17"),
        ("我在北京住过几天？", ""),
    ],
)
async def test_a_few_days_are_some_five(question: Ask, query: str, when: str) -> None:
    assert (await asked(question, query)).periods == days(when)


@pytest.mark.parametrize(
    ("query", "when", "ahead"),
    [
        ("Anything on Thursday?", "07-09 07-16", True),
        ("What time is dinner on Friday?", "07-10 07-17", True),
        ("What will I need on Friday?", "07-17", True),
        ("What's scheduled for Tuesday?", "07-21", True),
        ("Is Sunday still free?", "07-19", True),
        ("Did I go running on Tuesday?", "07-14", False),
        ("How did my Monday go?", "07-13", False),
        ("What did I plan for Thursday?", "07-09 07-16", True),
        ("What did Anna say about Thursday?", "07-09 07-16", True),
        ("周四有事吗？", "07-09 07-16", True),
        ("週四有事嗎？", "07-09 07-16", True),
        ("周六几点吃饭？", "07-11 07-18", True),
        ("礼拜天有空吗？", "07-19", True),
        ("周五约了谁？", "07-17", True),
        ("星期二我跑步了吗？", "07-14", False),
        ("周一开会说了什么？", "07-13", False),
    ],
)
async def test_a_day_of_the_week_is_the_last_and_the_coming_one_unless_the_question_looks_one_way(
    question: Ask, query: str, when: str, ahead: bool
) -> None:
    found = await asked(question, query)
    assert (found.periods, found.asks_ahead) == (days(when), ahead)


@pytest.mark.parametrize(
    ("query", "when"),
    [
        ("How was my weekend?", f"{THIS_WEEKEND} {LAST_WEEKEND}"),
        ("What's on at the weekend?", f"{THIS_WEEKEND} 07-25..07-26"),
        ("Anything on Sunday?", "07-19 07-12 07-26"),
        ("周日有什么安排？", "07-19 07-26"),
        ("周日去哪了？", "07-19 07-12"),
    ],
)
async def test_on_the_day_itself_the_one_a_week_away_may_be_meant(question: Ask, query: str, when: str) -> None:
    assert (await asked(question, query, SUNDAY)).periods == days(when)


@pytest.mark.parametrize("query", ["What did I promise Anna last Friday?", "Did I call Anna last friday?"])
async def test_both_readings_of_last_friday_are_asked_for(question: Ask, query: str) -> None:
    assert (await asked(question, query, SUNDAY)).periods == days("07-10 07-17")
    assert (await asked(question, query)).periods == days("07-10")


@pytest.mark.parametrize(
    ("query", "when"),
    [
        ("What am I up to next week?", "07-20..07-26"),
        ("What's Anna up to tomorrow?", "07-16"),
        ("Tell me what we are up to next week", "07-20..07-26"),
        ("What have the kids been up to this week?", "07-13..07-19"),
        ("What were Tom and Ben up to yesterday?", "07-14"),
        ("What do I need to do by Friday?", "07-15..07-17"),
        ("Anything before Friday?", "07-15..07-16"),
        ("周末前能到吗", "07-15..07-17"),
    ],
)
async def test_what_somebody_is_up_to_next_week_does_not_begin_in_the_year_one(
    question: Ask, query: str, when: str
) -> None:
    assert (await asked(question, query)).periods == days(when)


@pytest.mark.parametrize("query", ["How far did I run up to Sunday?", "What did I spend up to Sunday?"])
async def test_up_to_a_day_is_until_then_where_something_is_counted(question: Ask, query: str) -> None:
    (period,) = (await asked(question, query)).periods
    assert (period.start, period.end) == (dates.FIRST_DAY.replace(tzinfo=UTC), days("07-11")[0].end)


@pytest.mark.parametrize(
    ("query", "open_"),
    [
        ("What do I have until the end of the month?", True),
        ("What have I got on between now and the end of the month?", True),
        ("月底前有什么安排？", True),
        ("What's on right now?", False),
        ("How was my weekend?", True),
        ("What's left for the next few days?", True),
        ("What does next week look like?", True),
        ("Is Sunday still free?", True),
        ("周末干嘛了", True),
        ("接下來幾天", True),
        ("週四有事嗎？", True),
        ("Who is visiting me at the weekend?", False),
        ("周末我跟谁吃饭了？", False),
    ],
)
async def test_questions_for_whatever_happens_then(question: Ask, query: str, open_: bool) -> None:
    assert (await asked(question, query)).asks_period is open_


@pytest.mark.parametrize(
    "text",
    [
        "Have a nice weekend!",
        "a few days ago",
        "In the next few days I rest.",
        "几天前去的",
        "过几天去北京",
    ],
)
def test_a_statement_leaves_these_times_open(text: str) -> None:
    assert dates.mentions(text, WEDNESDAY) == []


BEFORE = "in |in a |within |within a |by the |before the |after the |since the |the last |the next |the coming |past |"
BEFORE_ZH = "|上|这|这个|下|前|过|接下来|最近|未来|从|直到"
AFTER_ZH = "|前|后|内|之前|以来|的时候"


def every(*parts: str) -> list[str]:
    return ["".join(chosen) for chosen in product(*(part.split("|") for part in parts))]


@pytest.mark.parametrize("past", [True, False])
@pytest.mark.parametrize("ahead", [True, False])
def test_any_words_around_these_times_are_read_without_an_error(past: bool, ahead: bool) -> None:
    for text in (
        *every(BEFORE, "few days|several weeks|few months|days|weekend|2 weekends", "| ago| from now| of May| later"),
        *every(BEFORE_ZH, "几天|几周|几个月|两天|周末|过几天|后面几天", AFTER_ZH),
    ):
        for one in dates.asked(text, WEDNESDAY, past=past, ahead=ahead):
            assert text[one.start : one.end] == one.text and one.interval.start < one.interval.end


@pytest.mark.parametrize(
    ("told", "query"),
    [
        ("I saw Anna last Friday.", "Who did I see last Friday?"),
        ("I saw Anna on Friday.", "Who did I see on Friday?"),
        ("I'm seeing Anna next Friday.", "Who am I seeing next Friday?"),
        ("I'm going to see Anna on Friday.", "Who am I going to see on Friday?"),
        ("上周五我见了安娜。", "上周五我见了谁？"),
        ("周五我见了安娜。", "周五我见了谁？"),
        ("下周五我要见安娜。", "下周五我要见谁？"),
        ("周五我要见安娜。", "周五我要见谁？"),
    ],
)
@pytest.mark.parametrize("day", range(13, 20))
async def test_a_question_means_the_day_that_a_statement_of_the_same_words_prints(
    question: Ask, told: str, query: str, day: int
) -> None:
    said = WEDNESDAY.replace(day=day)
    printed = re.findall(r"\d{4}-\d\d-\d\d", with_dates(told, said))
    meant = [f"{one.start:%Y-%m-%d}" for one in (await asked(question, query, said)).periods]
    assert set(printed) <= set(meant) and (printed or f"{said:%Y-%m-%d}" in meant or len(meant) > 1)


def test_of_many_dates_the_first_three_are_printed():
    said = datetime(2026, 6, 1, 10, tzinfo=UTC)
    words = "I run tomorrow, swim in 3 days, ride in 4 days, climb in 5 days and rest in 6 days"
    assert with_dates(words + ".", said) == f"{words} (2026-06-02, 2026-06-04, 2026-06-05)."


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("My son was born on 3 May.", []),  # his birthday, not a day of this year
        ("My son was baptised on 3 May.", ["2026-05-03"]),
        ("女儿出生在5月3号。", []),
        ("We lived there last year.", ["2025"]),
        ("I hand in the proposal for Q4 by December 4.", ["2026-12-04"]),  # not of the quarter as well
        ("We lived there for the past decade.", []),
        ("We sailed from 3 May to 20 July.", ["2026-05-03", "2026-07-20"]),
    ],
)
def test_dates_are_printed_of_days_that_were_meant(words: str, printed: list[str]) -> None:
    behind = with_dates(words, WEDNESDAY).removeprefix(words.rstrip(".。"))
    assert re.findall(r"\d{4}(?:-\d\d-\d\d)?", behind) == printed


@pytest.mark.parametrize(
    ("booked", "asked_on", "query"),
    [
        ("made a reservation for the 28th", "2026-11-23", "What's on this week?"),
        ("lower left molar. appointment is Nov 26", "2026-11-23", "What's on this week?"),
        ("got tickets for Coldplay, Jan 25", "2027-01-25", "What's on this week?"),
        ("They moved my interview to the 3rd.", "2026-11-25", "Anything next week?"),
        ("订了28号的酒店", "2026-11-23", "这周有什么安排？"),
        ("机票买好了，1月25号飞", "2027-01-25", "这周有什么安排？"),
        ("面试定在了5号", "2026-11-25", "下周有什么安排？"),
    ],
)
async def test_what_was_booked_is_found_by_the_time_it_is_for(booked: str, asked_on: str, query: str) -> None:
    now = datetime(2026, 11, 19, 10, tzinfo=UTC)
    async with AsyncMemoryScope(":memory:", settings={"timezone": "UTC"}, clock=lambda: now) as memory:
        for text in ("My bike has a flat tyre.", booked, "我拼完了蓝色的拼图。"):
            await memory.add_turns([{"role": "user", "content": text}], user="alice")
        now = datetime.fromisoformat(f"{asked_on}T10:00+00:00")
        found = await memory.retrieve(query, user="alice")
        assert [hit.text for hit in found if "period" in hit.found_by] == [booked]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I'll hand in the proposal for Q1 by January 20.", " (2027-01-20)."),
        ("我12月4号交第四季度的报告。", "（2026-12-04）。"),
        ("I'll hand in the proposal for Q1.", " (2027-01-01 to 2027-03-31)."),
        ("In October I worked; I see the dentist tomorrow.", " (2026-10, 2026-11-10)."),
    ],
)
def test_beside_a_day_no_quarter_is_shown(text: str, shown: str) -> None:
    assert with_dates(text, datetime(2026, 11, 9, 12, tzinfo=UTC)) == text[:-1] + shown


@pytest.mark.parametrize(
    "query",
    [
        "Anything coming up?",
        "Any appointments coming up?",
        "what's on my calendar",
        "do we have anything booked?",
        "最近有啥要办的",
        "接下来有什么活动",
        "我的日程",
        "有没有什么安排",
    ],
)
async def test_a_question_for_what_is_to_come_means_the_next_weeks(question: Ask, query: str) -> None:
    understood = await asked(question, query)
    assert (understood.asks_period, understood.said_then) == (True, False)
    assert [one.end - one.start for one in understood.periods] == [timedelta(days=30)]


@pytest.mark.parametrize("query", ["Any concerts coming up?", "What did I plan?", "奥运会有什么活动", "我办了什么事"])
async def test_one_for_something_else_or_what_was_names_no_time(question: Ask, query: str) -> None:
    assert (await asked(question, query)).periods == ()


@pytest.mark.parametrize(
    ("query", "coming"),
    [
        ("When do we fly to Australia?", True),
        ("我们什么时候飞澳大利亚？", True),
        ("When did we fly to Australia?", False),
        ("When is my lunch on Friday?", False),
        ("When was the Magna Carta sealed?", False),
        ("我们什么时候去过澳大利亚？", False),
        ("我们的冰箱是哪天送来的？", False),
    ],
)
async def test_when_asks_for_a_day_of_the_coming_year(question: Ask, query: str, coming: bool) -> None:
    found = await asked(question, query)
    assert (found.periods == (Interval(WEDNESDAY, WEDNESDAY + timedelta(days=366)),)) is coming
