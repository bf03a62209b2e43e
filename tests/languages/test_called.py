"""The names by which people are called, as they give them."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.languages.durable_facts import asked_kinds, kinds


@pytest.mark.parametrize(
    "sentence",
    [
        "You can call me Neville.", "They call me Big Mo at the yard.", "Everyone calls me Fitz.", "Just call me Bex.",
        "call me Shaz, everyone does", "Name's Doyle, spelt with a y", "Name is Ximena, pronounced with an H.",
        "It's Kerryn, with a y.", "Sign it Neville, by the way.", "Sign off as Harriet on that.", "I go by Teddy.",
        "Write me down as Shanice.", "I'm known as Dot down the club.", "People know me as Lefty.",
        "It's Siobhan, spelt the Irish way.", "I answer to Mags.", "Call me Mrs Whitlock, please, not Joan.",
    ],
)  # fmt: skip
def test_a_name_that_somebody_gives_themselves_is_one(sentence):
    assert "name" in kinds(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Call me Monday if it's urgent.", "He called me Tuesday and cancelled.", "Don't call me Shirley.",
        "It's Tuesday, with a bit of luck.", "It's Lidl, with the long queue again.", "Her name's Doris, lovely woman.",
        "The dog's name is Rex.", "Call me a taxi", "Sign it off please.", "They call me names at work.",
        "Call me back when Anna is in.", "She calls me Mum now.", "Write me a poem as Yeats would.",
        "Call me Anna's helper.",
    ],
)  # fmt: skip
def test_another_name_or_none_is_not(sentence):
    assert "name" not in kinds(sentence)


@pytest.mark.parametrize("question", ["What do you call me?", "what should i be called", "How should you address me?"])
def test_a_question_for_it_asks_for_the_name(question):
    assert "name" in asked_kinds(question)


def test_it_heads_the_profile_and_answers_the_question():
    with MemoryScope(":memory:", settings={}) as memory:
        for number, text in enumerate(("I keep bees in Perth.", "Everyone calls me Fitz.", "I'm allergic to wool.")):
            memory.add_turns([{"role": "user", "content": text}], user="u", session=str(number))
        assert "Fitz" in memory.profile("u").splitlines()[0]
        assert "Fitz" in memory.context("What's my name?", user="u")
