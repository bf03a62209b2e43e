"""Questions, empty answers, equal statements, and questions about the user."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.languages import get
from memscope.languages.statements import about_user, asks, content_words, requests, sentences, unknowing
from memscope.text.tokens import fold, pieces


@pytest.mark.parametrize(
    "text",
    [
        "Where did I park?",
        "Hi! What's my blood type again?",
        "what size shoes does Maja wear",
        "ok so where is my passport",
        "do you know my postcode",
        "我的护照在哪儿？",
        "我工号是多少",
        "你好，请问我住几楼？",
        "你还记得我的生日吗",
        "Quick question, where do I keep my passport?",
        "What did I say, was it Tuesday or Wednesday?",
        "请问，我家住几楼？",
        "我嘅密碼係乜",
        "when is the dentist",
        "when's mum coming over, I can't remember",
        "who is older, my brother or my cousin Ann?",
    ],
)
def test_a_turn_that_only_asks(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Lisbon. Where can I get good bread?",
        "What a lovely day!",
        "When I was five we moved to Rome",
        "How nice of you!",
        "Whatever you say.",
        "I know who did it.",
        "ok",
        "",
        "我没什么事",
        "谁都知道他爱吃辣",
        "我养了一只猫，你说它几岁好呢，反正三岁了",
        "我住在北京。那边冷吗？",
        "I've moved to Lisbon with Anna, do you know it?",
        "今天在图书馆看了一本小说，叫《百年孤独》，你听说过吗？",
        "could you find me a lift to Leeds, my van is in the garage until the 14th",
        "How long does a hip replacement take to heal, mine was in September?",
        "do you know a good plumber cos our boiler died this morning",
        "did I tell you we are moving to Hull",
    ],
)
def test_a_turn_that_says_something(text: str) -> None:
    assert not asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't know that yet.",
        "I'm sorry, I don't know your blood type.",
        "You haven't told me your shoe size.",
        "There is no information about that.",
        "That was not mentioned.",
        "No idea, I'm afraid.",
        "You'd have to tell me, I don't know it.",
        "Sorry, I don't have your address. Maybe it is on your card?",
        "我还不知道。",
        "抱歉，你还没告诉我你的工号。",
        "目前我沒有這個資訊，要不要問問媽媽？",
        "这里没有相关记录。",
        "唔清楚。",
    ],
)
def test_an_answer_that_knows_nothing(text: str) -> None:
    assert unknowing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Your blood type is B negative.",
        "I don't know the street, but you live in Oslo.",
        "I don't think you should eat that.",
        "You told me it is in the drawer.",
        "你的工号是Q7731。",
        "不知道具体几号，但你说过在五月。",
        "",
    ],
)
def test_an_answer_that_knows_something(text: str) -> None:
    assert not unknowing(text)


@pytest.mark.parametrize(
    "query",
    [
        "What do you know about me?",
        "Who am I?",
        "Who am I to you?",
        "Tell me what you remember.",
        "Describe me.",
        "Can you summarise what I told you?",
        "What have you learned about me so far?",
        "Do you remember me?",
        "What do you remember of me by now?",
        "What have you got on file for me?",
        "Anything you have stored regarding me?",
        "Give me a rundown of who you think I am.",
        "Remind me: what facts about yours truly have you stored?",
        "Paint a picture of me from what we've discussed.",
        "Who do you reckon you're talking to?",
        "在你眼里我是怎样的人",
        "关于我这个老太婆，你知道多少？",
        "你知道我的哪些事",
        "介绍一下我",
        "你还记得我什么",
        "我是谁？",
        "關於我你都知道什麼",
        "总结一下我告诉过你的",
        "Write a short bio for my website.",
        "I need a cover letter for the Siemens job",
        "帮我写份简历",
        "我的情况你清楚多少",
        "你小本本上记了我哪些事",
        "说说我的基本情况",
        "帮我弄一份个人档案",
    ],
)
def test_questions_about_the_user(query: str) -> None:
    assert about_user(query)


@pytest.mark.parametrize(
    "query",
    [
        "What do you know about Lisbon?",
        "Who is my dentist?",
        "Tell me about my sister Anna.",
        "Who am I meeting on Friday?",
        "Have you got a recipe for me?",
        "Which jacket looks good on me?",
        "What should I cook?",
        "Can you describe it to me?",
        "Give me a summary",
        "What do you think of me?",
        "Who do you think I am related to?",
        "介绍一下北京",
        "我的生日是哪天？",
        "我住在哪里",
        "你知道我妹妹叫什么吗",
        "Write me a bio of Marie Curie",
        "Write me a bio for my cat Tom",
        "Can you fix the typo in my CV?",
        "我想知道简历怎么写",
        "介绍一下我今早逛的那个展",
        "总结一下我上午听的讲座里的要点",
        "你记得我什么时候浇的花吗",
    ],
)
def test_questions_about_something_else(query: str) -> None:
    assert not about_user(query)


@pytest.mark.parametrize("text", ["Recommend a restaurant for tonight", "What now?", "帮我想个菜单", "晚饭吃什么？"])
def test_requests(text: str) -> None:
    assert requests(text)


@pytest.mark.parametrize("text", ["Hello!", "xyzzy", "Good morning", "thanks a lot", "你好", "早上好", "", "嗯"])
def test_greetings_and_single_words_are_no_requests(text: str) -> None:
    assert not requests(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Berlin.", "i live in berlin"),
        ("I live in Berlin", "Well, I really live in Berlin!"),
        ("I live in Berlin.", "As I said, I live in Berlin."),
        ("我住在北京。", "我住在北京啊！"),
        ("我住在北京", "我说过我住在北京。"),
    ],
)
def test_texts_of_the_same_content(one: str, other: str) -> None:
    assert content_words(one) == content_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Berlin", "I lived in Berlin"),
        ("I eat fish", "I don't eat fish"),
        ("I'll move to Rome", "I moved to Rome"),
        ("My flat costs 1180", "My flat costs 1265"),
        ("Anna likes Ben", "Ben likes Anna"),
        ("My sister lives in Oslo", "His sister lives in Oslo"),
        ("It was -5 degrees", "It was 5 degrees"),
        ("我对花生过敏", "我对花粉过敏"),
        ("我吃鱼", "我不吃鱼"),
        ("我住三楼", "我住七楼"),
    ],
)
def test_what_differs_in_a_number_name_tense_or_negation_is_not_equal(one: str, other: str) -> None:
    assert content_words(one) != content_words(other)


WORDS = st.text("abcdefghij0123456789京海", min_size=1, max_size=6)


@given(st.lists(WORDS, max_size=6), WORDS, WORDS, st.lists(WORDS, max_size=6))
def test_one_other_word_is_other_content(before: list[str], one: str, other: str, after: list[str]) -> None:
    first, second = (content_words(" ".join([*before, f"x{word}", *after])) for word in (one, other))
    assert (first == second) == (one == other)


@given(st.text(max_size=80))
def test_marks_and_case_say_nothing(text: str) -> None:
    assert content_words(gist_spelled := " ".join(content_words(text))) == content_words(gist_spelled.upper())


@given(st.text(max_size=200))
def test_any_text_is_judged(text: str) -> None:
    assert isinstance(asks(text), bool) and isinstance(unknowing(text), bool) and isinstance(about_user(text), bool)
    assert all(part.strip() for part in sentences(text))


@given(st.data())
@pytest.mark.parametrize("form", ["manner", "measures"])
def test_every_wish_for_a_form_has_one_of_the_words_that_are_looked_up_first(form: str, data: st.DataObject) -> None:
    rules = get("en").statements
    ascii = st.characters(max_codepoint=127)  # an unassigned character ends a word for ``re``, but not for ``pieces``
    text = fold(data.draw(st.from_regex(getattr(rules, form).pattern, alphabet=ascii)))
    words = {part for word in pieces(text) for part in word.split("'")}
    assert not getattr(rules, form).search(text) or words & rules.form_words


@pytest.mark.parametrize(("form", "least"), [("manner", 80), ("measures", 20)])
def test_every_chinese_wish_for_a_form_begins_with_a_character_that_is_looked_for_first(form: str, least: int) -> None:
    wish = getattr(get("zh").statements, form)
    alternatives = wish.pattern.partition("(?<=(?=")[2].removesuffix(").)")
    characters = set(re.findall(r"\w", alternatives))
    endings = [*characters, "文字", "业词", "業詞", "通话", "moji"]
    wished = [first + ending for first in characters for ending in endings if re.match(alternatives, first + ending)]
    assert len(wished) > least and all(map(wish.match, wished))
