"""Read what people say of themselves when they introduce themselves, in apposition or in a chain."""

from __future__ import annotations

import pytest

from memscope.languages.durable_facts import KIND_TERMS, durable_terms


def kinds_of(text: str) -> set[str]:
    """Return which of "work" and "home" a text is marked with."""
    return {kind for kind in ("work", "home") if KIND_TERMS[kind] in durable_terms(text)[0]}


@pytest.mark.parametrize(
    "text",
    [
        "I'm Nora, a vet in Bristol.",
        "name's Nora by the way, I'm a vet in Bristol",
        "Nora here, 34, nurse from Leeds.",
        "Hi, Tom, plumber, two kids, living in Cork.",
        "About me: 38, accountant, Leicester, divorced, one cat.",
        "Hey, it's Diego, barista in Valencia.",
        "I am Sofia and I'm a paediatrician over in Malmö.",
        "I'm Fatima, a lawyer based out of Casablanca.",
        "I'm Bruno, tailor by trade, home is Naples.",
        "我叫林晓，在成都当兽医",
        "我是小王，上海人，做会计的",
        "我叫方磊，焊工，家住洛阳。",
        "我叫马丽娟，坐标武汉，小学老师。",
        "我，罗强，出租车司机，长沙。",
        "本人女，29岁，会计，在厦门。",
    ],
)
def test_an_introduction_tells_work_and_home(text: str) -> None:
    assert kinds_of(text) == {"work", "home"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I'm Greg, long-distance lorry driver.", "work"),
        ("I'm Anouk, originally Dutch, in Lisbon since 2019.", "home"),
        ("你好，我是老徐，修手机的。", "work"),
        ("我是从哈尔滨来的，叫孙浩。", "home"),
    ],
)
def test_an_introduction_tells_one_of_them(text: str, kind: str) -> None:
    assert kinds_of(text) == {kind}


@pytest.mark.parametrize(
    "text",
    [
        "I'm in Paris for the weekend, it rains.",
        "Thanks, Tom, that worked.",
        "I'm at the station in Crewe, waiting for the train.",
        "Tom, the plumber from Cork, is coming on Tuesday.",
        "I met Ines, a baker in Porto.",
        "OK, London it is.",
        "It's Friday, a friend from Leeds is here.",
        "Monday, dentist, then work.",
        "I'm Amara, in HR.",
        "Tom, plumber, from Cork, when can you come?",
        "我是昨天问你那个问题的人。",
        "我叫了个外卖，司机找不到门。",
        "我是第一次来重庆。",
        "我叫小明，老师让我查点东西。",
    ],
)
def test_another_sentence_tells_neither(text: str) -> None:
    assert not kinds_of(text)
