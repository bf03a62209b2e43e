"""A shown insight leaves what it says no second line, neither as a fact nor in the words of the fact's turn."""

from __future__ import annotations

import pytest

from memscope.records import ChangeSet, Insight, Quote, Scope, Sentence
from talk import START, note, say, talking


@pytest.mark.parametrize(
    ("said", "fact", "subject", "question"),
    [
        ("I own a boat in Kiel.", "The user owns a boat in Kiel.", "sailing", "Where do I go sailing?"),
        ("我在青岛有一条船。", "用户在青岛有一条船。", "航海", "我在哪儿航海？"),
    ],
)
async def test_the_words_of_a_fact_take_no_line_beside_the_insight_that_says_it(said, fact, subject, question):
    async with talking() as memory:
        key = await say(memory, said)
        await note(memory, "fact", fact, key, quotes=(Quote(key, said),))
        insight = Insight(
            id="insight", scope=Scope("u"), text=f"{subject}: {fact}", sources=("fact",), said=START, recorded=START,
            subject=subject, sentences=(Sentence(fact, ("fact",)),),
        )  # fmt: skip
        await memory.admin.runtime.services.store.apply("u", ChangeSet(new=(insight,)))
        shown = await memory.context(question, user="u")
        assert fact in shown and said not in shown
