"""Query expansion: a word of the query is met by a word close to it in meaning, for less than by itself."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.retrieval.search import MAX_SYNONYM_TERMS, expansion
from memscope.text.terms import term, terms
from memscope.text.tokens import words

SAID = ["I bought a red bicycle for 300 euros.", "My boss Tom is on vacation until Friday.", "I like green tea."]


async def asked(query: str, *, said: list[str] = SAID, **settings: object) -> list[str]:
    async with AsyncMemoryScope(":memory:", settings=settings) as memory:
        await memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
        return [hit.text for hit in await memory.retrieve(query, user="alice", k=1)]


async def test_a_turn_with_a_synonym_is_found():
    assert await asked("How much is a bike?") == [SAID[0]]


async def test_without_the_built_in_vectors_there_are_none():
    assert await asked("How much is a bike?", builtin_vectors=False) == []


@pytest.mark.parametrize("order", [1, -1])
async def test_the_word_itself_counts_more(order):
    said = ["The bicycle was stolen at night.", "The bike was stolen at night."][::order]
    assert await asked("When was the bike stolen?", said=said) == ["The bike was stolen at night."]


def test_each_synonym_stands_for_the_word_of_the_query():
    own = tuple(terms("red bike"))
    added = expansion("Red BIKE?", own)
    assert added[term(words("bicycle")[0])] == own.index(term(words("bike")[0]))
    assert not added.keys() & set(own)


def test_a_long_query_brings_a_bounded_number_and_other_scripts_none():
    query = " ".join(["bike manager trip salary film doctor car children husband phone book holiday surgery exam"] * 40)
    assert len(expansion(query, tuple(terms(query)))) <= MAX_SYNONYM_TERMS
    assert not expansion("自行车多少钱", tuple(terms("自行车多少钱")))
