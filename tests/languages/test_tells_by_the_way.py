"""Requests that tell of their speaker by the way, and questions for what memory holds, which tell nothing."""

from __future__ import annotations

import pytest

from memscope.languages.flags import Flag, flags
from memscope.text.tokens import pieces

TELL = [
    "what do I need to pack for mum's operation next Tuesday?",
    "How do I get my son's school, St Mary's, to change his class?",
    "could you check whether my passport has to be renewed, it's from 2016?",
    "Can you suggest a present for my nephew Leo who turns six on Sunday?",
    "what time should I leave for my flight tomorrow?",
    "How do you pronounce Siobhan, that's my son's new girlfriend",
    "What do I do with 3 boxes of green tomatoes",
    "What do I owe in inheritance tax if my aunt left me 40 thousand and a piano",
    "Which bus gets me from Oadby to the infirmary for 9.15?",
    "Can you explain what an HbA1c of 52 means, nurse rang today",
    "这个月奖学金两千块咋个存划算",
    "怎么跟老板说我三月要走",
    "我妈下周二做手术需要准备什么？",
    "周五去浦东机场接我爸停哪个停车场方便？",
    "我那辆09年的福克斯变速箱还值得修吗？",
]
ASK = [
    "Do I have a dentist appointment tomorrow?",
    "Can you remind me when my dentist appointment is?",
    "Where do I keep my spare key?",
    "How do I take my coffee?",
    "what did the vet say about my dog?",
    "Which school does my son go to?",
    "How do I get red wine out of wool?",
    "What is the capital of France, in one word",
    "When is my dentist, the one in Leeds?",
    "Can you tell me what my blood type is?",
    "我儿子在哪上学？",
    "我该几点去医院？",
    "你还记得我要买什么吗？",
    "我每天怎么上班？",
    "我跟小李是怎么认识的？",
    "羊毛地毯上的红酒怎么洗掉？",
]


@pytest.mark.parametrize("text", TELL)
def test_a_request_that_tells_is_a_statement(text: str) -> None:
    assert not flags(text, pieces(text), "user") & Flag.ASKING


@pytest.mark.parametrize("text", ASK)
def test_a_question_for_what_memory_holds_only_asks(text: str) -> None:
    assert flags(text, pieces(text), "user") & Flag.ASKING


@pytest.mark.parametrize("text", TELL)
def test_a_question_of_the_assistant_tells_nothing(text: str) -> None:
    if "?" in text or "？" in text:
        assert flags(text.partition(",")[0] + "?", pieces(text), "assistant") & Flag.ASKING
