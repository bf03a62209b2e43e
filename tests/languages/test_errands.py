"""Chinese questions for appointments and errands leave their subject out: the speaker's, not the world's."""

from __future__ import annotations

import pytest

from memscope.languages.requests import NEEDS_USER, need


@pytest.mark.parametrize(
    "message",
    [
        "下次换滤芯是哪天",
        "下回打破伤风是几月几号",
        "看牙约的周几",
        "羽毛球课改到哪个馆了",
        "游泳卡还剩几次",
        "居住证什么时候到期",
    ],
)
def test_an_errand_without_a_subject_is_the_users(message: str) -> None:
    assert need(message) in NEEDS_USER


@pytest.mark.parametrize("message", ["护照是什么时候开始普及的", "下一届亚运会在哪儿办"])
def test_a_next_or_last_time_of_something_public_is_the_worlds(message: str) -> None:
    assert need(message) in {"world", "kind"}
