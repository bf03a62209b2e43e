"""Recurrences: the rule, and the days that the rule names."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memscope.dates import Rule, occurrences, recurring
from memscope.errors import InputError

NOW = datetime(2023, 11, 15, 10, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "words", "rule"),
    [
        ("I swim every Tuesday.", "every Tuesday", Rule("week", 1, (1,))),
        ("On Tuesdays I swim", "Tuesdays", Rule("week", 1, (1,))),
        ("we meet every other Friday at 5", "every other Friday at 5", Rule("week", 2, (4,))),
        ("every second Monday", "every second Monday", Rule("week", 2, (0,))),
        ("every Tuesday and Thursday", "every Tuesday and Thursday", Rule("week", 1, (1, 3))),
        ("Mondays to Fridays", "Mondays to Fridays", Rule("week", 1, (0, 1, 2, 3, 4))),
        ("every weekday", "every weekday", Rule("week", 1, (0, 1, 2, 3, 4))),
        ("every 2 weeks on Wednesday", "every 2 weeks on Wednesday", Rule("week", 2, (2,))),
        ("every three days", "every three days", Rule("day", 3)),
        ("every other week", "every other week", Rule("week", 2)),
        ("he calls daily", "daily", Rule("day")),
        ("on the 19th of every month", "the 19th of every month", Rule("month", day=19)),
        ("every month on the 5th", "every month on the 5th", Rule("month", day=5)),
        ("quarterly", "quarterly", Rule("month", 3)),
        ("once a year", "once a year", Rule("year")),
        ("every May", "every May", Rule("year", month=5)),
        ("every year on May 5th", "every year on May 5th", Rule("year", month=5, day=5)),
        ("on 19 June every year", "every year", Rule("year", month=6, day=19)),
        ("every Christmas", "every Christmas", Rule("year", month=12, day=25)),
        ("Her birthday is on May 5th", "birthday", Rule("year", month=5, day=5)),
        ("I see mum every single Friday", "every single Friday", Rule("week", 1, (4,))),
        ("I work Tuesday, Thursday and Saturday", "Tuesday, Thursday and Saturday", Rule("week", 1, (1, 3, 5))),
        ("周二周四周六晚上八点直播", "周二周四周六晚上八点", Rule("week", 1, (1, 3, 5))),
        ("我每周二健身", "每周二", Rule("week", 1, (1,))),
        ("每周一和周三有课", "每周一和周三", Rule("week", 1, (0, 2))),
        ("每周一三上课", "每周一三", Rule("week", 1, (0, 2))),
        ("隔周五开会", "隔周五", Rule("week", 2, (4,))),
        ("每两天浇水", "每两天", Rule("day", 2)),
        ("每年五月旅行", "每年五月", Rule("year", month=5)),
        ("每月15号发工资", "每月15号", Rule("month", day=15)),
        ("我的生日是六月三号", "生日", Rule("year", month=6, day=3)),
    ],
)
def test_a_rule_is_read(text: str, words: str, rule: Rule) -> None:
    found = recurring(text, NOW)
    assert [(one.text, one.rule) for one in found] == [(words, rule)]
    assert text[found[0].start : found[0].end] == words


@pytest.mark.parametrize(
    "text",
    [
        "we met on Tuesday", "three times a week", "every first Monday of the month", "every hour", "5 dollars per day",
        "every Easter", "It feels like yesterday", "my birthday party was fun", "一周三次", "每小时", "",
        "I was ill Tuesday, Thursday and Saturday", "The fair is on Friday, Saturday and Sunday",
    ],
)  # fmt: skip
def test_no_rule_is_guessed(text: str) -> None:
    assert recurring(text, NOW) == []


@pytest.mark.parametrize(
    ("rule", "first", "last", "starts"),
    [
        (Rule("week", 1, (1, 3)), "2023-11-15", "2023-11-22", ["2023-11-16", "2023-11-21"]),
        (Rule("week", 2, (4,)), "2023-11-20", "2023-12-10", ["2023-12-01"]),
        (Rule("week"), "2023-11-15", "2023-11-16", ["2023-11-13"]),
        (Rule("day", 3), "2023-11-15", "2023-11-22", ["2023-11-15", "2023-11-18", "2023-11-21"]),
        (Rule("month", day=31), "2023-01-01", "2023-06-01", ["2023-01-31", "2023-03-31", "2023-05-31"]),
        (Rule("month", 3), "2023-11-20", "2024-04-01", ["2023-11-01", "2024-02-01"]),
        (Rule("year", month=2, day=29), "2023-01-01", "2029-01-01", ["2024-02-29", "2028-02-29"]),
        (Rule("year", month=5), "2023-05-20", "2024-05-02", ["2023-05-01", "2024-05-01"]),
        (Rule("year"), "2023-05-20", "2023-05-21", ["2023-01-01"]),
        (Rule("year", month=5, day=5), "2023-05-06", "2024-05-05", []),
    ],
)
def test_occurrences_are_those_that_the_interval_touches(rule: Rule, first: str, last: str, starts: list[str]) -> None:
    found = occurrences(rule, day(first), day(last), NOW)
    assert [interval.start for interval in found] == [day(start) for start in starts]


def test_occurrences_are_days_of_the_zone() -> None:
    zone = ZoneInfo("Asia/Shanghai")
    (found,) = occurrences(
        Rule("week", 1, (2,)), datetime(2023, 11, 15, 1, tzinfo=zone), datetime(2023, 11, 15, 2, tzinfo=zone)
    )
    assert found.start == datetime(2023, 11, 15, tzinfo=zone)


def test_a_naive_reference_is_refused() -> None:
    with pytest.raises(InputError):
        recurring("every day", datetime(2023, 11, 15))  # noqa: DTZ001
