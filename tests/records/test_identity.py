"""The same turn has the same key; "ok" said twice has two."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from memscope.records import Scope, Turn
from memscope.records.identity import base, digest, inserts

SECRET = b"s" * 32
NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)


def turn(text="ok", *, user="a", agent=None, session=None, speaker="user", time=NOW, key=""):
    return Turn(key, Scope(user, agent, session), "user", speaker, text, time, NOW)


def keys(turns, *, timed=False, replay=False):
    return [draft.turn.key for draft in inserts(SECRET, turns, [timed] * len(turns), replay=replay)]


def test_the_callers_id_is_the_key():
    assert keys([turn(key="m1"), turn(key="m2")], replay=True) == ["m1", "m2"]


def test_said_now_leaves_the_key_to_the_store():
    first, second = inserts(SECRET, [turn(), turn()], [False, False], replay=False)
    assert first.base == second.base is not None
    assert first.turn.key == ""


def test_a_history_counts_within_itself():
    shown = keys([turn("hi"), turn("ok"), turn("ok")], replay=True)
    assert len(set(shown)) == 3
    assert keys([turn("hi"), turn("ok"), turn("ok"), turn("more")], replay=True)[:3] == shown


def test_a_time_makes_the_same_words_the_same_turn():
    assert len(set(keys([turn(), turn()], timed=True))) == 1
    later = turn(time=NOW + timedelta(days=1))
    assert keys([turn()], timed=True) != keys([later], timed=True)
    elsewhere = turn(time=NOW.astimezone(timezone(timedelta(hours=8))))
    assert keys([turn()], timed=True) == keys([elsewhere], timed=True)


def test_everything_that_says_whose_words_they_are_counts():
    variants = [turn(), turn(user="b"), turn(agent="x"), turn(session="x"), turn(speaker="x"), turn("x")]
    assert len({base(SECRET, variant, timed=False) for variant in variants}) == len(variants)


def test_without_the_secret_no_key_can_be_guessed():
    assert digest(b"one" * 8, "a") != digest(b"two" * 8, "a")


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_parts_do_not_run_into_each_other(left, right):
    encodable = (
        [part.encode("utf-8", "replace").decode() for part in left],
        [p.encode("utf-8", "replace").decode() for p in right],
    )
    assert (digest(SECRET, *encodable[0]) == digest(SECRET, *encodable[1])) == (encodable[0] == encodable[1])
