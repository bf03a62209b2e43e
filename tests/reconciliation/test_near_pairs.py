"""Pairs of facts that a model is asked about: those that are near, and no others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope.reconciliation.near_pairs import NEAREST_FACTS, near_pairs
from memscope.records import Observation, Scope

SAID = datetime(2026, 3, 10, 9, tzinfo=UTC)


def noted(number: int, text: str) -> Observation:
    said = SAID + timedelta(days=number)
    return Observation(id=f"m{number}", scope=Scope("a"), text=text, sources=(f"t{number}",), said=said, recorded=said,
                       about="user")  # fmt: skip


def test_only_facts_that_are_near_are_paired():
    texts = ["The user drinks oat milk in coffee.", "The user likes almond milk in coffee.", "The user sold the canoe."]
    facts = [noted(number, text) for number, text in enumerate(texts)]
    assert [(pair.old.id, pair.new.id) for pair in near_pairs(facts)] == [("m0", "m1")]
    same_turn = [replace(one, sources=("t",)) for one in facts]
    others = [replace(one, scope=Scope("a", one.id)) for one in facts]
    past = [replace(one, closed=SAID) for one in facts]
    assert [near_pairs(some) for some in (same_turn, others, past, [])] == [[], [], [], []]
    likes = [noted(number, text) for number, text in enumerate(["用户喜欢喝茶。", "用户喜欢爬山。"])]
    assert near_pairs(likes) == []  # one word in common


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user is married to Ann.", "The user is married to the head of a circus in Lima."),
        ("用户在谷歌上班。", "用户在海边的面包店里当学徒工作。"),
    ],
)
def test_facts_that_contradict_each_other_are_paired_however_far_their_words(one, other):
    assert [(pair.old.id, pair.new.id) for pair in near_pairs([noted(0, one), noted(1, other)])] == [("m0", "m1")]


def test_a_fact_is_paired_with_the_nearest_few():
    facts = [noted(number, f"The user bought {number} apples for the cake.") for number in range(12)]
    assert len(near_pairs(facts)) <= NEAREST_FACTS * len(facts) < len(facts) * (len(facts) - 1) / 2


def test_only_so_many_of_the_nearest_in_meaning_are_looked_at():
    same = [replace(noted(number, "The user baked a plum cake."), sources=("t0",)) for number in range(50)]
    other = noted(50, "The user baked a plum cake with almonds.")
    paired = {pair.old.id for pair in near_pairs([*same, other])}
    assert len(paired) == NEAREST_FACTS  # the last of the same turn has so many before it that the other is not seen


def test_facts_of_words_without_a_meaning_are_compared_by_their_words():
    facts = [
        noted(0, "한국어."),
        noted(1, "The user likes almond milk."),
        noted(2, "The user drinks almond milk."),
    ]
    assert [(pair.old.id, pair.new.id) for pair in near_pairs(facts)] == [("m1", "m2")]
