"""The assistant's answer to a request is found by the request's words, also weeks after it was asked."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from recorded import remarks

QUIZ = "We're doing the Christmas quiz at work, I need a tie-break question"
LAPTOPS = "Which of these laptops suits a photographer, the Lenovo or the Asus?"


@pytest.mark.parametrize("others", [0, 60])
@pytest.mark.parametrize(
    ("asked", "answer", "question", "wanted"),
    [
        (QUIZ, "How many steps has the Eiffel Tower? 1,665.", "what was the tie-break for the quiz", "1,665"),
        (LAPTOPS, "The Asus: its screen covers all of P3.", "which laptop was better for my photos", "Asus"),
        ("帮我给小店起个名字", "可以叫“巷口”，好记。", "我的小店名字定的什么", "巷口"),
    ],
)  # fmt: skip
def test_the_reply_to_the_best_request_is_shown(asked, answer, question, wanted, others):
    with MemoryScope(":memory:", settings={}) as memory:
        turns = [{"role": "user", "content": text} for text in remarks(question)[:others]]
        if turns:
            memory.add_turns(turns, user="u", session="others")
        exchange = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        memory.add_turns(exchange, user="u", session="asked")
        assert wanted in memory.context(question, user="u")


def test_the_reply_to_a_statement_is_not_shown_for_it():
    with MemoryScope(":memory:", settings={}) as memory:
        turns = [
            {"role": "user", "content": "My dentist is Dr Ruiz in Mill Lane."},
            {"role": "assistant", "content": "Good to have somebody close by."},
        ]
        memory.add_turns(turns, user="u", session="s")
        assert "close by" not in memory.context("Who is my dentist?", user="u")
