"""Sentences in English that tell of their speaker, by grammar and not by phrasing."""

from __future__ import annotations

import pytest

from memscope.languages.durable_facts import DURABLE_TERM, TOLD_TERM, is_durable, kinds, marks, statement_score
from memscope.languages.en.statement_score import signs


@pytest.mark.parametrize(
    "sentence",
    [
        "Name's Tobias",
        "Spent nine years as a prison librarian",
        "been off dairy since the twins arrived",
        "The wife is from Lagos and cooks twice a week",
        "Severe fear of flying since 2014",
        "six chickens and a goat live in our yard",
    ],
)
def test_sentences_without_a_known_phrase_tell_of_their_speaker(sentence: str) -> None:
    assert is_durable(sentence)
    assert {TOLD_TERM, DURABLE_TERM} <= {*marks(sentence)[0]}


@pytest.mark.parametrize(
    "sentence",
    [
        "The queue went twice round the building.",
        "It rained all afternoon and then it stopped.",
        "They really should fix that lift.",
        "That was quicker than I thought.",
        "Somebody left the window open again.",
        "Is there a shorter word for this?",
    ],
)
def test_remarks_on_the_day_do_not(sentence: str) -> None:
    assert not is_durable(sentence)
    assert TOLD_TERM not in marks(sentence)[0]


def test_whoever_leaves_the_subject_out_speaks_of_themselves() -> None:
    assert signs("Retired last Friday.", ())["elided"] and not signs("The shop retired the model.", ())["elided"]
    assert signs("I retired, bakery and all", ())["subject"]
    assert not signs("Retired, I think", ())["elided"]  # the subject comes later


def test_a_question_tells_nothing() -> None:
    assert is_durable("I have two sons, do you know a club for them?") and not is_durable("Do I have two sons?")


def test_chinese_goes_by_kinds() -> None:
    assert statement_score("我住在上海。") is None and kinds("我住在上海。")
    assert TOLD_TERM not in marks("我住在上海。")[0] and DURABLE_TERM in marks("我住在上海。")[0]
