"""Hits of one turn become one line."""

from __future__ import annotations

from datetime import timedelta

from memscope.records import Hit
from memscope.retrieval.deduplicate import at_first_source
from memscope_testing.records import START, observation, turn


def test_a_hit_with_words_of_its_own_takes_no_facts_of_another_hit():
    first, later = turn("first", time=START), turn("later", time=START + timedelta(days=3))
    fact = observation("fact", "first", "later", said=START)
    shared = {"insight": None, "score": 1.0, "found_by": ("text",)}
    worded, moved = Hit(turn=first, **shared), Hit(turn=later, matched=(fact,), **shared)
    turns = {"first": first, "later": later}
    assert at_first_source([worded, moved], turns) == [worded]
    (alone,) = at_first_source([moved], turns)
    assert (alone.id, alone.matched, alone.repeats["fact"].times) == ("first", (fact,), 2)
