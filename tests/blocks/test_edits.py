"""Edits of a text: what is meant changes, all else stays to the character."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memscope.blocks import edits
from memscope.errors import InputError

texts = st.text(st.sampled_from("ab \t\n住🦊"), max_size=12)
words = st.text(st.sampled_from("ab \t\n住🦊"), min_size=1, max_size=4)


def overlapping(value: str, text: str) -> int:
    return sum(value[at:].startswith(text) for at in range(len(value)))


@given(texts, words, texts)
def test_replace_changes_one_match_or_says_how_many(value: str, old: str, new: str) -> None:
    count = overlapping(value, old)
    if count == 1:
        before, _, after = value.partition(old)
        assert edits.replace(value, old, new) == before + new + after
    else:
        with pytest.raises(InputError, match=rf"\b{count} (matches|times)"):
            edits.replace(value, old, new)


@given(texts, words)
def test_append_keeps_what_was_there(value: str, text: str) -> None:
    made = edits.append(value, text)
    assert made.startswith(value)
    assert made.endswith(text)
    assert made[len(value) : len(made) - len(text)] in ("", "\n")
    assert not value or made[: len(made) - len(text)].endswith("\n")


@given(texts, words, st.integers(1, 15))
def test_insert_puts_the_text_at_a_line(value: str, text: str, line: int) -> None:
    lines = value.split("\n") if value else []
    if value and line > len(lines) + 1:
        with pytest.raises(InputError, match="no line"):
            edits.insert(value, text, line)
        return
    made = edits.insert(value, text, line)
    assume(value)
    at = line - 1
    assert made == "\n".join([*lines[:at], text, *lines[at:]]) or (line > len(lines) and made == f"{value}\n{text}")


@given(texts, texts)
def test_remove_takes_the_text_and_at_most_the_end_of_its_line(before: str, after: str) -> None:
    made, whole = edits.remove(f"{before}x\ty{after}", "x\ty"), before + after
    assert made == whole or (len(made) == len(whole) - 1 and made.count("\n") == whole.count("\n") - 1)


def test_a_removed_line_leaves_no_gap() -> None:
    assert edits.remove("a\nb\nc", "b") == "a\nc"
    assert edits.remove("a\nb", "b") == "a"
    assert edits.remove("a b\nc", "b") == "a \nc"


def test_an_insert_into_an_empty_block_leaves_no_blank_line() -> None:
    assert edits.insert("", "a", 1) == edits.insert("", "a", -1) == "a"


@pytest.mark.parametrize("edit", [edits.remove, lambda value, wrong: edits.replace(value, wrong, "new")])
def test_what_is_no_text_is_refused(edit):
    with pytest.raises(InputError, match="must be text, got float"):
        edit("I live in Graz", 3.5)
