"""Answers of the assistant are found by the words of the question that they answered."""

from __future__ import annotations

import pytest

from memscope import MemoryScope

TALKS = [
    ("Where should we stay in Porto?", "For quiet nights I'd pick Foz do Douro; for nightlife Cedofeita."),
    ("How much should I tip a mover?", "Around 20 to 40 per person is usual for a day."),
    ("Plan a 3 day trip to Lisbon for me", "Day 1: Alfama. Day 2: Belém and the tower. Day 3: Sintra by train."),
    ("My knee clicks when I run.", "That is often harmless; do wall sits."),
    ("给我推荐一部周末看的电影", "可以看《菊次郎的夏天》，温暖又好笑。"),
    ("我腰不好，做什么运动合适？", "可以游泳或者做小燕飞，每天三组。"),
    ("家里绿萝叶子发黄怎么办？", "多半是浇水太勤，等土干了再浇。"),
]


@pytest.fixture(scope="module")
def memory():
    with MemoryScope(":memory:") as memory:
        for at, (asked, said) in enumerate(TALKS):
            turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
            memory.add_turns(turns, user="alice", session=f"s{at}")
        yield memory


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which area of Porto did you recommend?", "Foz"),
        ("How much did you say I should tip?", "20 to 40"),
        ("你上次推荐的电影叫什么？", "菊次郎"),
        ("我腰不好你让我做什么运动？", "小燕飞"),
    ],
)
def test_an_answer_without_the_questions_words_is_shown(memory, question, words):
    assert words in memory.context(question, user="alice")


def test_a_question_about_oneself_shows_no_answers_of_others(memory):
    assert "Foz" not in memory.context("Does my knee click?", user="alice")
