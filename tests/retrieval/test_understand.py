"""Understanding a query."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from growth import growth
from memscope.languages.durable_facts import DURABLE_TERM, KIND_TERMS
from memscope.records import Interval
from memscope.retrieval import Query, understand
from memscope.retrieval.understand import MAX_PERIODS
from memscope.stores.memory import InMemoryStore
from memscope.text.terms import name_key, term

KIT: Any = SimpleNamespace(store=InMemoryStore())
Ask = Callable[..., Query]


def day(year: int, month: int, date: int) -> datetime:
    return datetime(year, month, date, tzinfo=UTC)


async def test_terms_are_distinct_and_fillers_count_half(question: Ask) -> None:
    asked = await understand(question("Did Ben mention boats, a boat, or pottery?"), KIT)
    assert asked.terms == tuple(map(term, ["ben", "mention", "boat", "potteri"]))
    assert asked.weights == (1, 0.5, 1, 1)


async def test_chinese_characters_without_meaning_are_left_out(question: Ask) -> None:
    asked = await understand(question("她是在哪里看的日落？"), KIT)
    assert term("日落") in asked.terms
    assert term("的") not in asked.terms
    assert (await understand(question("你的是什么"), KIT)).terms


@pytest.mark.parametrize("query", ["Should I book the cruise?", "Recommend a hotel", "帮我选一家餐厅"])
async def test_a_personal_question_brings_lasting_statements_that_weigh_nothing_as_words(
    question: Ask, query: str
) -> None:
    asked = await understand(question(query), KIT)
    assert (asked.terms[-1], asked.weights[-1]) == (DURABLE_TERM, 0)
    assert DURABLE_TERM not in (await understand(question("Who wrote Hamlet?"), KIT)).terms


@pytest.mark.parametrize("query", ["I burnt the toast again.", "我肩膀疼得要命！", "又赢了，太开心了！"])
async def test_a_remark_is_about_the_user_and_asks_for_no_lasting_statements(question: Ask, query: str) -> None:
    asked = await understand(question(query), KIT)
    assert asked.asks_personally
    assert DURABLE_TERM not in asked.terms


@pytest.mark.parametrize(
    ("query", "when"),
    [
        ("On which date did I move?", True),
        ("When is the race?", True),
        ("我几号搬的家？", True),
        ("Where is it?", False),
    ],
)
async def test_a_question_for_a_date_is_known(question: Ask, query: str, when: bool) -> None:
    assert (await understand(question(query), KIT)).asks_when == when


@pytest.mark.parametrize("query", ["", "   ", "?!…", "🙂🙂", "。，"])
async def test_a_query_without_words_has_no_terms(question: Ask, query: str) -> None:
    assert (await understand(question(query), KIT)).terms == ()


async def test_periods_without_a_year_are_those_of_every_year(question: Ask) -> None:
    periods = (await understand(question("What happened in March?"), KIT)).periods
    assert Interval(day(2024, 3, 1), day(2024, 4, 1)) in periods
    assert Interval(day(2011, 3, 1), day(2011, 4, 1)) in periods
    assert periods[-1] == Interval(day(2025, 3, 1), day(2025, 4, 1))  # the coming one, and none later


async def test_a_day_of_the_week_may_lie_ahead_where_the_words_look_ahead(question: Ask) -> None:
    asked = await understand(question("Do I have something on Thursday?"), KIT)
    assert asked.asks_ahead and Interval(day(2024, 6, 6), day(2024, 6, 7)) in asked.periods
    told = await understand(question("What did I do on Thursday?"), KIT)
    assert not told.asks_ahead and Interval(day(2024, 6, 6), day(2024, 6, 7)) not in told.periods


async def test_a_date_without_a_year_lies_ahead_only_where_the_words_say_so(question: Ask) -> None:
    assert (await understand(question("What is planned for June 12?"), KIT)).asks_ahead
    assert not (await understand(question("What did Ben cook on June 12?"), KIT)).asks_ahead
    assert not (await understand(question("What does Ben like about June?"), KIT)).asks_ahead


async def test_periods_are_seen_from_the_time_asked_about(question: Ask) -> None:
    (now,) = (await understand(question("What did I do yesterday?"), KIT)).periods
    (then,) = (await understand(question("What did I do yesterday?", as_of=day(2024, 3, 5)), KIT)).periods
    assert (now.start, then.start) == (day(2024, 5, 31), day(2024, 3, 4))


@pytest.mark.parametrize(
    ("query", "number", "assistant"),
    [
        ("How many dogs does Ada have?", True, False),
        ("她有几个孩子？", True, False),
        ("What did you recommend for dinner?", False, True),
        ("你之前推荐过什么书？", False, True),
        ("Where does Ada live?", False, False),
    ],
)
async def test_wording(question: Ask, query: str, number: bool, assistant: bool) -> None:
    asked = await understand(question(query), KIT)
    assert (asked.asks_number, asked.asks_assistant) == (number, assistant)


async def test_names_that_a_query_may_mention(question: Ask) -> None:
    assert name_key("Ben") in (await understand(question("What does Ben make?"), KIT)).names
    assert name_key("小明") in (await understand(question("小明去了哪里"), KIT)).names


async def test_dates_are_read_from_the_beginning_and_the_end_of_a_long_query(question: Ask) -> None:
    pasted = "and then in 2011 we talked about the garden. " * 200
    asked = await understand(question(f"In 2020: {pasted.replace('2011', '2012', 150)[:-2]}; in 2021?"), KIT)
    assert {period.start.year for period in asked.periods} == {2020, 2011, 2012, 2021}
    middle = await understand(question(f"{'a b ' * 1000} in 2020 {'a b ' * 1000}"), KIT)
    assert middle.periods == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "月5日",
        "5日 会议\n",
        "2024-",
        "1日, 2日, 3日 ",
        "5/",
        "周",
        "May ",
        "昨天",
        "from May to ",
        "每天5日",
        "a 日 ",
        "一",
    ],
)
async def test_understanding_takes_no_longer_than_the_query_is(question: Ask, piece: str) -> None:
    def read(query: str) -> None:
        with suppress(StopIteration):
            understand(question(query), KIT).send(None)

    assert growth(read, piece, 4_000) < 3


async def test_many_dates_give_a_bounded_number_of_periods(question: Ask) -> None:
    asked = await understand(question("".join(f"{n}月{n}日 " for n in range(1, 12)) * 20), KIT)
    assert len({period.start.month for period in asked.periods}) == 11
    assert len(asked.periods) <= MAX_PERIODS


@pytest.mark.parametrize(
    ("query", "open_"),
    [
        ("What have I got on this week?", True),
        ("What happened at the end of March?", True),
        ("我这周有什么事？", True),
        ("我们十一月去哪儿？", True),
        ("Where was the dinner this week?", False),
        ("What happened?", False),
    ],
)
async def test_a_question_for_whatever_happens_at_a_time_is_known(question: Ask, query: str, open_: bool) -> None:
    assert (await understand(question(query), KIT)).asks_period is open_


async def test_words_of_a_time_weigh_nothing_where_nothing_else_is_asked(question: Ask) -> None:
    asked = await understand(question("What happened at the end of March?"), KIT)
    assert dict(zip(asked.terms, asked.weights, strict=True)) == {
        term("happen"): 1.0, term("end"): 0.0, term("march"): 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("query", ["Where do I live right now?", "Where do I currently live?", "我现在住在哪？"])
async def test_a_question_about_a_home_looks_for_what_tells_of_one_and_not_for_now(question: Ask, query: str) -> None:
    asked = await understand(question(query), KIT)
    assert asked.kinds_asked == {KIND_TERMS["home"]}
    telling = {one for one, weight in zip(asked.terms, asked.weights, strict=True) if weight}
    assert telling.isdisjoint(map(term, ["right", "current", "home"]))


@pytest.mark.parametrize(
    ("query", "then"),
    [
        ("Do I eat meat this week?", False),
        ("What did I say this week?", True),
        ("What did Ben cook in May?", True),
    ],
)
async def test_the_time_of_saying_tells_little_of_a_time_ahead(question: Ask, query: str, then: bool) -> None:
    assert (await understand(question(query), KIT)).said_then is then


@pytest.mark.parametrize(
    ("query", "talk"),
    [("What did I ask you about boats?", True), ("My boss asks for the day of my race", False)],
)
async def test_somebody_elses_asking_is_not_about_the_conversation(question: Ask, query: str, talk: bool) -> None:
    assert (await understand(question(query), KIT)).about_talk is talk


async def test_the_word_date_of_a_question_for_one_is_no_subject(question: Ask) -> None:
    asked, subject = [
        await understand(question(query), KIT) for query in ("On which date was I fined?", "When was I fined?")
    ]
    assert asked.topics == subject.topics
