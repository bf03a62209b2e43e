"""Changes since something was said: what is current, and which turns are marked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from memscope.records import Hit, Scope, Turn
from memscope.records.stored import CORRECTED
from memscope.retrieval.changes import (
    changed_at,
    closed_at,
    is_corrected,
    is_current,
    is_visible,
    mark_restated,
    restates,
)
from memscope.text.terms import terms
from memscope_testing.records import observation

MAY, JUNE, JULY, NOW = (datetime(2026, month, 1, tzinfo=UTC) for month in (5, 6, 7, 9))


def asked(text="Where does the user live?", agent=None, as_of=None):
    words = list(dict.fromkeys(terms(text)))
    return SimpleNamespace(scope=Scope("alice", agent), as_of=as_of, now=NOW, terms=words, weights=[1.0] * len(words))


def fact(id="home", text="The user lives in Berlin.", **more):
    return observation(id, "t", text=text, **{"said": MAY, "recorded": MAY, **more})


ENDED = {"closed": JUNE, "closed_said": JUNE, "superseded_by": "other"}


@pytest.mark.parametrize(
    ("more", "as_of", "when"),
    [
        ({}, None, None),
        (ENDED, None, JUNE),
        (ENDED, MAY, None),  # it was known later
        (ENDED, JUNE, JUNE),
        ({"valid_to": JULY}, None, JULY),  # an announced end
        ({"valid_to": JULY}, JUNE, None),
        ({"valid_to": NOW + timedelta(days=1)}, None, None),  # still ahead
    ],
)
def test_a_fact_is_over_from_the_day_that_it_was_said_to_be(more, as_of, when):
    query = asked(as_of=as_of)
    assert closed_at(fact(**more), query) == when
    assert is_current(fact(**more), query) is (when is None)


@pytest.mark.parametrize(("expires", "current"), [(JULY, False), (NOW, False), (NOW + timedelta(days=1), True)])
def test_what_expires_is_not_current(expires, current):
    assert is_current(fact(expires=expires), asked()) is current


@pytest.mark.parametrize(
    ("more", "query", "said"),
    [
        ({}, asked(), True),
        ({"agent": "a"}, asked(agent="a"), True),
        ({"agent": "a"}, asked(), True),
        ({"agent": "a"}, asked(agent="b"), False),
        ({}, asked(agent="b"), False),
        ({"proposed": True}, asked(), False),
        ({}, asked(as_of=MAY), True),
        ({}, asked(as_of=MAY - timedelta(days=1)), False),
    ],
)
def test_what_was_said_to_the_agent_by_then(more, query, said):
    assert is_visible(fact(**more), query) is said


def turn(text="I live in Berlin.", role="user", time=MAY):
    return Turn("t", Scope("alice"), role, "alice", text, time, time)


BY_HAND = fact(text="The user lives in Bonn.", origin=CORRECTED, recorded=JULY)


@pytest.mark.parametrize(
    ("memory", "as_of", "by_hand"),
    [
        (BY_HAND, None, True),
        (BY_HAND, JUNE, False),
        (BY_HAND, JULY, True),
        (replace(BY_HAND, origin="user"), None, False),
        (replace(BY_HAND, text="Berlin."), None, False),  # in words of the turn
    ],
)
def test_what_a_person_wrote_anew_in_other_words_is_corrected(memory, as_of, by_hand):
    assert is_corrected(asked(as_of=as_of), turn(), memory) is by_hand


HOME, CAT = fact(**ENDED), fact("cat", "The user has a cat.")


@pytest.mark.parametrize(
    ("query", "memories", "when"),
    [
        (asked(), [HOME], JUNE),
        (asked(), [HOME, fact("other", "The user lives in Bonn.")], None),  # the same turn tells of both
        (asked(), [HOME, CAT], JUNE),  # the one asked for is over
        (asked("Does the user have a cat?"), [HOME, CAT], None),  # the one asked for holds
        (asked(), [CAT], None),
        (asked(), [HOME, fact("job", "The user lives where the job is.")], JUNE),
        (asked(), [BY_HAND], JULY),
        (asked(), [BY_HAND, CAT], JULY),
        (asked(), [HOME, replace(BY_HAND, id="again")], JULY),  # the last change
    ],
)
def test_a_turn_is_marked_where_what_is_asked_of_it_has_changed(query, memories, when):
    assert changed_at(query, turn(), memories) == when


@pytest.mark.parametrize(
    ("text", "memory", "same"),
    [
        ("You live in Berlin, so take the U8.", "The user lives in Berlin.", True),  # its name
        ("You pay 950 a month.", "The rent of the user is 950 euros.", True),  # its number
        ("Your old flat near the river is nice.", "The user has an old flat near the river.", True),  # its words
        ("Have a nice day by the river.", "The user has an old flat near the river.", False),
        ("Take the U8.", "The user lives in Berlin.", False),
        ("你住在柏林，坐地铁吧。", "用户住在柏林。", True),
        ("坐地铁吧。", "用户住在柏林。", False),
    ],
)
def test_what_says_an_old_fact_again(text, memory, same):
    assert restates(text, memory) is same


@pytest.mark.parametrize(
    ("told", "query", "marked"),
    [
        (turn("So you live in Berlin.", "assistant"), asked(), True),
        (turn("So you live in Berlin.", "user"), asked(), False),
        (turn("So you live in Berlin.", "assistant", JULY), asked(), False),  # after the change
        (turn("So you like tea.", "assistant"), asked(), False),
        (turn("So you live in Berlin.", "assistant"), asked("Which tea is best?"), False),  # nobody asks for it
        (turn("So you live in Berlin.", "assistant"), asked(as_of=MAY), False),
    ],
)
def test_an_assistants_turn_that_repeats_what_has_changed_is_marked(told, query, marked):
    old = Hit(turn=turn(), insight=None, score=1.0, found_by=("text",), superseded=(HOME,))
    said_again = Hit(turn=told, insight=None, score=1.0, found_by=("text",))
    first, second = mark_restated(query, [old, said_again])
    assert (first.changed, second.changed) == (None, JUNE if marked else None)
    assert mark_restated(query, [said_again]) == [said_again]
    with_fact = replace(said_again, matched=(CAT,))
    assert mark_restated(query, [old, with_fact])[1] == with_fact
