"""A plan for the time asked for is shown with the later line that changes it, which may name no time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from memscope import MemoryScope
from recorded import remarks

ENGLISH = ("We're flying to Malaga in October.", "We cancelled Malaga, going to the Lakes by car.")
CHINESE = ("十月我们飞三亚", "三亚不去了，改自驾去黄山", "老年大学报了书法班，礼拜二和礼拜五上课")


def _shown(question: str, plans: Sequence[str]) -> str:
    now = [datetime(2026, 9, 1, 9, tzinfo=UTC)]
    with MemoryScope(":memory:", settings={}, clock=lambda: now[0]) as memory:
        for number, text in enumerate((*plans, *remarks(question)[:60])):
            memory.add_turns([{"role": "user", "content": text}], user="u", session=str(number))
            now[0] += timedelta(hours=6)
        return memory.context(question, user="u")


@pytest.mark.parametrize(
    ("question", "plans", "wanted"),
    [
        ("where are we going in October", ENGLISH, "Lakes"),
        ("what should I pack for October?", ENGLISH, "Lakes"),
        ("十月我们去哪", CHINESE, "黄山"),
        ("书法课是星期几", CHINESE, "礼拜五"),
    ],
)
def test_what_changed_a_plan_is_shown(question: str, plans: Sequence[str], wanted: str) -> None:
    assert wanted in _shown(question, plans)


def test_a_question_for_the_weekday_of_a_feast_stays_about_the_world() -> None:
    assert _shown("感恩节是星期几", CHINESE) == ""
