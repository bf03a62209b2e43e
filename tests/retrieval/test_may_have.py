"""A question whether the user may eat or drink something: their health decides, however little it says of it."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.languages.requests import need

TOLD = ("I'm diabetic, two shots of insulin a day.", "我有糖尿病，一天打两针胰岛素。")


@pytest.mark.parametrize(
    "message",
    ["can I have a Red Bull?", "Could I try a mooncake", "so can we eat sushi", "中秋节能不能吃月饼", "能吃香蕉吗",
     "今晚可以喝点酒吗"],
)  # fmt: skip
def test_what_the_users_health_decides_is_shown_it(message):
    with MemoryScope(":memory:", settings={}) as memory:
        strays = [f"It rained on day {n}. 第{n}天下雨了。" for n in range(30)]
        memory.add_turns([{"role": "user", "content": text} for text in (*TOLD, *strays)], user="u")
        assert any(text[:-1] in memory.context(message, user="u") for text in TOLD)


@pytest.mark.parametrize(
    "message", ["can I freeze cooked rice", "can you eat raw eggs", "孕妇能吃螃蟹吗", "企鹅能吃什么", "马能吃苹果吗"]
)
def test_what_others_may_eat_needs_little(message):
    assert need(message) in ("world", "kind")


@pytest.mark.parametrize("message", ["Can I have that as a table", "can I have it shorter please"])
def test_a_request_for_another_form_is_none(message):
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": TOLD[0]}], user="u")
        assert memory.context(message, user="u") == ""
