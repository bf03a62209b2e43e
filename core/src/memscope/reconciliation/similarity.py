"""Similarity of two sentences by their words, computed before any model call: equal, or close enough to judge.

``same`` is strict, because nobody looks at it again: the same words but for articles, particles and order.
``closeness`` only nominates pairs that a model judges.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from memscope.text.function_words import european_language
from memscope.text.language import has_cjk, language
from memscope.text.tokens import fold, words

SAME_ORDER = 0.5  # of the neighbouring words
CLOSE = 0.3
TOPIC = 0.3  # what a common keyword adds
_TOKEN = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_EMPTY = frozenset("a an the that this just also really very".split())
_WHO = re.compile(r"(?i)\bthe user(?:'s)?\b|用户")  # what half of all facts begin with
_PARTICLES = re.compile("[的了呢吧啊呀也很就着]")


class Form(NamedTuple):
    """A sentence reduced to its words in order (CJK: characters), and its keywords."""

    tokens: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    topics: frozenset[str]


@lru_cache(4096)
def form(text: str) -> Form:
    tokens = tuple(token for piece in _TOKEN.findall(fold(text)) for token in _tokens(piece))
    topics = frozenset(word for word in words(_WHO.sub(" ", text)) if len(word) > 1 or not has_cjk(word))
    return Form(tokens, frozenset(pairwise(tokens)), topics)


def _tokens(piece: str) -> tuple[str, ...]:
    if has_cjk(piece):
        return tuple(_PARTICLES.sub("", piece))
    return () if piece in _EMPTY else (piece,)


def same(one: str, other: str) -> bool:
    """Returns whether the words agree, in about the same order. "No", numbers, names and tenses count as words."""
    a, b = form(one), form(other)
    if a.tokens == b.tokens:
        return True
    return sorted(a.tokens) == sorted(b.tokens) and _overlap(a.pairs, b.pairs) >= SAME_ORDER


def closeness(one: str, other: str, *, without: str = "", topics: bool = False) -> float:
    """Returns the share (0 to 1) of the shorter one's content found in the other, plus ``TOPIC`` for shared keywords.

    ``without``: the subject's name, which both contain.
    """
    subject = form(without).topics
    a, b = form(one).topics - subject, form(other).topics - subject
    shared = len(a & b) / min(len(a), len(b)) if a and b else 0.0
    return shared + TOPIC * topics


def translated(text: str, sources: Sequence[str]) -> bool:
    """Returns whether the text is in another script than its sources, or plainly in another European language."""
    if has_cjk(text):
        return not any(map(has_cjk, sources))
    if all(language(source) != "en" for source in sources):
        return True
    noted, said = european_language(text), european_language("\n".join(sources))
    return noted is not None and said is not None and noted != said


def _overlap(a: frozenset[tuple[str, str]], b: frozenset[tuple[str, str]]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0
