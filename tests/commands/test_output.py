"""Output on a terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope_cli.commands.language import count_nouns
from memscope_cli.commands.output import UNPRINTABLE_CATEGORIES, Display, json_line, visible, wrapped

texts = st.text(st.characters(codec="utf-8") | st.sampled_from("\u202e\u200b\x1b\x9b\U000e0041 \n中，"))


@given(texts)
def test_invisible_characters_are_not_printed(text):
    assert not {char for char in visible(text) if unicodedata.category(char) in UNPRINTABLE_CATEGORIES}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\t and  more", "two lines and more"),
        ("left\u202eright", r"left\u202eright"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("北京 é 😀", "北京 é 😀"),
        ("\ud83d", r"\ud83d"),
    ],
)
def test_hidden_characters_are_escaped_and_others_are_not(text, shown):
    assert visible(text) == shown


@given(st.dictionaries(texts, texts), st.booleans())
def test_json_is_lossless_and_escapes_invisible_characters(value, ascii_only):
    line = json_line(value, ascii_only=ascii_only)
    assert json.loads(line) == value
    assert not {char for char in line if unicodedata.category(char) in UNPRINTABLE_CATEGORIES}
    assert line.isascii() or not ascii_only


@given(texts.map(visible), st.integers(20, 120))
def test_wrapping_drops_spaces_only(text, width):
    lines = [text[start:end] for start, end in wrapped(text, width)]
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wrapping_fills_lines_of_wide_characters_and_keeps_words():
    def lines(text, width, hang=0):
        return [text[start:end] for start, end in wrapped(text, width, hang)]

    assert lines("以后叫我小悦就行，叫全名总觉得像被点名。", 18) == ["以后叫我小悦就行，", "叫全名总觉得像被点", "名。"]
    assert lines("two words and more", 20) == ["two words and more"]
    assert lines("a b c d e f", 5, 2) == ["a b c", "d e", "f"]
    assert lines("two words and some more", 20) == ["two words and some", "more"]


def test_counted():
    assert [count_nouns(0, "turn"), count_nouns(1, "turn"), count_nouns(1234, "turn")] == [
        "0 turns",
        "1 turn",
        "1,234 turns",
    ]


@pytest.mark.parametrize("place", ["_enter_buffer", "_exit_buffer", "_check_buffer"])
def test_after_an_interrupted_line_the_next_one_is_printed(place, monkeypatch, capsys):
    """Recover from Ctrl-C inside rich, which counts nested buffers."""
    from rich.console import Console

    show, step = Display(machine=False), getattr(Console, place)

    def interrupted(console):
        if place == "_enter_buffer":
            step(console)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Console, place, interrupted)
        with pytest.raises(KeyboardInterrupt):
            show.line("one")
    show.line("two")
    assert capsys.readouterr().out.splitlines()[-1:] == ["two"]
