"""A day counted from another one is counted from the day named before it in its sentence."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from memscope.dates.mentions import event_time, mentions

SAID = datetime(2026, 11, 30, 10, tzinfo=ZoneInfo("Europe/Berlin"))  # a Monday


def _days(text: str) -> list[str]:
    events = (event_time(mention, SAID) for mention in mentions(text, SAID))
    return [f"{event.start:%Y-%m-%d}" for event in events if event]


@pytest.mark.parametrize(("text", "days"), [
    ("The interview is on Wednesday 2 December, the second one a week later.", ["2026-12-02", "2026-12-09"]),
    ("Biscuit's op is on 14 December, no food the night before", ["2026-12-14", "2026-12-13"]),
    ("Surgery on 9 December, stop the tablets two days before", ["2026-12-09", "2026-12-07"]),
    ("She arrives on 5 December and leaves the following day", ["2026-12-05", "2026-12-06"]),
    ("We met on 3 May 2019 and got married two years later", ["2019-05-03", "2021-01-01"]),
    ("The wedding is tomorrow, and the next morning we fly", ["2026-12-01", "2026-12-02"]),
    ("豆包12月14号拔牙，前一天晚上不能吃东西", ["2026-12-14", "2026-12-13"]),
    ("手术定在12月9号，前两天要停药", ["2026-12-09", "2026-12-07"]),
    ("下周三面试，三天后出结果", ["2026-12-09", "2026-12-12"]),
    ("12月12号婚礼，第二天大家去爬山", ["2026-12-12", "2026-12-13"]),
    ("航班是12月8号，前一晚住机场", ["2026-12-08", "2026-12-07"]),
])  # fmt: skip
def test_it_is_counted_from_the_day_before_it(text, days):
    assert _days(text) == days


@pytest.mark.parametrize(("text", "days"), [
    ("We landed late and the next day we slept till noon", []),
    ("A week later I was fine.", []),
    ("I'll ring you two days later", []),
    ("The day before I had eaten nothing", []),
    ("前一天还好好的", []),
    ("第二天我们睡到中午", []),
    ("三天后体检", ["2026-12-03"]),
    ("前两天刚买的锅", ["2026-11-28"]),
    ("The day after tomorrow is bin day", ["2026-12-02"]),
    ("I leave in two days", ["2026-12-02"]),
    ("昨天晚上9点至次日凌晨2点停电", ["2026-11-29"]),
])  # fmt: skip
def test_without_such_a_day_only_what_counts_from_now_names_one(text, days):
    assert _days(text) == days
