"""One event or thing that both speakers know ("How did the interview go?"), unlike what is everybody's."""

from __future__ import annotations

import pytest

from memscope import MemoryScope, languages

RECALLED = [
    "how did the audition go",
    "Who was it that broke the gate?",
    "which tyre was it",
    "What did the repair quote come to?",
    "who brought the folding table",
    "did the parcel ever turn up?",
    "And what was the name of that café again?",
    "has the deposit come back yet?",
    "Where did the spare key end up?",
    "who was the guest that sang",
    "which shelf are the passports on",
    "when does the warranty on the washing machine run out",
    "what's left to pay on the loan",
    "how long till the holiday",
]
OF_THE_WORLD = [
    "how did the Titanic sink",
    "who won the cup in 1998",
    "how did the vikings steer",
    "who painted the ceiling of the chapel",
    "what was the tallest tower",
    "who was the first woman to climb it",
    "when was the printing press invented",
    "How does the boiler work?",
    "The bus was late again.",
    "what's the boiling point of milk",
    "how heavy is the average car",
    "why is the sky blue",
    "what's the leg before rule, in two sentences",
    "what do hedgehogs eat",
]
TOLD = [
    "My thesis examination went fine, they only wanted the second chapter shortened.",
    "Gran's parrot swears in Portuguese.",
    *(f"The bus number {n} was late and somebody sang on it." for n in range(60)),
]


def recalls(message: str) -> bool:
    return any(one.questions.recalls.search(message) for one in languages.of(message))


@pytest.mark.parametrize("message", RECALLED)
def test_a_definite_event_or_thing_may_be_the_users(message):
    assert recalls(message)


@pytest.mark.parametrize("message", OF_THE_WORLD)
def test_history_and_what_is_so_in_general_are_not(message):
    assert not recalls(message)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("how did the university exam go", TOLD[:1]),
        ("who was the one with the pet bird", TOLD[1:2]),
        ("did the college want it changed", TOLD[:1]),
        ("what language does the bird curse in", TOLD[1:2]),
        ("how did the vikings keep a pet bird", []),
    ],
)
def test_such_an_event_is_found_in_other_words_by_topic_and_meaning(message, shown):
    with MemoryScope(":memory:", settings={}) as memory:
        for number, text in enumerate(TOLD):
            memory.add_turns([{"role": "user", "content": text}], user="alice", session=str(number))
        lines = memory.context(message, user="alice").splitlines()
    assert {line.partition("user: ")[2] for line in lines}.issuperset(shown) and (lines == []) is (shown == [])


def test_lasting_statements_do_not_answer_it_whatever_their_words():
    with MemoryScope(":memory:", settings={}) as memory:
        for number, text in enumerate(["I'm allergic to peanuts.", *TOLD]):
            memory.add_turns([{"role": "user", "content": text}], user="alice", session=str(number))
        assert not memory.retrieve("Who flimmed the gorvax?", user="alice").hits
