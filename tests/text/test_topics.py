"""Everyday topics: the same one for a statement and a question in other words, in English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import languages
from memscope.text.language import every_rules, has_cjk, spaced_rules
from memscope.text.tokens import ALL_UNSPACED, fold, is_unspaced, pieces, words
from memscope.text.topics import WITHOUT_TOPIC, names, topic_bits, topics, topics_of_words

SAME = [
    ("I'm a vegetarian.", "What should I cook for dinner?", "food"),
    ("I never learned to drive.", "Which car should I rent?", "vehicles"),
    ("My sister is a nurse.", "What does my sibling do for a living?", "siblings"),
    ("I can't sleep when it is noisy.", "Should I take a nap?", "sleep"),
    ("我吃素。", "给我推荐个餐厅", "food"),
    ("我对花生过敏", "这个坚果蛋糕我能吃吗？", "allergy"),
    ("我每周二练大提琴。", "我会什么乐器？", "instruments"),
    ("我戒烟了", "要不要来一根香烟？", "smoking"),
    ("I'm a vegetarian.", "今晚去哪家餐厅？", "food"),
    ("我养了一只猫", "Do I have any pets?", "pets"),
    ("I've been a bookkeeper since school.", "What is my job?", "job"),
    ("The skoda needs new wipers.", "Which car do I drive?", "vehicles"),
    ("我开的是一辆老轩逸", "我开什么车？", "vehicles"),
    ("I've taken up the concertina again.", "Do I play an instrument?", "instruments"),
    ("Loaded the hilux last night.", "Which car do I drive?", "vehicles"),
    ("The missus is at choir.", "Who am I married to?", "partner"),
    ("They put me on apixaban.", "What medication am I on?", "medicine"),
    ("The vizsla chewed a slipper.", "What dog do I have?", "dogs"),
    ("在菜场门口当修鞋匠，鞋匠活不好干", "我做什么工作？", "job"),
]


def test_every_topic_has_a_chinese_name():
    assert [name for name in names() if not has_cjk(languages.get("zh").topic_name(name))] == []
    assert languages.get("en").topic_name("food") == "food" and languages.get("zh").topic_name("food") == "饮食"


@pytest.mark.parametrize(("statement", "question", "topic"), SAME)
def test_a_statement_and_a_question_in_other_words_share_a_topic(statement, question, topic):
    assert names().index(topic) in topics(statement) & topics(question)


@pytest.mark.parametrize("text", ["", "Hmm, well.", "嗯。", "Ωμέγα", "1234 !?"])
def test_a_text_about_nothing_has_no_topic(text):
    assert topics(text) == frozenset()


@pytest.mark.parametrize(
    ("one", "other"), [("I play the violin.", "The landlord raised the rent."), ("我会弹吉他", "房租涨了")]
)
def test_texts_about_different_things_share_none(one, other):
    assert topics(one) and topics(other) and not topics(one) & topics(other)


@pytest.mark.parametrize(
    "words", ["and in out her well", "an amazing word", "three separate things", "she felt the point"]
)
def test_common_words_have_no_topic_by_their_stem(words):
    """ "Andes", "innings", "outing", "herring" and "wellness" have the stems of other words."""
    assert topics(words) == frozenset()


def test_a_word_stands_for_the_broader_topics_too():
    assert {names()[topic] for topic in topics("labrador")} == {"dogs", "pets"}


def test_the_longest_chinese_word_counts_and_no_part_of_it():
    assert {names()[topic] for topic in topics("马拉松")} == {"running", "sport"}
    assert {names()[topic] for topic in topics("火车")} == {"transport"}  # no car


def test_the_words_that_a_caller_has_already_give_the_same():
    text = "We adopted a puppy and booked a flight to Tokyo."
    assert topics_of_words(words(text), spaced_rules(text)) == sum(1 << topic for topic in topics(text))


def test_the_table_is_small_and_every_word_and_name_in_it_is_known():
    files = [rules.topics for rules in every_rules() if rules.topics]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert sum(file.stat().st_size for file in files) <= 60_000
    assert len(names()) == len(set(names())) and {line.partition(":")[0] for line in lines} == {*names(), WITHOUT_TOPIC}
    known = [line for line in lines if not line.startswith(f"{WITHOUT_TOPIC}: ")]
    assert not [word for line in known for word in line.split(": ")[1].split() if not topics(word)]


@given(st.lists(st.text(st.sampled_from("我养了一只猫狗坐火车跑马拉松，。 5kcatdogｄⅣ㎏\n"), max_size=12)))
def test_texts_that_are_read_together_have_the_topics_of_each(texts):
    assert [{at for at in range(bits.bit_length()) if bits >> at & 1} for bits in topic_bits(texts)] == [
        topics(text) for text in texts
    ]


@given(st.text(st.sampled_from("猫のカ가，。…5５ \nkｄⅣⓐ㎏é'") | st.characters(), max_size=8))
def test_no_word_between_spaces_is_overlooked(text):
    if ALL_UNSPACED.fullmatch(text):
        assert all(is_unspaced(piece) or piece.isdigit() for piece in pieces(fold(text)))


@pytest.mark.parametrize("text", ["大家当然记住了", "这种困难谁都有", "专家鼓励早就累计", "恐怕还是背景", "忍不住鼓掌"])
def test_a_word_of_no_topic_hides_the_words_in_it(text):
    assert topics(text) == frozenset()  # 大家: no home; 当然: no job; 这种: no garden


def test_words_of_no_topic_leave_the_others_their_topic():
    assert names().index("home") in topics("大家都来我家")
    assert names().index("garden") in topics("种了这种番茄")
