"""An opinion beside a question does not make it a question about the user."""

from __future__ import annotations

import pytest

from memscope.languages.requests import NEEDS_USER, need


@pytest.mark.parametrize(
    ("others", "own"),
    [
        ("what's the capital of Peru i had it and i lost it", "what did the vet say i forgot"),
        ("is a tomato a fruit i say it is", "what did i say about the fruit"),
        ("who sang that song i swear it was elvis", "who did i say sang at the wedding"),
        ("how tall is the eiffel tower i guessed 300 metres", "should i say yes to the cruise"),
        ("is it true bats are blind i heard they aren't", "what have i heard from the school"),
        ("what's a quark i keep forgetting", "which bus do i get i keep forgetting"),
        ("西红柿炒鸡蛋先放啥 我老记不住", "我的车停哪了 我老记不住"),
        ("帮我用那个派森写个程序算一到一百", "我写的程序放哪个文件夹了"),
    ],
)
def test_an_opinion_is_no_question_about_oneself(others, own):
    assert need(others) in {"world", "kind", "task"}
    assert need(own) in NEEDS_USER


@pytest.mark.parametrize(
    ("own", "others"),
    [
        ("is a latte ok for me", "is a latte ok"),
        ("would a peanut butter sandwich be fine for me?", "would you translate it for me"),
        ("which size is right for me", "explain gravity for me"),
        ("anything off limits for us at a thai place?", "how do you spell rhythm for me"),
    ],
)
def test_what_is_fine_for_the_user_is_a_question_about_them(own, others):
    assert need(own) in NEEDS_USER
    assert need(others) not in NEEDS_USER


def test_a_text_to_be_read_is_a_task_without_a_colon():
    assert need("read this and tell me what it means the undersigned hereby waives any and all claims") == "task"


@pytest.mark.parametrize(
    ("others", "own"),
    [
        ("Why do your ears pop when you go up a hill? I was coming over the top.", "Why is my ear sore? I was out."),
        ("What's the longest river in Africa? My son has homework.", "What's the longest film we saw? My son asks."),
        ("I'm bored. What's the capital of Mongolia?", "I'm bored. What's the capital of the bank account?"),
        ("um why do your ears pop when you go up a hill i was coming over the top",
         "um why do i get a sore ear i was coming over the top of the hill"),
        ("What do you call a baby hare? We saw one.", "Which vet did we see about the hare?"),
        ("I've always liked maps. Who discovered Tasmania?", "I'm filling in a form. What's the policy number?"),
    ],
)  # fmt: skip
def test_the_reason_for_a_question_of_general_knowledge_does_not_make_it_personal(others, own):
    assert need(others) in {"world", "kind"}
    assert need(own) in NEEDS_USER
