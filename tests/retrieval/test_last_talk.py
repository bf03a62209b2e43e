""" "What did we talk about last time?" shows the conversation before the current one, whatever its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from memscope import MemoryScope

NOW = datetime(2026, 9, 4, 18, tzinfo=UTC)
TALKS = {
    "hall": ("I'm repainting the hallway.", "The floor is oak."),
    "wedding": ("My sister Nora is getting married in June.", "She wants no speech."),
    "knee": ("My knee hurts when I go down stairs.", "Only in the mornings."),
}
ASKED = (
    "What did we talk about last time?", "ok so where did we leave off", "Let's carry on where we stopped",
    "Hey, back again. Where were we?", "Do you remember what I said last time?", "Summarise our last chat, please",
    "When did we last speak?", "我们上次聊到哪儿了", "接着上次的继续", "還記得我上次跟你說的事嗎", "之前我们聊到哪了",
)  # fmt: skip
OTHER = (
    "Where did we go last time?", "What did my physio tell me last time?", "Where did I leave it?",
    "How did it go last time?",
    "上次去的那家店叫什么", "上次我妈说了什么", "之前你推荐的书是哪本",
)  # fmt: skip


@pytest.fixture
def memory() -> Iterator[MemoryScope]:
    with MemoryScope(":memory:", settings={}, clock=lambda: NOW) as memory:
        for days, (session, texts) in zip((3, 2, 1), TALKS.items(), strict=True):
            _add(memory, texts, session, NOW - timedelta(days=days))
        yield memory


def _add(memory: MemoryScope, texts: Sequence[str], session: str | None, time: datetime) -> tuple[str, ...]:
    turns = [
        {"role": "user", "content": text, "time": time + timedelta(minutes=minute)} for minute, text in enumerate(texts)
    ]
    return memory.add_turns(turns, user="u", session=session).keys


def _shown(memory: MemoryScope, question: str, **more: object) -> list[str]:
    hits = memory.retrieve(question, user="u", speak="when_needed", **more)  # type: ignore[call-overload]
    return sorted(hit.text for hit in hits)


@pytest.mark.parametrize("question", ASKED)
def test_the_newest_conversation_is_shown(memory: MemoryScope, question: str) -> None:
    assert _shown(memory, question) == sorted(TALKS["knee"])


@pytest.mark.parametrize("question", OTHER)
def test_a_question_that_names_something_is_another(memory: MemoryScope, question: str) -> None:
    assert _shown(memory, question) != sorted(TALKS["knee"])


def test_the_current_session_is_not_the_last_one(memory: MemoryScope) -> None:
    current = _add(memory, ["It is raining.", "Where were we?"], "now", NOW - timedelta(minutes=2))
    assert _shown(memory, "Where were we?") == sorted(TALKS["knee"])
    assert _shown(memory, "Where were we?", exclude=current) == sorted(TALKS["knee"])


def test_a_session_that_lasts_is_divided_by_its_pauses() -> None:
    with MemoryScope(":memory:", settings={}, clock=lambda: NOW) as memory:
        for session in ("one", None):
            _add(memory, TALKS["hall"], session, NOW - timedelta(days=3))
            _add(memory, TALKS["knee"], session, NOW - timedelta(days=1))
            _add(memory, ["Hello again."], session, NOW - timedelta(minutes=1))
            assert _shown(memory, "What did we talk about last time?") == sorted(TALKS["knee"])
            memory.forget(user="u", everything=True)


def test_the_last_conversation_of_years_ago_and_of_a_time_in_the_past(memory: MemoryScope) -> None:
    question = "What did we talk about last time?"
    for hours in (6, 1):
        assert _shown(memory, question, as_of=NOW - timedelta(days=1, hours=hours)) == sorted(TALKS["wedding"])
    with MemoryScope(":memory:", settings={}, clock=lambda: NOW) as old:
        assert _shown(old, question) == []
        _add(old, TALKS["hall"], "hall", NOW - timedelta(days=700))
        assert _shown(old, question) == sorted(TALKS["hall"])


@pytest.mark.parametrize("when", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)])
def test_the_edges_of_the_calendar_are_no_error(memory: MemoryScope, when: datetime) -> None:
    assert isinstance(_shown(memory, "What did we talk about last time?", as_of=when), list)
    assert isinstance(memory.profile("u", as_of=when), str)


def test_a_long_conversation_shows_statements_before_greetings(memory: MemoryScope) -> None:
    texts = [f"I watered plant number {number} today." for number in range(12)]
    _add(memory, ["Hello again.", *texts, "Thank you."], "plants", NOW - timedelta(hours=3))
    shown = _shown(memory, "What did we talk about last time?", k=12)
    assert shown == sorted(texts)
    context = memory.context("What did we talk about last time?", user="u")
    assert all(text in context for text in texts)
