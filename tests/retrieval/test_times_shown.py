"""Lines shown for a time: of what happens then, none that only shares a word with its name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope import MemoryScope


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("What's on next month?", ["conference", "birthday"]),
        ("What's on on Thursday evening?", ["choir"]),
        ("下个月有什么安排？", ["出差"]),
        ("12月9号那天我要去干嘛", ["出差"]),
        ("周四晚上有空吗？", ["吉他"]),
        ("今年端午是几号", []),
    ],
)
def test_a_question_for_a_time_shows_what_is_then_and_no_ailments(message, shown):
    told = {
        "en": ["I'm allergic to peanuts.", "My back hurts, so I see a physio.", "The conference starts on 9 December.",
               "I sing in a choir every Thursday evening.", "Dad's birthday is on 21 December.", "I work at the mill."],
        "zh": ["我对花生过敏。", "医生让我少喝咖啡。", "12月9号要去成都出差。", "我每周四晚上学吉他。",
               "我在银行上班。", "我妈膝盖不好。"],
    }["en" if message.isascii() else "zh"]  # fmt: skip
    with MemoryScope(":memory:", settings={"timezone": "UTC"}) as memory:
        for text in told:
            memory.add_turns([{"role": "user", "content": text, "time": "2026-11-02T09:00"}], user="u")
        lines = memory.context(message, user="u", as_of="2026-11-24T09:00").splitlines()
    assert len(lines) == len(shown) and all(any(one in line for line in lines) for one in shown)


def test_for_a_time_no_line_is_shown_that_shares_only_next_or_week_with_it():
    told = [
        "I started at the mill, three days a week.",
        "My cello exam is on 10 November.",
        "Grandpa turned ninety last week.",
        "We've got two greyhounds.",
        "I can't do stairs.",
        "The kettle broke.",
    ]
    clock = datetime(2026, 11, 4, 20, tzinfo=UTC)
    with MemoryScope(":memory:", settings={"timezone": "UTC"}, clock=lambda: clock) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in told], user="u")
        shown = memory.context("Any plans of mine next week?", user="u")
    assert "cello" in shown and shown.count("\n") == 0


def test_what_is_on_is_asked_for_in_more_than_one_word():
    told = ["体检约在11月11号", "健身卡11月12号到期", "我妈给我寄了腊肉", "我对花生过敏", "换了新键盘"]
    clock = datetime(2026, 11, 4, 12, tzinfo=UTC)
    with MemoryScope(":memory:", settings={"timezone": "Asia/Shanghai"}, clock=lambda: clock) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in told], user="u")
        for what in ("什么", "啥"):
            shown = memory.context(f"下周有{what}安排", user="u")
            assert "体检" in shown and "健身卡" in shown and shown.count("\n") == 1


def test_for_a_month_no_line_is_shown_that_names_another_one():
    told = [
        "My licence runs out in January.",
        "The roof is done in June.",
        "Rent is 950 a month.",
        "Anna's leaving in September.",
        "The vet rang.",
    ]
    clock = datetime(2026, 11, 4, 20, tzinfo=UTC)
    with MemoryScope(":memory:", settings={"timezone": "UTC"}, clock=lambda: clock) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in told], user="u")
        shown = memory.context("What's happening in January?", user="u")
    assert "licence" in shown and shown.count("\n") == 0


@pytest.mark.parametrize(
    ("query", "planned", "remarked"),
    [
        ("What's on this month?", "The dentist is on the 14th.", "The bus was late, as ever."),
        ("这个月有什么安排", "14号去看牙医。", "公交车又晚点了。"),
    ],
)
def test_what_lies_ahead_is_no_remark_made_in_that_month(query, planned, remarked):
    now = [datetime(2026, 9, 1, 9, tzinfo=UTC)]
    with MemoryScope(":memory:", settings={"timezone": "UTC"}, clock=lambda: now[0]) as memory:
        for day, text in enumerate([planned, remarked, "Lovely.", "Noted.", "So it goes.", "Right then."]):
            now[0] = datetime(2026, 9, 1 + day, 9, tzinfo=UTC)
            memory.add_turns([{"role": "user", "content": text}], user="alice")
        shown = memory.context(query, user="alice")
    assert planned[:5] in shown and remarked[:5] not in shown
