"""A question in other words than its answer is ranked by its meaning, before other lasting statements."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.languages.statements import about_user
from recorded import remarks

LASTING = {
    "en": [
        "I'm allergic to shellfish.", "I love crime novels.", "I work at the harbour office.", "I'm left-handed.",
        "My sister Ida lives in Turku.", "I hate flying.", "I swim on Mondays.", "My birthday is on 3 May.",
        "I have two sons.", "I collect stamps.", "I drive an old Saab.", "I don't drink coffee.",
    ],
    "zh": [
        "\u6211\u5bf9\u867e\u8fc7\u654f\u3002",
        "\u6211\u7231\u770b\u4fa6\u63a2\u5c0f\u8bf4\u3002",
        "\u6211\u5728\u6e2f\u52a1\u5c40\u4e0a\u73ed\u3002",
        "\u6211\u59b9\u59b9\u4f4f\u5728\u53a6\u95e8\u3002",
        "\u6211\u6015\u5750\u98de\u673a\u3002",
        "\u6211\u662f\u5de6\u6487\u5b50\u3002",
        "\u6211\u6bcf\u5468\u4e00\u6e38\u6cf3\u3002",
        "\u6211\u751f\u65e5\u662f\u4e94\u6708\u4e09\u53f7\u3002",
        "\u6211\u6709\u4e24\u4e2a\u513f\u5b50\u3002",
        "\u6211\u96c6\u90ae\u3002",
        "\u6211\u5f00\u4e00\u8f86\u65e7\u6851\u5854\u7eb3\u3002",
        "\u6211\u4e0d\u559d\u5496\u5561\u3002",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "query"),
    [
        ("The spare key hangs behind the fuse box.", "I'm locked out, how do I get in?"),
        ("We painted the nursery pale green.", "What colour is the baby's room?"),
        (
            "\u623f\u4e1c\u8bf4\u4e00\u6708\u8d77\u6bcf\u6708\u591a\u6536\u4e24\u767e\u3002",
            "\u6211\u7684\u79df\u91d1\u8981\u600e\u4e48\u53d8\uff1f",
        ),
        (
            "\u6696\u6c14\u5e08\u5085\u8bf4\u9505\u7089\u8fd8\u80fd\u6491\u4e24\u4e2a\u51ac\u5929\u3002",
            "\u53d6\u6696\u8bbe\u5907\u591a\u4e45\u8981\u6362\uff1f",
        ),
        (
            "\u5a74\u513f\u623f\u5237\u6210\u4e86\u6d45\u7eff\u8272\u3002",
            "\u5b9d\u5b9d\u7684\u5c4b\u5b50\u662f\u4ec0\u4e48\u989c\u8272\uff1f",
        ),
    ],
)
def test_a_question_in_other_words_is_answered_by_its_meaning(told, query):
    lasting, others = LASTING["en" if told.isascii() else "zh"], remarks(told)[:100]
    texts = [*others[:50], *lasting[:6], told, *lasting[6:], *others[50:]]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in texts], user="alice")
        hits = memory.retrieve(query, user="alice", speak="when_needed")
    assert told in [hit.text for hit in hits[:3]]


@pytest.mark.parametrize(
    "query", ["Describe me a sunset.", "Describe me the rules of chess.", "Describe the harbour office."]
)
def test_a_thing_to_describe_is_no_question_about_the_user(query):
    assert not about_user(query)


@pytest.mark.parametrize(
    "query", ["Describe me to a stranger.", "\u628a\u6211\u4ecb\u7ecd\u7ed9\u4e00\u4e2a\u964c\u751f\u4eba"]
)
def test_a_description_of_the_user_is_a_question_about_them(query):
    assert about_user(query)
