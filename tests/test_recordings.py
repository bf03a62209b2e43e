"""Recordings of the README are made from what the program prints, and are not of another program than today's."""

from __future__ import annotations

import importlib.util
import re
import sys
from html import unescape
from pathlib import Path

import pytest
from rich.cells import cell_len

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is POSIX's")]
LARGEST = 100_000  # bytes
SAME = 0.75  # of the lines; the others may name a score or the order of hits that an improvement changed


@pytest.fixture(scope="module")
def recordings():
    spec = importlib.util.spec_from_file_location("recordings", ROOT / "docs/recordings.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["recordings"] = module
    spec.loader.exec_module(module)
    return module


def plain(lines):
    return [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in lines]


@pytest.mark.parametrize("name", ["chat", "chat-zh", "demo", "demo-zh"])
def test_a_picture_shows_what_the_program_prints(recordings, name):
    """If it fails because the program says something else: python docs/recordings.py."""
    lines = recordings.run(recordings.RECORDINGS[name])
    shown = recordings.words(recordings.picture(name, lines))
    assert re.sub(r"\s", "", "".join(shown)) == re.sub(r"\s", "", "".join(plain(lines)))
    kept = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    assert len(kept.encode()) < LARGEST and "http" not in kept.replace("http://www.w3.org/2000/svg", "")
    old = set(map(recordings.without_times, recordings.words(kept)))
    new = [recordings.without_times(line) for line in shown]
    assert sum(line in old for line in new) >= SAME * len(new)


def test_the_chat_answers_from_memory(recordings):
    lines = plain(recordings.run(recordings.RECORDINGS["chat"]))
    asked = lines.index("alice> What is my boat called?")
    assert lines[asked + 1] == "assistant> Your boat is called Merle."


@pytest.mark.parametrize(
    ("page", "picture"),
    [
        ("README.md", "docs/demo.svg"),
        ("README.zh.md", "docs/demo-zh.svg"),
        ("docs/chat.md", "chat.svg"),
        ("docs/zh/README.md", "../chat-zh.svg"),
    ],
)
def test_a_page_shows_it(page, picture):
    assert f"]({picture})" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["chat-zh", "demo-zh"])
def test_chinese_characters_have_the_width_of_two_letters(recordings, name):
    kept = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    texts = re.findall(r'textLength="([\d.]+)"[^>]*>([^<]*)</text>', kept)
    narrow = [text for width, text in texts if float(width) < 12 * cell_len(unescape(text))]
    assert len(texts) > 20 and not narrow
