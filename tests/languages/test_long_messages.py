"""A long message tells a story first: what it needs stands mostly in its last sentences."""

from __future__ import annotations

import pytest

from memscope.languages.requests import NEEDS_USER, need

PREAMBLE = (
    "My wife and I walked along the canal with Otto this morning, and my brother rang about his new flat. "
    "Our neighbour Priya was there too with her two boys, and she was telling us about her school."
)
PREAMBLE_ZH = (
    "\u4eca\u5929\u6211\u548c\u6211\u8001\u5a46\u53bb\u516c\u56ed\u6563\u6b65\uff0c"
    "\u78b0\u5230\u4e86\u6211\u5f1f\u5f1f\u548c\u4ed6\u5973\u513f\u3002"
)


@pytest.mark.parametrize(
    ("story", "asked", "expected"),
    [
        (PREAMBLE, "Anyway, what is the difference between a frog and a toad?", False),
        (PREAMBLE, "Anyway, when is my next appointment with the dentist?", True),
        (PREAMBLE * 3, "Anyway, what is the difference between a frog and a toad?", False),
        (PREAMBLE * 3, "Anyway, when is my next appointment with the dentist?", True),
        (PREAMBLE_ZH * 5, "\u9752\u86d9\u548c\u87fe\u870d\u6709\u4ec0\u4e48\u533a\u522b\uff1f", False),
        (PREAMBLE_ZH * 5, "\u6211\u4e0b\u6b21\u770b\u7259\u662f\u4ec0\u4e48\u65f6\u5019\uff1f", True),
    ],
)
def test_the_end_of_a_story_decides(story: str, asked: str, expected: bool) -> None:
    assert (need(f"{story} {asked}") == "user") is expected


def test_a_story_without_full_stops_is_read_from_its_last_words() -> None:
    told = PREAMBLE.replace(".", " and").lower()
    assert need(f"{told} {told} {told} anyway what is the difference between a frog and a toad") not in NEEDS_USER
    assert need(f"{told} {told} {told} anyway when is my next appointment with the dentist") == "user"
