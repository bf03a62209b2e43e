"""Similarity of two sentences by their words, computed before any model call: equal, or close enough to judge.

``same`` is strict, since no model checks it: equal words, apart from articles, particles and their order.
``closeness`` only nominates pairs for a model to judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from memscope.languages.wording import every, wordings
from memscope.text.language import CJK_LANGUAGES, clear_language, depends_on_languages, has_cjk, language
from memscope.text.tokens import fold, words

MIN_COMMON_PAIRS = 0.5  # share of the pairs of neighbouring words that equal sentences have in common
MIN_SIMILARITY = 0.3
SHARED_KEYWORD_BONUS = 0.3
_SIMILARITY_TOKEN = re.compile(r"[^\W_]+(?:'[a-z]+)?")


class Form(NamedTuple):
    """A sentence reduced to its words in order (CJK: characters), and its keywords."""

    tokens: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    topics: frozenset[str]


@depends_on_languages
@lru_cache(4096)
def form(text: str) -> Form:
    tokens = tuple(token for piece in _SIMILARITY_TOKEN.findall(fold(text)) for token in _tokens(piece))
    content = text
    for one in wordings(text):  # "the user" begins half of all facts
        content = one.user.sub(" ", content)
    topics = frozenset(word for word in words(content) if len(word) > 1 or not has_cjk(word))
    return Form(tokens, frozenset(pairwise(tokens)), topics)


def _tokens(piece: str) -> tuple[str, ...]:
    if has_cjk(piece):
        return tuple(character for character in piece if character not in _particles())
    return () if piece in every("articles") else (piece,)


@depends_on_languages
@lru_cache(maxsize=1)
def _particles() -> frozenset[str]:
    return frozenset("".join(every("particles")))


def same(one: str, other: str) -> bool:
    """Test for equal words in about the same order; "no", numbers, names and tenses count as words."""
    a, b = form(one), form(other)
    if a.tokens == b.tokens:
        return True
    return sorted(a.tokens) == sorted(b.tokens) and len(a.pairs & b.pairs) >= MIN_COMMON_PAIRS * len(a.pairs | b.pairs)


def closeness(one: str, other: str, *, without: str = "", topics: bool = False) -> float:
    """Measure the share (0 to 1) of the shorter text's content in the other, plus the bonus for shared ``topics``.

    ``without``: the subject's name, which both contain and which does not count.
    """
    subject = form(without).topics
    a, b = form(one).topics - subject, form(other).topics - subject
    shared = len(a & b) / min(len(a), len(b)) if a and b else 0.0
    return shared + SHARED_KEYWORD_BONUS * topics


def translated(text: str, sources: Sequence[str]) -> bool:
    """Test whether a text is in another script than its sources, or clearly in another European language."""
    if has_cjk(text):
        return not any(map(has_cjk, sources))
    if CJK_LANGUAGES.issuperset(map(language, sources)):
        return True
    noted, spoken = clear_language(text), clear_language("\n".join(sources))
    return noted is not None and spoken is not None and noted != spoken
