"""Messages that look alike: the first needs nothing that memory knows of the user, the second does."""

from __future__ import annotations

import pytest

from memscope.languages.requests import NEEDS_USER, need, wishes_heeded


@pytest.mark.parametrize(
    ("others", "own"),
    [
        ("Where do the best violins come from?", "Where's the best place for a birthday meal?"),
        ("Which country makes the best chocolate?", "which of the two offers is better?"),
        ("Who is the best goalkeeper in Europe?", "best route home from the depot"),
        ("Is copper a better conductor than gold?", "What's the simplest way to pay for the shed?"),
        ("list the planets in order", "order the boots in a ten"),
        ("In what order do you add acid and water?", "What did the first one say?"),
        ("Does anything live in the Dead Sea?", "is there anything on at the club"),
        ("how safe are cable cars", "Is it safe for me to swim?"),
        ("What were the causes of the war?", "Where were we in May?"),
        ("How deep is an oil well?", "we'll need a gift"),
        ("explain gravity like I'm five", "explain my payslip"),
        ("give me 10 facts about owls", "Give me an easy dip to bring to the potluck"),
        ("pretend you are a dragon", "pretend you're my mum and nag me"),
        ("quiz me on capital cities", "Help me with the quiz tonight"),
        ("Let's play twenty questions", "Let's plan the baby shower"),
        ("Roleplay: you're a barista and I order", "What do I order at the bar?"),
        ("whats an allergy", "what am I allergic to"),
        ("whos the pope", "whos my dentist"),
        ("哪里的钻石最好", "哪天去看牙最好"),
        ("哪个国家的巧克力最好", "单位附近哪家馆子好吃"),
        ("马能吃苹果吗", "今晚能喝酒吗"),
        ("孕妇能不能吃螃蟹", "拔完牙能吃什么"),
        ("空腹喝咖啡不好吗", "这件穿去面试好吗"),
        ("给我讲三个猫头鹰的冷知识", "给我挑三份礼物"),
        ("给五岁小孩解释区块链", "给孩子买什么鞋"),
        ("随便说一个词", "随便吃点什么"),
        ("教我一个魔术", "教我开车的是谁"),
        ("我们来玩成语接龙", "我们周末玩什么"),
        ("笑死我了", "我要累死了，帮我请假"),
    ],
)
def test_a_message_about_the_world_is_told_from_one_about_the_user(others: str, own: str) -> None:
    assert (need(others) not in NEEDS_USER, need(own)) == (True, "user")


@pytest.mark.parametrize(
    ("message", "heeded"),
    [
        ("What did I say about your replies?", True),
        ("What should you not do when replying?", True),
        ("Which format do I like?", True),
        ("我要求你怎么回答来着", True),
        ("我对你的回复有什么要求", True),
        ("Did the landlord reply?", False),
        ("房东回复了吗", False),
    ],
)
def test_a_question_about_the_answers_heeds_wishes_for_them(message: str, heeded: bool) -> None:
    assert ("manner" in wishes_heeded(message, need(message))) is heeded
