"""A question about one past event that leaves the user out shows their lines that are alike in several ways."""

from __future__ import annotations

import pytest

from memscope import MemoryScope

TOLD = ("今天把那台二手面包车开去修理厂，师傅说刹车片磨没了，报了一千三。", "外甥女的满月酒摆在码头边的饭店。")


@pytest.mark.parametrize(("message", "wanted"), [("修车师傅最后报了多少", "一千三"), ("那顿喜酒在哪儿喝的", "码头")])
def test_a_past_event_is_found_in_other_words(message: str, wanted: str) -> None:
    assert wanted in _shown(message)


@pytest.mark.parametrize("message", ["修车店用什么账本", "鲸鱼一般能活多少年", "酒一般什么时候喝"])
def test_a_question_that_is_alike_in_no_way_shows_nothing(message: str) -> None:
    assert not _shown(message)


def _shown(message: str) -> str:
    others = [f"楼上第{n}天敲墙，灰掉了一地。" for n in range(60)]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in (*TOLD, *others)], user="u")
        return memory.context(message, user="u")
