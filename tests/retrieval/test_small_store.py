"""In a small store few lines stand beside the one that answers: lasting statements keep places by its size."""

from __future__ import annotations

import pytest

from memscope import MemoryScope

EN = (
    "Hi, I'm Tomasz, I just moved to Antwerp with my wife Lena and our twins.",
    "I start at the port authority on Monday, logistics planning.",
    "My back is bad since the accident in 2019, so no heavy lifting.",
    "I put the bikes in the neighbour's garage for now, Mr Peeters lets us.",
    "Olga is allergic to sesame, we found out the hard way.",
    "I quit smoking in May, first try that stuck.",
    "We usually do pancakes on Sunday.",
    "The car failed the inspection, the brake discs. They want 480.",
)
ZH = (
    "\u6211\u53eb\u5468\u654f\uff0c\u53bb\u5e74\u4ece\u6210\u90fd\u8c03\u5230\u82cf\u5dde\u3002",
    "\u6211\u5148\u751f\u5728\u6606\u5c71\u4e0a\u73ed\uff0c\u6bcf\u5929\u5f00\u8f66\u6765\u56de\u56db\u5341\u5206\u949f\u3002",
    "\u6211\u5bf9\u8292\u679c\u8fc7\u654f\uff0c\u4e00\u5403\u5c31\u80bf\u3002",
    "\u5a46\u5a46\u819d\u76d6\u505a\u4e86\u624b\u672f\uff0c\u73b0\u5728\u4f4f\u6211\u4eec\u5bb6\u3002",
    "\u5c0f\u533a\u7684\u5feb\u9012\u67dc\u574f\u4e86\uff0c\u5feb\u9012\u90fd\u653e\u5728\u95e8\u536b\u8001\u9648\u90a3\u91cc\u3002",
    "\u6211\u6253\u7b97\u660e\u5e74\u4e09\u6708\u8003\u6ce8\u518c\u4f1a\u8ba1\u5e08\uff0c\u8fd8\u5269\u4e24\u95e8\u3002",
    "\u623f\u8d37\u6bcf\u4e2a\u6708\u4e03\u5343\u4e8c\u3002",
    "\u6211\u7238\u559c\u6b22\u9493\u9c7c\uff0c\u4e0b\u4e2a\u6708\u516d\u5341\u5927\u5bff\u3002",
)


@pytest.mark.parametrize(
    ("texts", "question", "answer", "most"),
    [
        (EN, "Fix my car or buy another?", "brake discs", 5),
        (EN, "Where did we leave our bicycles?", "bikes", 3),
        (EN, "What may I bring as a snack for Olga's friends?", "sesame", 5),
        (ZH, "\u6211\u8fd8\u6709\u51e0\u95e8\u6ca1\u8003\u5b8c\uff1f", "\u4e24\u95e8", 3),
        (ZH, "\u6211\u7684\u5305\u88f9\u4e00\u822c\u53bb\u54ea\u513f\u62ff\uff1f", "\u8001\u9648", 5),
        (ZH, "\u751c\u54c1\u5e97\u70b9\u4ec0\u4e48\u597d\uff1f", "\u8292\u679c", 4),
    ],
)
def test_few_other_lines_stand_beside_the_answer(texts, question, answer, most):
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in texts], user="alice")
        lines = memory.context(question, user="alice").splitlines()
    assert any(answer in line for line in lines)
    assert len(lines) <= most


def test_the_only_line_that_a_caller_wants_is_the_best():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in EN], user="alice")
        hits = memory.retrieve("Where did we leave our bicycles?", user="alice", k=1, speak="when_needed")
    assert [hit.text for hit in hits] == [EN[3]]
