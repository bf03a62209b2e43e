"""Names without a model: the labelled sentences, the rules one by one, and what holds for every text."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from growth import growth
from memscope.languages.names import MAX_TEXT_CHARS, NAME_KINDS, name_form, names

FOLDER = Path(__file__).parent


def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark", FOLDER.parents[1] / "benchmarks" / "entities.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(text: str) -> dict[str, str]:
    return {one.text: one.kind for one in names(text) if one.weight}


@pytest.mark.parametrize(("language", "recall"), [("en", 0.75), ("zh", 0.75), ("en2", 0.9), ("zh2", 0.7)])
def test_the_held_out_sentences(language, recall):
    score = benchmark().score(FOLDER / f"labelled_{language}.txt", "held_out")
    assert score["names"] >= 20
    assert score["precision"] >= 0.9 and score["recall"] >= recall and score["kinds"] >= 0.85, score


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("SUMIF is broken in my sheet.", "SUMIF", "thing"),
        ("The formula COUNTIFS returns 0.", "COUNTIFS", "thing"),
        ("Welcome Dan", "Dan", "person"),
        ("Octavia is the name of our car.", "Octavia", "thing"),
        ("My favourite novel is Beloved.", "Beloved", "thing"),
        ("I love Persuasion, the novel.", "Persuasion", "thing"),
        ("My boat is called Aurora.", "Aurora", "thing"),
        ('I finished "A Man Called Ove" on the train.', "A Man Called Ove", "thing"),
        ("The campsite Elk Meadow was full.", "Elk Meadow", "place"),
        ("We camped at Pine Hollow.", "Pine Hollow", "place"),
        ("Is there life on Mars?", "Mars", "place"),
        ("I read the book Ben gave me.", "Ben", "person"),
        ("In the car Ben was quiet.", "Ben", "person"),
        ("我男朋友天宇喜欢吃辣", "天宇", "person"),
        ("我弟弟轩轩发烧了", "轩轩", "person"),
        ("妞妞的作业写完了", "妞妞", "person"),
        ("豆包是我家兔子", "豆包", "thing"),
        ("阿哲是我大学室友。", "阿哲", "person"),
        ("我师父老马收徒了", "老马", "person"),
        ("我们在莫干山露营", "莫干山", "place"),
    ],
)
def test_a_kind_has_evidence(text, name, kind):
    assert found(text).get(name) == kind


@pytest.mark.parametrize(
    "text",
    [
        "Tried a recipe for bread.",
        "Football is my game.",
        "Crossed the road twice.",
        "慢慢来，天天下雨。",
        "我儿子天天练琴",
        "前前后后忙了三天",
        "今天是我妈妈的生日",
    ],
)
def test_no_noun_makes_a_name_of_what_is_none(text):
    assert found(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "Yesterday was nice. Dinner too!",
        "See you on Monday in March, before Christmas.",
        "I THINK YOU ARE SHOUTING",
        "The weather is fine. Well, OK.",
        "My English is getting better.",
        "How To Cook Rice And Beans Well",
        "今天星期五，天气很好。",
        "下个月我想换一份工作，因为太累了。",
        "昨天晚上小时候的朋友来了。",
        "叫全名总觉得像被点名。",
        "叫昵称吧，叫大名太正式了，叫小名就好。",
        "叫老板来结账。",
        "下个月去一家宠物粮公司做研发。",
        "他许诺了三次。",
        "叫警察了，叫医生来，叫邻居帮忙。",
    ],
)
def test_days_months_stop_words_and_the_first_words_of_sentences_are_none(text):
    assert found(text) == {}


@pytest.mark.parametrize(
    ("text", "name", "role"),
    [
        ("My sister Kim called.", "Kim", "my sister"),
        ("I saw my boss, Mr. Okafor, again.", "Mr. Okafor", "my boss"),
        ("My brother's name is Zork.", "Zork", "my brother"),
        ("她的老师很好，我妹妹小芳也来了。", "小芳", "我妹妹"),
        ("我的老闆陳偉明說不行。", "陳偉明", "我老板"),
        ("我男朋友陆川不能吃辣。", "陆川", "我男朋友"),
    ],
)
def test_a_role_that_is_said_with_a_name(text, name, role):
    assert [(one.text, one.role) for one in names(text) if one.role and one.weight] == [(name, role)]


@pytest.mark.parametrize(
    ("text", "name"),
    [("我去的是绿禾公园，看到了樱花。", "绿禾公园"), ("你从医院回来了吗？", ""), ("我觉得博物馆值得多去看看。", "")],
)
def test_words_before_a_chinese_place_are_no_part_of_its_name(text, name):
    assert list(found(text)) == [*filter(None, [name])]


def test_who_was_named_so():
    assert [(one.text, one.kind) for one in names("Adopted a cat. We named her Pepper.")] == [("Pepper", "person")]


def test_capitals_inside_a_word_are_an_organisation():
    assert [one.kind for one in names("my paper for NeurIPS") if one.weight] == ["organisation"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We like St. Anthony's School.", "St. Anthony's School"),
        ("他在上海交通大学教书。", "上海交通大学"),
        ("老师建议我报复旦大学。", "复旦大学"),
    ],
)
def test_an_ending_takes_what_belongs_to_it(text, name):
    assert found(text) == {name: "organisation"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("王小芳在阿里巴巴上班。", "王小芳"), ("昨天陈小红来了", "陈小红"), ("刘大伟升职了", "刘大伟"),
        ("劉小剛去了上海", "劉小剛"), ("我从小英语就好", ""), ("王小姐来了", "王小姐"), ("买了张小红帽的票", ""),
        ("昨天欧阳小芳来了", "欧阳小芳"), ("我和司马明一起去的", "司马明"),
    ],
)  # fmt: skip
def test_small_and_big_begin_a_given_name(text, found):
    assert [name.text for name in names(text) if name.kind == "person"] == [*filter(None, [found])]


@pytest.mark.parametrize("question", ["阿珍什么时候生", "小邵哪天走", "小邵谁认识"])
def test_a_name_ends_before_a_word_that_asks(question):
    assert [name.text for name in names(question)] == [question[:2]]


def test_a_given_name_before_brother_or_sister_is_a_person():
    assert found("磊哥借走了电钻，丽姐也来了。") == {"磊哥": "person", "丽姐": "person"}
    assert found("学姐和那个帅哥去了墨西哥，大哥没去，八哥会说话。") == {"墨西哥": "place"}


def test_a_title_of_two_characters_begins_a_sentence():
    assert found("钟阿姨送了我一盆绿萝。") == {"钟阿姨": "person"}
    assert found("我见了欧阳教授。") == {"欧阳教授": "person"}


def test_a_role_alone_is_a_mention_without_weight():
    assert [(one.text, one.weight, one.role) for one in names("I miss my sister.")] == [("my sister", 0, "my sister")]


def test_the_first_word_of_a_sentence_has_no_weight_unless_something_tells():
    assert [one.weight for one in names("Zorblax is here.")] == [0]
    assert found("Zorblax told me so.") == {"Zorblax": "person"}


def test_what_somebody_learns_weighs_as_much_as_a_title():
    learned, title = names('I am learning pottery from "The Potter\'s Bible".')
    assert (learned.text, learned.kind, learned.weight) == ("pottery", "topic", title.weight)


def test_a_text_of_both_languages():
    assert found("我在学Python，同事Kevin在教我。") == {"Python": "thing", "Kevin": "person"}
    assert found("My friend 王建国 lives in Shanghai, he said, and he likes it there.")["Shanghai"] == "place"


@given(st.text(max_size=300))
def test_any_text_is_read(text):
    for one in names(text):
        assert one.kind in NAME_KINDS and 0 <= one.weight <= 3
        assert one.role or text[one.start :].casefold().startswith(one.text.casefold())  # "ed" names Ed
        assert one.text == one.text.strip() != ""


WORDS = (
    "my sister Kim moved to Lisbon . “ Dr. of University the 's called and 我 妹妹 小芳 在 上海 。 《 》 老师 王 学"
).split()


@given(st.lists(st.sampled_from(WORDS), max_size=30), st.sampled_from(["", " "]))
def test_any_order_of_telling_words_is_read(words, blank):
    text = blank.join(words)
    spans = sorted((one.start, one.start + len(one.text)) for one in names(text) if one.weight)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert names(text) == names(text)


@given(st.text(max_size=40))
@example("'S ")
@example("Ann's's")
def test_a_form_is_its_own_form(name):
    assert name_form(name_form(name)) == name_form(name)


@pytest.mark.parametrize(
    "piece",
    [
        "My sister Kim moved to Lisbon. ",
        "A ",
        "Ab of ",
        "我妹妹小芳在上海。",
        "我学",
        "路",
        "“A",
        "《",
        "王",
        "learning a and ",
    ],
)
def test_time_is_linear(piece):
    size = MAX_TEXT_CHARS // 8
    assert growth(names, piece, size) < 3
