"""Dated lines within a budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope
from memscope.records import Hit, Scope, Turn
from memscope.retrieval import context
from memscope.text.tokens import estimate_tokens
from memscope_testing.records import observation

START = datetime(2024, 3, 4, 9, tzinfo=UTC)


def hit(text: str, *, day: int = 0, speaker: str = "Ada", changed: datetime | None = None) -> Hit:
    at = START + timedelta(days=day)
    turn = Turn(f"k{day}", Scope("alice"), "person", speaker, text, at, at)
    return Hit(turn=turn, insight=None, score=1.0, found_by=("text",), changed=changed)


def test_lines_are_dated_and_oldest_first() -> None:
    assert context([hit("Hello", day=2), hit("你好", day=1, speaker="小明")], tokens=100) == (
        "[2024-03-05 09:00 星期二] 小明: 你好\n[2024-03-06 09:00 Wednesday] Ada: Hello"
    )


def test_a_hit_without_words_is_no_line() -> None:
    assert context([hit("", changed=START), hit("Hello")], tokens=100) == "[2024-03-04 09:00 Monday] Ada: Hello"


def test_a_hit_is_one_line() -> None:
    assert context([hit("one\n\n  two\nthree")], tokens=100).endswith("Ada: one two three")


@pytest.mark.parametrize(("origins", "shown"), [(("user",), False), (("tool",), True), (("tool", "user"), False)])
def test_what_a_machine_noted_is_told_with_its_speaker(origins: tuple[str, ...], shown: bool) -> None:
    noted = tuple(observation(f"o{n}", "k0", text="The user has a cat.", origin=one) for n, one in enumerate(origins))
    told = context([replace(hit("He has a cat"), matched=noted)], tokens=100)
    assert ("Ada: The user" in told, told.count("The user has a cat.")) == (shown, len(origins))


def test_a_change_is_marked_in_the_language_of_the_text() -> None:
    assert context([hit("我住在北京", changed=START)], tokens=100).endswith("我住在北京（后来有变：2024-03-04）")


def test_the_best_that_fit_are_kept() -> None:
    long, short = hit("word " * 100, day=1), hit("short", day=2)
    told = context([hit("best"), long, short], tokens=40)
    assert [line[-5:] for line in told.splitlines()] == [" best", "short"]


def test_a_best_hit_that_is_too_long_is_shortened() -> None:
    told = context([hit("word " * 400)], tokens=50)
    assert told.startswith("[2024-03-04 09:00 Monday] Ada: word") and told.endswith("…")
    assert 40 <= estimate_tokens(told) <= 50


def test_a_long_turn_that_a_plugin_cut_short_is_shown() -> None:
    of_its_third_part = replace(hit("I paid with the card ****."), part=2)
    assert context([of_its_third_part], tokens=100).endswith("Ada: I paid with the card ****.")


def test_nothing_fits_into_nothing() -> None:
    assert context([hit("word")], tokens=1) == ""
    assert context([], tokens=100) == ""


def test_the_estimate_can_be_another() -> None:
    assert context([hit("a"), hit("b", day=1)], tokens=1, estimate=lambda _: 1).count("\n") == 0


@given(st.lists(st.text(min_size=1, max_size=200), max_size=12), st.integers(1, 200))
def test_the_budget_holds(said: list[str], tokens: int) -> None:
    told = context([hit(text, day=day) for day, text in enumerate(said)], tokens=tokens)
    assert estimate_tokens(told) <= tokens
    assert len(told.splitlines()) <= len(said) or any(len(text.splitlines()) > 1 for text in said)


async def test_a_session_that_narrows_the_search_to_nothing_is_told_once(
    memory: AsyncMemoryScope, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="memscope")
    assert "Pixel" in await memory.context("What is the name of Ada's dog?", user="alice")
    assert "Pixel" in await memory.context("What is the name of Ada's dog?", user="alice", session="1")
    assert not caplog.messages
    for session in ("now", "now", "later"):
        assert not await memory.context("What is the name of Ada's dog?", user="alice", session=session)
    assert caplog.messages == [
        f"nothing was found within session {session!r}; leave session out to search all of the user's sessions"
        for session in ("now", "later")
    ]
    assert caplog.records[0].levelname == "INFO"


async def test_sessions_told_of_are_bounded(
    memory: AsyncMemoryScope, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", logger="memscope")
    monkeypatch.setattr("memscope.retrieval.explain.MAX_LOGGED_SESSIONS", 2)
    for n in range(5):
        await memory.context("the dog", user="alice", session=f"new {n}")
    assert len(caplog.messages) == 2
