"""Find lasting statements about oneself, the contents of a profile, by the rules of each sentence's language.

Each kind of statement has a weight. Units of the user's turns carry a term per kind (``marks``), so that one search in
any store finds them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from memscope.languages.registry import of_sentence
from memscope.languages.statements import is_question, sentences
from memscope.text.language import depends_on_languages, has_cjk
from memscope.text.terms import term

KIND_WEIGHTS = {
    "name": 5.0, "person": 3.0, "home": 3.0, "work": 3.0, "people": 3.0, "health": 4.0, "taste": 3.0, "habit": 2.0,
    "have": 2.0, "wish": 1.5,
}  # fmt: skip
MOMENTARY_PENALTY = 1.5  # subtracted from a weight for a word of the moment
MIN_STATEMENT_SCORE = 0.0  # log odds from which a sentence is marked when it is written
GRADED_SCORES = (-2.0, 4.0)  # log odds of a durability of 0, and of the greatest
MAX_DURABILITY = 7  # what three bits of a unit's flags hold
KIND_TERMS = {kind: term(f"\0{kind}") for kind in KIND_WEIGHTS}  # NUL: no word of a text has it
TOLD_TERM = term("\0told")  # by ``FactRules.score``, of whatever kind
IMPORTANT_TERM = term("\0serious")  # an observation of level 3, an insight
DURABLE_TERM = term("\0lasting")  # beside any other of them
PROFILE_TERMS: tuple[int, ...] = (*KIND_TERMS.values(), TOLD_TERM, IMPORTANT_TERM)


def kinds(sentence: str) -> tuple[str, ...]:
    """Return the kinds of lasting statement that one sentence makes about its speaker; none for a question."""
    return _stated(sentence)[0]


def asked_kinds(question: str) -> frozenset[str]:
    """Return the kinds of lasting statement that would answer a question: "Where do I live?" is about a home."""
    rules = of_sentence(question).facts
    return frozenset(kind for sentence in sentences(question) for kind in rules.kinds(sentence))


def lasting(sentence: str) -> float:
    """Return the weight of a sentence's lasting statements about its speaker; 0 for none."""
    if not (stated := kinds(sentence)):
        return 0.0
    return max(0.5, weight_of(stated) - MOMENTARY_PENALTY * of_sentence(sentence).facts.is_momentary(sentence))


def weight_of(kinds: Sequence[str]) -> float:
    """Return the weight of kinds together; 0 for none."""
    strongest, *others = sorted((KIND_WEIGHTS[kind] for kind in kinds), reverse=True) or [0.0]
    return strongest + 0.5 * sum(others)


def statement_score(sentence: str) -> float | None:
    """Return the log odds that a sentence tells something lasting of its speaker; -inf for a question.

    None: its language is read by kinds alone.
    """
    return _stated(sentence)[1]


@depends_on_languages
@lru_cache(maxsize=1 << 10)
def _stated(sentence: str) -> tuple[tuple[str, ...], float | None]:
    """Return the ``kinds`` and the ``statement_score`` of a sentence."""
    rules = of_sentence(sentence).facts
    stated = tuple(dict.fromkeys(rules.kinds(sentence)))
    score = rules.score(sentence, stated)
    if (stated or score is not None) and is_question(sentence):
        return (), None if score is None else -math.inf
    return stated, score


def is_durable(sentence: str) -> bool:
    """Return whether the log odds of a sentence mark it as a lasting statement."""
    score = statement_score(sentence)
    return score is not None and score >= MIN_STATEMENT_SCORE


def marks(text: str) -> tuple[tuple[int, ...], int]:
    """Return the terms under which a text's lasting statements are found, and its durability, 0 to ``MAX_DURABILITY``.

    The terms are those of its kinds, else the one of what is told; the durability grades the log odds of its likeliest
    sentence, and is 0 in a language that is read by kinds alone.
    """
    read = list(map(_stated, sentences(text)))
    terms = [KIND_TERMS[kind] for kind in dict.fromkeys(kind for stated, _ in read for kind in stated)]
    best = max((score for _, score in read if score is not None), default=-math.inf)
    if not (terms or has_cjk(text)) and best >= MIN_STATEMENT_SCORE:
        terms.append(TOLD_TERM)
    return (*terms, DURABLE_TERM) if terms else (), _graded(best)


def _graded(score: float) -> int:
    low, high = GRADED_SCORES
    return round(MAX_DURABILITY * (min(max(score, low), high) - low) / (high - low))
