"""Sentences in English that tell of their speaker, by grammar and not by phrasing."""

from __future__ import annotations

import pytest

from memscope.languages.durable_facts import DURABLE_TERM, TOLD_TERM, durable_terms, is_durable, kinds
from memscope.languages.en.statement_score import signs


@pytest.mark.parametrize(
    "sentence",
    [
        "Spent nine years as a prison librarian",
        "been off dairy since the twins arrived",
        "The wife is from Lagos and cooks twice a week",
        "Severe fear of flying since 2014",
        "six chickens and a goat live in our yard",
    ],
)
def test_sentences_without_a_known_phrase_tell_of_their_speaker(sentence: str) -> None:
    assert is_durable(sentence)
    assert {TOLD_TERM, DURABLE_TERM} <= {*durable_terms(sentence)[0]}


@pytest.mark.parametrize(
    "sentence",
    [
        "The queue went twice round the building.",
        "It rained all afternoon and then it stopped.",
        "They really should fix that lift.",
        "That was quicker than I thought.",
        "Somebody left the window open again.",
        "Is there a shorter word for this?",
        "Boo.",
        "Don't tempt me",
    ],
)
def test_remarks_on_the_day_do_not(sentence: str) -> None:
    assert not is_durable(sentence)
    assert TOLD_TERM not in durable_terms(sentence)[0]


def test_whoever_leaves_the_subject_out_speaks_of_themselves() -> None:
    assert signs("Retired last Friday.", ())["elided"] and not signs("The shop retired the model.", ())["elided"]
    assert not signs("They've retired.", ())["elided"]
    assert not signs("Retired, I think", ())["elided"]  # the subject comes later


def test_a_question_tells_nothing() -> None:
    assert is_durable("I have two sons, do you know a club for them?") and not is_durable("Do I have two sons?")


@pytest.mark.parametrize(
    ("lasts", "passes"),
    [
        ("我一碰海鲜就得进医院", "昨晚看了球，踢得一塌糊涂"),
        ("双胞胎三月满六岁了", "吐司又烤糊了"),
        ("周二我不行，要去食物银行值班", "等修水管的，迟迟不来"),
        ("高的地方我不敢上，从小就怕", "今早公交挤死了"),
        ("我继父在长沙开修车铺", "打印机卡了两次纸"),
        ("毕业后就留在兰州了", "骑手把我的餐送到隔壁，居然也没人吃"),
        ("合肥那套房子贷款还清了", "这碗面像在嚼橡皮筋，我决定认输"),
    ],
)
def test_a_chinese_sentence_goes_by_its_signs(lasts: str, passes: str) -> None:
    assert is_durable(lasts) and not is_durable(passes)


def test_without_vectors_a_score_brings_into_the_profile_alone() -> None:
    assert (
        TOLD_TERM in durable_terms("双胞胎三月满六岁了")[0]
        and DURABLE_TERM not in durable_terms("双胞胎三月满六岁了")[0]
    )
    assert TOLD_TERM not in durable_terms("我住在上海。")[0] and DURABLE_TERM in durable_terms("我住在上海。")[0]


def test_the_words_of_others_state_nothing() -> None:
    assert not kinds("记者问路人幸福吗，路人说“我姓曾，住在上海”")
    assert kinds("我对花生过敏") and not kinds("路人说「我对花生过敏，住在上海」")
