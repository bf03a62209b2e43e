"""Words of time beside words that change what they are: a verb after "11 March", 气 after 周天."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope.dates import mentions, occurrences, recurring
from memscope.records import Interval

SAID = datetime(2026, 11, 19, 10, tzinfo=UTC)  # a Thursday


def named(text: str) -> list[str]:
    """Return the first and the last day of each time; nothing for an end that is open."""
    return [_days(one.interval) for one in mentions(text, SAID)]


def _days(one: Interval) -> str:
    first = "" if one.start.year == 1 else f"{one.start:%m-%d}"
    last = "" if one.end.year == 9999 else f"{one.end:%m-%d}"
    return f"{first}..{last}"


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("On 11 March I have to submit the tax", "03-11..03-12"),
        ("From 8 May I am away", "05-08..05-09"),
        ("by 11 March I must pay", "..03-12"),
        ("by 8 may my sister must pay", "..05-09"),
        ("On March 11 Anna arrives", "03-11..03-12"),
        ("Until 8 May they stay here", "..05-08"),
        ("between 8 May and 10 May I am away", "05-08..05-11"),
        ("8 May is a holiday", "05-08..05-09"),
        ("豆豆今年上一年级", "01-01..01-01"),
        ("11 March we leave", "03-11..03-12"),
    ],
)
def test_a_day_of_march_or_may_before_a_subject_is_a_day(text: str, days: str) -> None:
    assert named(text) == [days]


@pytest.mark.parametrize("text", ["only 3 may enter", "room 8 may have been free", "about 300 march in protest"])
def test_may_and_march_as_verbs_behind_a_number_name_no_day(text: str) -> None:
    assert named(text) == []


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("My daughter turned seven last week", "11-09..11-16"),
        ("he was two last month", "10-01..11-01"),
        ("in the three last weeks", "10-29..11-19"),
    ],
)
def test_a_number_before_last_week_counts_something_else(text: str, days: str) -> None:
    assert named(text) == [days]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("下周天气怎么样", "11-23..11-30"), ("下周天下午见", "11-29..11-29"), ("本周天气", "11-16..11-23"),
        ("这个星期天气很好", "11-16..11-23"), ("这个星期天去爬山", "11-22..11-23"), ("这周天天加班", "11-16..11-23"),
        ("星期天天气很好", "11-15..11-16"), ("下周日程满了", "11-23..11-30"), ("下周日爬山", "11-29..11-30"),
        ("下周三亚见", "11-23..11-30"), ("下周三见", "11-25..11-26"), ("下周六级考试", "11-23..11-30"),
        ("下周二二手市场开门", "11-24..11-25"), ("下周二手市场开门", "11-23..11-30"),
        ("下周一一早走", "11-23..11-24"), ("下周五一大早见", "11-27..11-28"),
        ("下周一一起吃饭", "11-23..11-24"), ("下周一起吃饭", "11-23..11-30"), ("周三一起去", "11-18..11-19"),
        ("下周五一起吃饭", "11-27..11-28"), ("上周一个人去的", "11-09..11-16"), ("上周一直下雨", "11-09..11-16"),
        ("周一直飞上海", "11-16..11-17"), ("下周一晚上有事", "11-23..11-23"), ("从下周一起戒烟", "11-23.."),
        ("下周二十号开会", "11-23..11-30 10-20..10-21"), ("下周二十点开会", "11-24..11-24"),
        ("今天起晚了", "11-19..11-20"), ("今天起床晚了", "11-19..11-20"), ("明天起飞", "11-20..11-21"),
        ("明天起戒糖", "11-20.."), ("今天起晚上不吃饭", "11-19.."), ("昨天后悔没去", "11-18..11-19"),
        ("昨天后来下雨了", "11-18..11-19"), ("昨天前往上海", "11-18..11-19"), ("昨天前台打来电话", "11-18..11-19"),
        ("两天后面试", "11-21..11-22"), ("两天前面试了", "11-17..11-18"), ("28号前提交", "..11-28"),
        ("三天后天气转好", ""), ("后天气温下降", "11-21..11-22"), ("5日游很累", ""), ("一周内容很多", ""),
    ],
)  # fmt: skip
def test_a_chinese_word_is_read_with_what_stands_behind_it(text: str, days: str) -> None:
    assert " ".join(named(text)) == days


def test_every_monday_together_is_every_monday() -> None:
    (swim,) = recurring("每周一一起游泳", SAID)
    assert [one.start.weekday() for one in occurrences(swim.rule, SAID, SAID.replace(day=30))] == [0] * 2


@pytest.mark.parametrize(
    "text", ["We leave in a few days.", "within a few weeks", "过几天去", "几天内", "in a few months, May 5"]
)
def test_a_few_days_are_no_time_of_a_statement(text: str) -> None:
    assert [one.text for one in mentions(text, SAID)] == (["May 5"] if "May" in text else [])
