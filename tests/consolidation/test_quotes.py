"""Quotes are aligned to the turn's own words; what would change the meaning is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.consolidation.find_quote import find_quote

SAID = (
    "Well I recieved the parcel from my sister yesterday, but I do not like it. I moved to Berlin with my wife last "
    "year! I met Bob at the station this morning. We have 3 cats and 12 hens."
)
ZH = "我喜欢唱歌跳舞，健身，旅游，电影，摄影。我不吃鱼，我有三只猫，昨天在公园散步，我在北京海淀区住了很多很多年了"


@pytest.mark.parametrize(
    "quote, found",
    [
        ("I received the parcel from my sister yesterday", "I recieved the parcel from my sister yesterday"),
        ("I recieved … yesterday", "I recieved the parcel from my sister yesterday"),
        ("the parcel ... my sister", "the parcel from my sister"),
        ("I moved to Berlin [...] last year", "I moved to Berlin with my wife last year"),
        ("Ann: I do not like it", "I do not like it"),
        ("I moved to Berlin with a wife last year", "I moved to Berlin with my wife last year"),
        ("I received the parcel from my sister … yesterday", "I recieved the parcel from my sister yesterday"),
        ("I do like it", None),
        ("I moved to Paris with my wife last year", None),
        ("I met Ann at the station this morning", None),
        ("We have 2 cats and 12 hens", None),
        ("year … I recieved", None),
        ("Ann:", None),
        ("…", None),
    ],
)
def test_english(quote, found):
    assert find_quote(quote, SAID) == found


@pytest.mark.parametrize(
    "quote, found",
    [
        ("我喜欢唱歌、旅游、摄影", "我喜欢唱歌跳舞，健身，旅游，电影，摄影"),
        ("我喜欢唱歌跳舞……摄影", "我喜欢唱歌跳舞，健身，旅游，电影，摄影"),
        ("小明：我有三只猫", "我有三只猫"),
        ("昨天再公园散步", "昨天在公园散步"),
        ("我吃鱼", None),
        ("我有两只猫", None),
        ("我在上海海淀区住了很多很多年了", None),
    ],
)
def test_chinese(quote, found):
    assert find_quote(quote, ZH) == found


TEXTS = st.text("ab cno't1…:. 我不吃鱼", max_size=60)


@given(TEXTS, TEXTS)
def test_whatever_is_found_stands_in_the_text(quote, text):
    found = find_quote(quote, text)
    assert found is None or (found and found in text)


@given(TEXTS, st.data())
def test_every_part_of_a_text_is_found_in_it(text, data):
    start = data.draw(st.integers(0, len(text)))
    part = text[start : data.draw(st.integers(start, len(text)))]
    assert find_quote(part, text) is not None or not part.strip(" .…,;:!?\"'。，；：！？") or not part.strip()
