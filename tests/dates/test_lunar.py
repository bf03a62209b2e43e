"""Feasts and days of the Chinese lunar calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import MemoryScope
from memscope.dates import mentions, recurring
from memscope.dates.lunar import feast, lunar_month

SAID = datetime(2026, 11, 3, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("春节我们回了老家", ["2026-02-17"]),
        ("2024年春节在家", ["2024-02-10"]),
        ("明年春节要去三亚", ["2027-02-06"]),
        ("除夕吃了饺子", ["2026-02-16"]),
        ("大年初二回的娘家", ["2026-02-18"]),
        ("中秋去了外婆家", ["2026-09-25"]),
        ("端午包了粽子", ["2026-06-19"]),
        ("清明去扫了墓", ["2026-04-05"]),
        ("他们腊月二十要来，住到元宵节", ["2027-01-27", "2027-02-20"]),
        ("农历八月十五要去赏月", ["2027-09-15"]),
        ("农历三月初三要赶庙会", ["2027-04-09"]),
        ("We flew home for Chinese New Year", ["2026-02-17"]),
        ("春节联欢晚会很长", []),
        ("吃了腊八粥", []),
        ("初五再说", []),
        ("过小年那天要大扫除", ["2027-01-30"]),
        ("冬至要回老家吃饺子", ["2026-12-22"]),
        ("2025年冬至在外婆家", ["2025-12-21"]),
        ("立秋过后的傍晚真舒服", []),
        ("小年轻不懂事", []),
        ("明后天都在家", ["2026-11-04"]),
        ("2015年十月初一", []),
    ],
)
def test_days_of_the_lunar_calendar(text, days):
    found = mentions(text, SAID)
    assert [f"{one.interval.start:%F}" for one in found] == days


def test_a_month_is_as_long_as_the_moon():
    month = mentions("农历七月不要搬家", SAID)[0].interval
    assert (f"{month.start:%F}", (month.end - month.start).days) == ("2026-08-13", 29)


def test_after_a_month_that_comes_twice_the_others_are_later():
    assert lunar_month(None, 6).find(2025).start == datetime(2025, 6, 25)  # noqa: DTZ001
    assert lunar_month(None, 7).find(2025).start == datetime(2025, 8, 23)  # noqa: DTZ001


@pytest.mark.parametrize("year", [1949, 2101])
def test_years_that_are_not_known_are_silent(year):
    assert feast(8, 15).find(year) is None and lunar_month(None, 8).find(year) is None


@given(st.integers(1951, 2099))
def test_new_year_begins_with_a_new_moon(year):
    """A mean new moon was on 2000-01-06; the true one is at most 15 hours away, and China eight hours ahead."""
    new_moon, month = datetime(2000, 1, 6, 18, 14), timedelta(days=29.530588853)  # noqa: DTZ001
    first = feast(1, 1).find(year)
    assert first is not None and (first.start.month, first.start.day) >= (1, 20) and first.start.month <= 2
    away = (first.start + timedelta(hours=4) - new_moon) / month % 1
    assert min(away, 1 - away) * 29.53 < 1.3
    eve = feast(1, 1, -1).find(year)
    assert eve is not None and first.start - eve.start == timedelta(days=1)


def test_a_birthday_by_the_moon_is_on_no_day_of_the_year():
    assert recurring("我妈的生日是农历八月十五", SAID) == []
    assert [one.rule.day for one in recurring("我妈的生日是八月十五号", SAID)] == [15]


def test_what_was_said_at_a_feast_is_found_by_its_name():
    now = datetime(2026, 2, 17, 9, tzinfo=UTC)
    with MemoryScope(":memory:", settings={"timezone": "Asia/Shanghai"}, clock=lambda: now) as memory:
        for day, text in ((17, "今天陪外婆看了舞龙"), (25, "今天去修了自行车")):
            now = now.replace(day=day)
            memory.add_turns([{"role": "user", "content": text}], user="u")
        now = now.replace(month=11)
        assert "舞龙" in memory.context("今年春节我干什么了", user="u")
