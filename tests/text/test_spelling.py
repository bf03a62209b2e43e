"""Words with a slip, and the words that are known."""

from __future__ import annotations

from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.languages.en.words import WORDS
from memscope.text.analysis import analyse, analyse_statement
from memscope.text.language import NO_RULES
from memscope.text.spelling import (
    MIN_LETTERS,
    frequency_rank,
    is_plausible,
    may_be_misspelt,
    punctuated,
    usual_words,
    without_slip,
)
from memscope.text.terms import unpacked_terms

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


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("my wfie's bday is tmrw", "my wife's birthday is tomorrow"),
        ("the dentsit moved me to 3pm", "the dentist moved me to 3pm"),
        ("teh keys r in the kitchne drawer", "the keys are in the kitchen drawer"),
        ("went 2 the hosptial", "went to the hospital"),
    ],
)
def test_a_statement_is_read_in_the_usual_spelling(said, read):
    assert usual_words(said) == read


@pytest.mark.parametrize(
    "said",
    [
        "Dentsit Road is closed",  # may be a name
        "see kitchne.py and www.kitchne.org/dentsit",
        "mail imogne@kitchne.org",
        "we watched telly in our wellies, the bloke next door had a samosa",
        "my neighbour anselm and his poodle",
    ],
)
def test_names_addresses_and_rare_words_of_a_statement_stay(said):
    assert usual_words(said) == said


@pytest.mark.parametrize("spelling", sorted(WORDS.spellings))
def test_no_spelling_of_chats_is_overlooked(spelling):
    text = f"my dog and i were in the house, {spelling} the house we were in"
    assert usual_words(text) == text or analyse(text).unusual


def test_a_statement_has_the_terms_of_both_spellings():
    written, usual = "my dauhgter is at the hosptial", "my daughter is at the hospital"
    both = analyse_statement(written)
    assert set(unpacked_terms(both.terms)) == {
        *unpacked_terms(analyse(written).terms), *unpacked_terms(analyse(usual).terms)
    }  # fmt: skip
    assert (both.text, both.topics) == (usual, analyse(usual).topics)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("popped to the vet with the cat this morning i'm still in a state about my keys",
         "popped to the vet with the cat this morning. i'm still in a state about my keys"),
        ("had a lovely day at the beach with the kids we're off again on sunday",
         "had a lovely day at the beach with the kids. we're off again on sunday"),
        ("花生我过敏 上回吃了一块", "花生我过敏。上回吃了一块"),
    ],
)  # fmt: skip
def test_sentences_end_where_punctuation_is_missing(said, read):
    assert punctuated(said) == read


@pytest.mark.parametrize(
    "text",
    [
        "I said that I like the house and when I was there my aunt came, too",  # has punctuation
        "this is what I said and what my aunt and we all think of it",  # stop words precede
        "my knee hurts i ran",  # short
        "我用 Python 写程序",
    ],
)
def test_other_texts_stay_one_sentence(text):
    assert punctuated(text) == text
