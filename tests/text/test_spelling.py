"""Words with a slip, and the words that are known."""

from __future__ import annotations

from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.languages.en.words import WORDS
from memscope.text.language import NO_RULES
from memscope.text.spelling import MIN_LETTERS, frequency_rank, is_plausible, may_be_misspelt, without_slip

words = st.text(ascii_lowercase, min_size=MIN_LETTERS + 1, max_size=12)
places = st.integers(1, 11)


@given(words, places)
def test_swapped_letters_are_put_back(word, at):
    at = 1 + at % (len(word) - 2)
    assert word in set(without_slip(f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"))


@given(words, places)
def test_a_missing_letter_is_restored(word, at):
    at = 1 + at % (len(word) - 1)
    assert word in set(without_slip(word[:at] + word[at + 1 :]))


@given(words, places)
def test_a_letter_typed_twice_is_dropped(word, at):
    at %= len(word)
    assert word in set(without_slip(word[: at + 1] + word[at:]))


@given(words)
def test_what_a_slip_may_have_been_begins_alike_and_is_one_edit_away(word):
    for other in without_slip(word):
        assert other[0] == word[0]
        assert abs(len(other) - len(word)) <= 1


def test_a_word_may_be_two():
    assert "ice cream" in set(without_slip("icecream"))
    assert is_plausible("ice cream", "icecream", WORDS)
    assert not is_plausible("icec ream", "icecream", WORDS)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("dentidt", "dentist"), ("calender", "calendar"), ("kitchin", "kitchen"), ("landlkord", "landlord"),
     ("feul", "fuel"), ("frend", "friend")],
)  # fmt: skip
def test_a_neighbour_on_the_keyboard_or_another_vowel_is_replaced(typed, meant):
    assert may_be_misspelt(typed, WORDS)
    assert min(set(without_slip(typed)), key=lambda one: frequency_rank(one, WORDS) or 1 << 20) == meant


@pytest.mark.parametrize("word", "dentist landlords gravy sundae lorry colour serviced apologised scuff leeks".split())
def test_a_word_or_a_form_of_one_is_not_misspelt(word):
    assert not may_be_misspelt(word, WORDS)


@pytest.mark.parametrize("word", ["abc", "x1y2z", "größe", "co-op", "dentsit's", "averyveryverylongword", "牙医"])
def test_short_and_long_words_and_other_scripts_are_left_alone(word):
    assert not may_be_misspelt(word, WORDS)


def test_a_language_without_a_list_of_words_has_no_misspelt_ones():
    assert not may_be_misspelt("dentsit", NO_RULES)


@pytest.mark.parametrize(
    ("word", "misspelt", "plausible"),
    [
        ("dentist", "dentsit", True),
        ("landlords", "landlrods", True),  # a form of a word
        ("imogen", "imogne", True),  # a name
        ("sitted", "sitter", False),  # has the stem of "sit"
        ("filmmed", "flimmed", False),  # has the stem of "film"
        ("sparkl", "sparky", False),  # the stem of "sparkle"
    ],
)
def test_what_merely_has_the_stem_of_a_word_is_no_correction(word, misspelt, plausible):
    assert is_plausible(word, misspelt, WORDS) is plausible
