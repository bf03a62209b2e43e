"""Periods of statements: the same from a sentence's skeleton as from its words."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.dates import event_time, is_undirected, mentions, readings
from memscope.dates.cascade import compiled, needed
from memscope.dates.lexer import blanked, skeleton, tokens
from memscope.dates.rules import rows
from memscope.dates.vocabulary import VOCABULARY
from memscope.retrieval.events import with_dates
from memscope.text.analysis import analyse
from memscope.text.periods import named_periods

SAID = datetime(2026, 3, 4, 9, tzinfo=UTC)  # a Wednesday
TIMES = (
    "on June 12th", "next Friday", "last week", "in two weeks", "on May 3, 2026", "from June 3 to 12", "tomorrow",
    "two days ago", "at 5 pm on Monday", "next weekend", "on 12/24", "in the second week of April", "on Sunday the 8th",
)  # fmt: skip
BEFORE = (
    "I see the dentist",
    "We'll meet Anna's sister at the harbour",
    "They moved the old piano",
    "The train leaves",
)
AFTER = (
    ".",
    ", and the neighbours still complain about the noise.",
    " with Tom and 3 others.",
    " because of the rain!",
)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("when", TIMES)
@pytest.mark.parametrize("after", AFTER)
def test_a_statement_names_the_periods_of_its_words(before: str, when: str, after: str) -> None:
    text = f"{before} {when}{after}"
    named = [one for one in mentions(text, SAID) if not one.dayless]
    told = [time for one in named for time in (event_time(one, SAID), *(readings(one) if is_undirected(one) else ()))]
    assert named_periods(text, SAID) == list(dict.fromkeys(told)) != []


#: Days that few texts name, in words that many have.
SELDOM_NAMED = re.compile(
    "current|groundhog|guy fawkes|earth|cinco|freedom|jubilee|inaug|bastille|martin|mlk|washington|chinese|mardi"
    "|new year day|new years$|.* festival$"
)
DAYS = [word for word, (kind, _) in VOCABULARY.items() if kind in ("date", "reldate") and not SELDOM_NAMED.match(word)]


@pytest.mark.parametrize("word", DAYS)
def test_a_statement_with_a_day_of_the_tables_is_read(word: str) -> None:
    text = f"We eat out {word} with Kim." if word.isascii() else f"家里{word}吃饭"
    times = {time for one in mentions(text, SAID) if (time := event_time(one, SAID))}
    assert times <= set(named_periods(text, SAID, timed=analyse(text).timed))


@pytest.mark.parametrize("text", [
    "三周后我要搬家", "十天前拆的线", "再过三周就走", "明晚同学会", "明早体检", "五一回老家", "正月初五摆酒",
    "月中发工资",
])  # fmt: skip
def test_a_chinese_statement_with_a_counted_time_or_a_part_of_a_day_is_read(text: str) -> None:
    assert named_periods(text, SAID, timed=analyse(text).timed) != []


@pytest.mark.parametrize("text", ["See you on Friday?", "I like tea.", "since March", "in 1999", "下周三见吗？"])
def test_a_question_and_a_long_or_open_time_name_none(text: str) -> None:
    assert named_periods(text, SAID) == []


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("I moved to Lisbon in March.", 0), ("We got married in June.", 0), ("I visited Rome on May 3rd.", 0),
        ("我三月搬到了里斯本。", 0), ("我们六月结婚了。", 0),
        ("I'm flying to Rome in March.", 1), ("The deadline is March 31.", 1), ("我三月要去罗马。", 1),
    ],
)  # fmt: skip
def test_a_date_without_a_year_has_that_of_the_sentences_tense(text: str, year: int) -> None:
    said = datetime(2026, 11, 22, 9, tzinfo=UTC)
    assert [one.start.year for one in named_periods(text, said)] == [2026 + year]
    assert f"({2026 + year}-" in with_dates(text, said) or f"（{2026 + year}-" in with_dates(text, said)


@pytest.mark.parametrize(
    ("text", "said", "day"),
    [
        ("计划变了，新的票是10月2号到6号。", "2026-09-30", "2026-10-02"),
        ("所以国庆不去成都，改去泉州了。", "2026-09-30", "2026-10-01"),
        ("同事拉我报名了11月7号的骑行，我一冲动就交了钱。", "2026-10-08", "2026-11-07"),
        ("我订了12月3号的机票。", "2026-11-05", "2026-12-03"),
        ("I bought tickets for the concert on December 3.", "2026-11-05", "2026-12-03"),
        ("I got an appointment on January 5.", "2026-12-20", "2027-01-05"),
        ("我妈十一月第二个周末从昆明过来。", "2026-10-12", "2026-11-14"),
        ("他12月14号满三十岁，想给他过一下。", "2026-08-09", "2026-12-14"),
        ("为了12月14号的体检，早点睡。", "2026-08-09", "2026-12-14"), ("我6月去过罗马。", "2026-08-09", "2026-06-01"),
        ("我们在3月14号见过一次。", "2026-11-09", "2026-03-14"),
        ("I bought a car on January 5.", "2026-05-05", "2026-01-05"), ("我5号买了车。", "2026-05-03", "2026-04-05"),
    ],
)  # fmt: skip
def test_what_was_arranged_for_a_day_soon_to_come_is_not_told_of_last_year(text: str, said: str, day: str) -> None:
    assert f"{named_periods(text, datetime.fromisoformat(f'{said}T12:00+00:00'))[0].start:%F}" == day


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Dentist on Thursday at half past nine.", ""), ("周四看牙。", ""),
        ("The plumber comes on Wednesday.", "(2026-11-11)"), ("The plumber on Wednesday.", ""),
        ("Dentist on Thursday, remind me to park.", "(2026-11-12)"), ("提醒我周四看牙。", "（2026-11-12）"),
        ("I saw the dentist on Thursday.", "(2026-11-05)"), ("Kim called on Thursday.", "(2026-11-05)"),
        ("周四看了牙。", "（2026-11-05）"), ("I'll see the dentist on Thursday.", "(2026-11-12)"),
        ("Last Thursday, the dentist.", "(2026-11-05)"), ("Dentist tomorrow.", "(2026-11-10)"),
    ],
)  # fmt: skip
def test_a_day_of_the_week_is_dated_where_the_words_say_which(text: str, shown: str) -> None:
    said = datetime(2026, 11, 9, 12, tzinfo=UTC)
    assert with_dates(text, said) == (text[:-1] + (shown if "（" in shown or not shown else f" {shown}") + text[-1])


def test_a_birth_has_no_year() -> None:
    assert with_dates("She was born on March 3rd.", SAID) == "She was born on March 3rd."


def test_sentences_built_alike_have_one_skeleton() -> None:
    assert skeleton("Anna sees the dentist on Friday") == skeleton("Bob fixes the roof on Friday")


@given(st.lists(st.sampled_from([*BEFORE, *TIMES, "下周三", "六月三号", "on the 5th", "half past two"])).map(" ".join))
def test_no_row_matches_without_the_kinds_that_it_needs(text: str) -> None:
    kinds = "".join(compiled(token.kind).pattern for token in tokens(blanked(text)))
    for row in rows():
        assert any(one <= set(kinds) for one in needed(row.pattern)) or not compiled(row.pattern).search(kinds)
