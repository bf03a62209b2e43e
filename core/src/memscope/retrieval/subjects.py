"""Find what a question is about by its place: a noun behind "the", and in Chinese, where no name has a capital letter,
what it begins with.

    (in Chinese) "Is there any news from Manager Xu?" ──▶ "Manager Xu"    "Which colour does Nana like?" ──▶ "Nana"
    "When are the bins collected?" ──▶ "bins"

Where few words are known, a question about the world ("What is photosynthesis?") and one about somebody look alike; the
lines that have the subject itself answer either.
"""

from __future__ import annotations

from memscope import languages
from memscope.languages.names import names
from memscope.text.language import has_cjk
from memscope.text.terms import term, terms
from memscope.text.tokens import fold


def subjects(query: str) -> frozenset[int]:
    """Return the terms of a question's definite noun ("the bins"), or of the pairs of characters that begin it."""
    folded = fold(query)
    signs = [one.questions for one in languages.of(query)]
    begin = [match[1] + match[2] for one in signs for match in one.subject.finditer(folded)]
    if not has_cjk(query):
        return frozenset(one for word in begin for one in terms(word))
    return frozenset(term(pair) for pair in begin if all(one.stop_characters.isdisjoint(pair) for one in signs))


def named(query: str) -> frozenset[int]:
    """Return the terms of the pairs of characters in the names of a question, for scripts without blanks."""
    parts = (one.text for one in names(query) if one.weight)
    return frozenset(term(name[at : at + 2]) for name in parts for at in range(len(name) - 1))
