"""Pairs of facts that a model is asked about: those that are near, and no others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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


def test_a_fact_is_paired_with_the_nearest_few():
    facts = [noted(number, f"The user bought {number} apples for the cake.") for number in range(12)]
    assert len(near_pairs(facts)) <= NEAREST_FACTS * len(facts) < len(facts) * (len(facts) - 1) / 2
