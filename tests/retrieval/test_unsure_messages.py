"""A message whose wording leaves open whether it needs memory is shown few lines, all with evidence of their own."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.languages.requests import need
from memscope.retrieval.limit_lines import MAX_PERHAPS_LINES

HENS = [
    "We keep five hens behind the shed.",
    "My hens stop laying in cold weather.",
    "The brown hens need a new perch.",
    "I bought the hens a heated drinker.",
    "In cold weather the hens need more corn.",
    "One of my hens is called Pru.",
    "The hens got mites last summer.",
    "My neighbour feeds the hens when I'm away.",
    "I clean out the hens on Sundays.",
    "The fox took two of our hens in March.",
    "The hens hate snow.",
    "I sell the eggs of my hens at the gate.",
]


@pytest.fixture(scope="module")
def memory():
    with MemoryScope(":memory:") as memory:
        for text in HENS:
            memory.add_turns([{"role": "user", "content": text}], user="alice")
        yield memory


def lines(memory, message):
    return memory.context(message, user="alice").splitlines()


@pytest.mark.parametrize("message", ["My hens again", "what about the hens"])
def test_few_lines_are_shown(memory, message):
    assert need(message) == "perhaps"
    assert len(lines(memory, message)) == MAX_PERHAPS_LINES
    assert len(lines(memory, "How are my hens?")) > MAX_PERHAPS_LINES


def test_no_lasting_statement_stands_in_for_a_line_that_answers(memory):
    assert need("Who plays the cello?") == "perhaps"
    assert lines(memory, "Who plays the cello?") == []
    retrieval = memory.retrieve("Who plays the cello?", user="alice", speak="when_needed")
    assert retrieval.why == "no_words"  # not "not_needed": it may well ask about the user


def test_a_person_that_memory_knows_makes_it_sure():
    with MemoryScope(":memory:") as other:
        for at in range(10):
            other.add_turns([{"role": "user", "content": f"Otis plays the cello in hall {at}."}], user="alice")
        assert len(lines(other, "Who plays the cello?")) <= MAX_PERHAPS_LINES
        assert len(lines(other, "Does Otis play the cello?")) > MAX_PERHAPS_LINES
