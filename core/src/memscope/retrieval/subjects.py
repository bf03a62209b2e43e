"""Find what a question is about by its place: in Chinese a name of two or three characters has no capital letter.

    徐总那边有什么进展了？ ──▶ 徐总          你知道娜娜喜欢什么颜色吗 ──▶ 娜娜

Where few words are known, a question about the world (光合作用是什么) and one about somebody look alike; the lines that
have the subject itself answer either.
"""

from __future__ import annotations

from memscope import languages
from memscope.text.terms import term
from memscope.text.tokens import fold


def subjects(query: str) -> frozenset[int]:
    """Return the terms of the pairs of characters with which the subjects of a question begin."""
    folded = fold(query)
    signs = [one.questions for one in languages.of(query)]
    pairs = (match[1] + match[2] for one in signs for match in one.subject.finditer(folded))
    return frozenset(term(pair) for pair in pairs if all(one.stop_characters.isdisjoint(pair) for one in signs))
