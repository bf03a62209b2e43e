"""Instructions that anyone would ask for need as little of memory as facts of the world, though they say "I"."""

from __future__ import annotations

import pytest

from memscope.languages.requests import need, wishes_heeded

IN_GENERAL = [
    "how long do I boil an egg?",
    "How often should I descale a kettle?",
    "how far apart do I plant leeks",
    "What temperature should I roast a chicken at?",
    "how many tiles do I need for 6 square metres",
    "How long do you need to proof sourdough?",
    "how deep should we plant tulip bulbs",
    "should I refrigerate tomatoes?",
    "so can you reheat rice twice",
    "what's the best way to clean a cast iron pan",
    "help me understand compound interest",
    "鸡蛋我要煮几分钟",
    "做红烧肉我要放几勺糖",
    "衣服上的油渍我怎么洗掉",
    "我该隔多久洗一次床单",
    "我如何申请护照",
]
OF_THE_USER = [
    "How long do we stay in Goa?",
    "how often do I see the physio",
    "how long should I rest before running again?",
    "how often should I take my tablets?",
    "how many pills do I take in the morning?",
    "How many days off do I have left?",
    "how long do I work each day",
    "how often should I call gran",
    "How long should I fast before a blood test?",
    "What can I bake with these plums?",
    "what's the best way to tell Dan",
    "help me understand my payslip",
    "我该多久复查一次",
    "我每天要吃几片药",
    "我怎么付的押金",
    "我怎么会对花生过敏",
    "我放了几天假",
    "我怎么办",
]


@pytest.mark.parametrize("message", IN_GENERAL)
def test_instructions_in_general_need_little(message):
    assert need(message) in {"world", "kind"}
    assert "content" not in wishes_heeded(message, "world")


@pytest.mark.parametrize("message", OF_THE_USER)
def test_what_users_do_themselves_needs_memory(message):
    assert need(message) == "user"
