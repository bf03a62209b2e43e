"""Quotes and dates as models write them, for any text."""

from __future__ import annotations

from datetime import UTC

from hypothesis import given
from hypothesis import strategies as st

from memscope.consolidation.find_quote import find_quote
from memscope.dates.iso import parse, written
from memscope.languages.similarity import closeness, same


@given(st.text(), st.text(), st.text())
def test_what_was_cut_from_a_text_is_found_and_what_is_found_stands_in_it(before, words, after):
    text = before + words + after
    found = find_quote(words, text)
    assert found is None or found in text
    assert found is not None or not any(char.isalnum() for char in words)


@given(st.text(alphabet="ab ", min_size=1), st.text(alphabet="cd ", min_size=1))
def test_words_that_are_not_there_are_not_found(quote, text):
    assert find_quote(quote, text) is None


@given(st.text() | st.from_regex(r"\d{4}(-\d{2}){0,2}(/\d{4}(-\d{2}){0,2})?", fullmatch=True))
def test_any_text_is_an_interval_or_none(text):
    interval = parse(text, UTC)
    if interval is not None:
        assert interval.start < interval.end
        assert parse(written(interval), UTC).start.date() == interval.start.date()


@given(st.text(), st.text())
def test_likeness_is_symmetric_and_reflexive(one, other):
    assert same(one, one)
    assert same(one, other) == same(other, one)
    assert closeness(one, other) == closeness(other, one)
    assert 0 <= closeness(one, other) <= 1
