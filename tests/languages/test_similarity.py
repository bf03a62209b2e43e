"""The share of their content that two facts have in common."""

from __future__ import annotations

import pytest

from memscope.languages.similarity import closeness


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user can swim.", "The user can cook."),
        ("用户会游泳。", "用户会做饭。"),
        ("用户怕狗。", "用户养狗。"),
        ("用户在北京工作。", "用户在家养了一只猫。"),
    ],
)
def test_function_words_and_single_characters_are_not_in_common(one: str, other: str) -> None:
    assert closeness(one, other) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [("The user swims.", "The user often swims in the sea."), ("用户会游泳。", "用户会游泳和潜水。")],
)
def test_a_fact_within_another_has_all_in_common(one: str, other: str) -> None:
    assert closeness(one, other) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("The user takes vitamin D.", "The user takes vitamin C."), ("The user has 2 cats.", "The user has 3 cats.")],
)
def test_a_single_letter_or_digit_counts(one: str, other: str) -> None:
    assert closeness(one, other) < 1
