"""Messages about the last answer or the talk itself, which need no memory: "a bit shorter"."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.languages.requests import NEEDS_USER, need

TALK = [
    "hmm, that isn't what I had in mind",
    "you dropped the third bullet",
    "now the same thing but less gloomy",
    "that second sentence is clumsy",
    "it still crashes on page 9",
    "let me try that and report back",
    "Ugh, the lift is stuck again.",
    "第二条太啰嗦了",
    "你这两句自相矛盾",
    "结尾再有力一点",
]

FOR_MEMORY = [
    "drop the one I'm allergic to",
    "the other one, the hotel we stayed at in spring",
    "which of those have I been to",
    "sign it with my wife's name",
    "把我过敏的那样去掉",
    "那家我常去的店叫什么来着",
]

NO_VERB = ["lighthouse keeper", "violin teacher", "kayak rental", "水管工", "佩特拉", "备用钥匙"]


@pytest.mark.parametrize("message", TALK)
def test_a_message_about_the_talk_needs_nothing(message):
    assert need(message) in {"talk", "nothing"}


@pytest.mark.parametrize("message", FOR_MEMORY)
def test_one_in_such_words_that_needs_the_user_is_no_talk(message):
    assert need(message) in NEEDS_USER


@pytest.mark.parametrize("message", NO_VERB)
def test_words_alone_are_looked_up(message):
    assert need(message) not in {"talk", "nothing"}


@pytest.fixture(scope="module")
def memory():
    with MemoryScope(":memory:", settings={}) as memory:
        said = [
            "My neighbour Derek has the spare key.",
            "I crashed into line 9 of the cones at karting.",
            "我的第二条狗叫豆包。",
        ]
        memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
        yield memory


@pytest.mark.parametrize("message", ["it still crashes on page 9", "第二条太啰嗦了"])
def test_lines_that_share_its_words_are_not_shown(memory, message):
    assert memory.context(message, user="alice") == ""


def test_somebody_known_is(memory):
    assert "spare key" in memory.context("you got that wrong, derek would laugh at you", user="alice")
