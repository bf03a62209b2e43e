"""Lines that answer nothing are not shown: other kinds of a list, courtesies, what is only near to what is asked."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from recorded import read


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("What am I allergic to?", ["I'm allergic to wool.", "Penicillin gives me a rash, I'm allergic."]),
        ("What are my hobbies?", ["I collect old maps.", "I knit every evening."]),
        ("我对啥过敏？", ["我对羊毛过敏。", "青霉素我也过敏。"]),
    ],
)
def test_a_question_for_a_kind_alone_is_answered_with_lines_of_it(question, items):
    noise = [one["text"] for one in read("noise3_en" if question.isascii() else "noise3_zh")][:100]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in (*items, *noise)], user="u")
        shown = memory.context(question, user="u").splitlines()
    assert all(any(item in line for line in shown) for item in items) and len(shown) <= 10


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Sure, happy to help!", "When does my course begin?"),
        ("OK.", "When does my course begin?"),
        ("好的。没问题！", "我的课什么时候开始？"),
    ],
)
def test_a_courtesy_of_the_assistant_is_not_shown(answer, question):
    statement = "My course begins on 3 May." if question.isascii() else "我的课五月三号开始。"
    with MemoryScope(":memory:", settings={}) as memory:
        for role, text in (("user", statement), ("assistant", answer)):
            memory.add_turns([{"role": role, "content": text}], user="u")
        assert answer not in memory.context(question, user="u")


def test_a_question_that_does_not_mention_the_user_needs_its_words_in_a_line():
    said = ["Kasia the plumber comes on Monday", "The tap in the kitchen drips", "I bought a new shower head"]
    others = [f"The number {n} was late and somebody labelled his sandwiches on it." for n in range(60)]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in (*said, *others)], user="alice")
        (line,) = memory.context("When is Kasia coming?", user="alice").splitlines()
    assert "plumber" in line


def test_a_limit_near_to_the_choice_stands_before_surer_statements_about_other_things():
    others = [f"The number {n} was late on Sunday and somebody sang on it." for n in range(60)]
    surer = ["I'm Orla, I live in Dingle with my husband Pat.", "I work as a vet for the county council.",
             "We've got three kids and two greyhounds.", "My mum Bridie lives next door.", "I own a van and a boat.",
             "I've been learning the fiddle every Tuesday for years.", "My brother Cathal is a guard in Cork.",
             "I was born in Tralee in 1980.", "I studied in Galway for five years.", "I hate horror films.",
             "I am allergic to cats.", "I love crime novels.", "I really love opera.", "I am terrified of heights.",
             "I can not wear wool.", "I have always loved maps."]  # fmt: skip
    near = "Half a year without a drop now, I don't touch wine any more."
    with MemoryScope(":memory:", settings={}) as memory:
        told = (near, *surer, *others)
        memory.add_turns([{"role": "user", "content": text} for text in told], user="alice")
        assert near in memory.context("Where shall we eat on Friday?", user="alice")
