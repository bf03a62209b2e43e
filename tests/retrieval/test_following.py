"""Lines that go on about somebody named right before, and lines that answer nothing: courtesies, what is no wish."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from recorded import remarks


@pytest.mark.parametrize(
    ("said", "query", "wanted"),
    [
        (("Mum is having her hip done in May.", "she's 74 and stubborn"), "How old is my mother?", "74"),
        (("The Cork trip is on.", "I have 900 put by for it"), "How much did I save for the Cork trip?", "900"),
        (("新来的小姑娘叫小满，帮我打包", "她是隔壁星村的"), "小满是哪里人", "星村"),
        (("采茶工二十号到，一共十二个", "管他们的叫老邱"), "采茶工归谁管", "老邱"),
    ],
)
def test_what_goes_on_about_somebody_follows_the_line_that_names_them(said, query, wanted):
    others = remarks(query)[:60]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in others], user="alice", session="others")
        memory.add_turns([{"role": "user", "content": text} for text in said], user="alice", session="said")
        assert wanted in memory.context(query, user="alice")


def test_a_courtesy_of_the_assistant_answers_no_question_about_the_world():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "We got the flat."}], user="alice")
        memory.add_turns([{"role": "assistant", "content": "Great news!"}], user="alice")
        assert "news" not in memory.context("Who wrote The Shipping News?", user="alice")


def test_what_will_not_do_is_no_wish_for_lines_of_an_answer():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "江西菜最对我胃口，太甜的不行"}], user="alice")
        memory.add_turns([{"role": "user", "content": "回答最多三行"}], user="alice")
        shown = memory.context("为什么晚霞是红的", user="alice")
    assert "三行" in shown and "江西" not in shown


@pytest.mark.parametrize(
    ("asked", "answered", "query", "wanted"),
    [
        ("Who is my apprentice?", "That would be Bilal.", "How old is he?", "nineteen"),
        ("Where does Zosia study?", "In Leeds.", "and which subject?", "marine biology"),
        ("What's the gecko called?", "Pickle.", "who does it belong to?", "left me Pickle"),
        ("Where is my boat?", "In Kiel.", "Thanks, and its name?", "Aurora"),
        ("我徒弟叫什么？", "叫苗庆丰。", "他多大了？", "十九"),
        ("我外甥在哪儿念书？", "在兰州。", "那学的什么专业", "兽医"),
    ],
)
def test_a_question_that_refers_back_is_about_what_was_spoken_of_before(asked, answered, query, wanted):
    facts = ["I took on an apprentice, Bilal, nineteen, ears like a bat", "the kids left me Pickle, a leopard gecko",
             "Zosia is in Leeds for marine biology", "My boat Aurora lies in Kiel", "苗庆丰十九，耳朵灵得很",
             "外甥在兰州念兽医，年底回来"]  # fmt: skip
    with MemoryScope(":memory:", settings={}) as memory:
        said = [*remarks(query)[:40], *facts, *remarks(query)[40:80]]
        memory.add_turns([{"role": "user", "content": text} for text in said], user="alice", session="s")
        assert wanted not in memory.context(query, user="bob")
        memory.add_turns([{"role": "user", "content": asked}, {"role": "assistant", "content": answered}], user="alice")
        lines = memory.context(query, user="alice").splitlines()
        assert any(wanted in line for line in lines) and len(lines) <= 10


def test_the_exchange_that_a_question_refers_back_to_is_not_shown_again():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "Bilal is nineteen."}], user="alice", session="s")
        memory.add_turns([{"role": "user", "content": "Who is my apprentice?"}], user="alice")
        memory.add_turns([{"role": "assistant", "content": "Your apprentice is Bilal."}], user="alice")
        shown = memory.context("How old is he?", user="alice")
    assert "nineteen" in shown and "apprentice" not in shown


def test_a_question_that_names_whom_it_is_about_does_not_refer_back():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "Bilal is nineteen."}], user="alice")
        memory.add_turns([{"role": "user", "content": "Who is my apprentice?"}], user="alice")
        memory.add_turns([{"role": "assistant", "content": "Bilal."}], user="alice")
        assert "nineteen" not in memory.context("How old is he, that Beethoven?", user="alice")


@pytest.mark.parametrize(("words", "is_read"), [(20, True), (80, False)])
def test_only_the_beginning_of_a_long_turn_is_read_for_what_a_question_refers_back_to(words, is_read):
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "Bilal is nineteen."}], user="alice", session="s")
        memory.add_turns([{"role": "user", "content": text} for text in remarks("x")[:60]], user="alice", session="r")
        answer = f"{'well, ' * words}that would be Bilal."
        memory.add_turns([{"role": "user", "content": "Who is my apprentice?"}], user="alice")
        memory.add_turns([{"role": "assistant", "content": answer}], user="alice")
        assert ("nineteen" in memory.context("How old is he?", user="alice")) is is_read
