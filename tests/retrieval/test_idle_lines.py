"""Lines that answer nothing are not shown: other kinds of a list, courtesies."""

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
