"""Misspelt words of a query are read as words of memory, or of the language."""

from __future__ import annotations

import numpy as np
import pytest

from memscope import MemoryScope
from memscope.records import VectorSpace
from recorded import remarks

SAID = (
    "I've got the dentist on the 14th at half nine", "My landlord is Mr Petrakis, he hates noise",
    "Imogen started at Lakeside primary", "The mortgage comes out on the 3rd", "I'm allergic to penicillin",
    "I prefer Fastify to Express", "My tent pegs are with Marina",
    "The ice cream maker is in the garage", "The wifi key is plumtree", "The spare toothbrush is in the drawer",
    "The hall gets my favourite colour, teal", "I organise a litter walk", "The tyres of the bike are 27 inch",
    "Dropped the pickup at the garage", "The code of the alarm is new", "The lamp lost its base",
)  # fmt: skip


def memory_of(*said: str, **options: object) -> MemoryScope:
    memory = MemoryScope(":memory:", settings={}, **options)  # type: ignore[arg-type]
    every = [*remarks("english"), *said]
    memory.add_turns([{"role": "user", "content": text} for text in every], user="alice", session="s")
    return memory


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("when is my dentsit apointment?", "half nine"),
        ("whats my landlrods name", "Petrakis"),
        ("Which school does Imogne go to?", "Lakeside"),
        ("what's imogne's school", "Lakeside"),
        ("when does the morgage come out", "the 3rd"),
        ("penicilin ok for me?", "allergic"),
        ("am I allergix to anything", "penicillin"),
        ("is it fastfiy or express that I like", "prefer Fastify"),
        ("whne is the dentist", "half nine"),  # a stop word
        ("where's the icecream maker", "garage"),
        ("what's the wi-fi key", "plumtree"),
        ("who has my tooth brush", "drawer"),
        ("what's my favorite color for the hall", "teal"),
        ("what do I organize on Fridays", "litter"),
        ("which tires does the bike have", "27 inch"),
    ],
)
def test_a_misspelt_question_is_answered(query, wanted):
    with memory_of(*SAID) as memory:
        assert wanted in memory.context(query, user="alice")


@pytest.mark.parametrize("message", ["mornin' mate, you good", "thnaks alot for that!!", "mornin"])
def test_a_misspelt_greeting_shows_nothing(message):
    with memory_of(*SAID, "Good morning, the hall is teal") as memory:
        assert memory.context(message, user="alice") == ""


@pytest.mark.parametrize(
    ("said", "query", "wanted"),
    [
        ("my wfie anna works at teh hosptial", "Where does my wife work?", "hosptial"),
        ("im alergic 2 shelfish btw", "Which food am I allergic to?", "shelfish"),
        ("the dentsit is 2moro at half nine", "What do I have on this week?", "half nine"),
        ("we r gettin a kittne from the shelter", "Which pet are we getting?", "shelter"),
        ("i do payroll for a chain of car wsahes", "What's my occupation?", "payroll"),
    ],
)
def test_a_misspelt_statement_is_found(said, query, wanted):
    with memory_of(said) as memory:
        assert wanted in memory.context(query, user="alice")


@pytest.mark.parametrize(
    "query",
    [
        "Where does Marisa live?",  # another name than Marina
        "Who is Corin?",  # no corn
        "who made my sundae",  # a word that memory lacks
        "how is brownie doing",
        "how do I carpet the stairs",
        "what about the codebase",  # memory has "code" and "base" apart
        "which hobby could I pick up",  # no pickup
        "où est le dentsit",  # no list of words tells what is misspelt in French
    ],
)
def test_a_word_that_may_be_right_stays(query):
    with memory_of(*SAID) as memory:
        assert "read as" not in memory.retrieve(query, user="alice", explain=True).explanation


def test_a_word_of_memory_stays_and_one_of_another_user_or_session_corrects_nothing():
    with memory_of(*SAID) as memory:
        memory.add_turns([{"role": "user", "content": "Our cat is called Zephyrina"}], user="bob", session="b")
        for query, options, corrected in (
            ("Who is Zephyrine?", {"user": "bob"}, True),
            ("Who is Zephyrine?", {"user": "alice"}, False),
            ("Who is Zephyrine?", {"user": "bob", "session": "c"}, False),
            ("Who is Zephyrina?", {"user": "bob"}, False),
        ):
            explained = memory.retrieve(query, explain=True, **options).explanation
            assert ("read as 'Who is Zephyrina?'" in explained) is corrected


def test_a_misspelt_question_is_answered_when_it_is_asked_again():
    with memory_of(*SAID, "when is my dentsit apointment?", "Sorry, I don't know.") as memory:
        assert "half nine" in memory.context("when is my dentsit apointment?", user="alice")


def test_a_misspelt_question_is_embedded_once():
    class Embedder:
        languages, space, asked = None, VectorSpace("counting", 4), 0

        async def measure(self) -> VectorSpace:
            return self.space

        async def embed(self, texts, *, deadline_s=None):
            return np.ones((len(texts), 4), np.float32)

        async def embed_query(self, text, *, deadline_s=None):
            self.asked += 1
            return np.ones(4, np.float32)

        async def aclose(self) -> None: ...

    embedder = Embedder()
    with memory_of(*SAID, embedder=embedder) as memory:
        assert "half nine" in memory.context("when is my dentsit apointment?", user="alice")
    assert embedder.asked == 1


def test_a_long_text_is_read_as_it_stands():
    with memory_of(*SAID) as memory:
        pasted = "what is this about: " + "the dentsit said so. " * 200
        assert "read as" not in memory.retrieve(pasted, user="alice", explain=True).explanation


def test_a_task_with_a_slip_shows_nothing():
    with memory_of(*SAID) as memory:
        assert memory.context("write a peom about the sea in autmn", user="alice") == ""
