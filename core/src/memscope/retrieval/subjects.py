"""Find the subject of a question by position: the noun after "the"; in Chinese, which has no capitals, the beginning.

    (in Chinese) "Is there any news from Manager Xu?" ──▶ "Manager Xu"    "Which colour does Nana like?" ──▶ "Nana"
    "When are the bins collected?" ──▶ "bins"

If few words are known, a question about the world ("What is photosynthesis?") and one about a person look alike; lines
with the subject itself answer either.
"""

from __future__ import annotations

from memscope import languages
from memscope.languages.names import names
from memscope.text.language import has_cjk
from memscope.text.terms import term, terms
from memscope.text.tokens import fold


def subjects(query: str) -> frozenset[int]:
    """Return the terms of a question's definite noun ("the bins"), or of the character pairs that begin it."""
    folded = fold(query)
    signs = [language.questions for language in languages.of(query)]
    begin = [match[1] + match[2] for one in signs for match in one.subject.finditer(folded)]
    if not has_cjk(query):
        return frozenset(one for word in begin for one in terms(word))
    return frozenset(term(pair) for pair in begin if all(one.stop_characters.isdisjoint(pair) for one in signs))


def named(query: str) -> frozenset[int]:
    """Return the terms of character pairs in the names of a question, for scripts without spaces."""
    parts = (name.text for name in names(query) if name.weight)
    return frozenset(term(name[at : at + 2]) for name in parts for at in range(len(name) - 1))
