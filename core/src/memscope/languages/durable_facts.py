"""Find lasting statements about oneself, the contents of a profile, by the rules of each sentence's language.

Each kind of statement has a weight. Units of the user's turns carry a term per kind (``durable_terms``), so that one
search in any store finds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import filterfalse, groupby, repeat

from memscope.languages.fact_rules import FactRules
from memscope.languages.language import Language
from memscope.languages.registry import of_sentence
from memscope.languages.statements import is_marked_question, is_question, sentences
from memscope.text.language import depends_on_languages, has_cjk, is_usual
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
WISH_TERMS = {about: term(f"\0wish {about}") for about in ("manner", "measure", "content")}  # of standing wishes
TASTE_TERMS = (KIND_TERMS["health"], KIND_TERMS["taste"])  # of what a choice for the user has to heed
PROFILE_TERMS: tuple[int, ...] = (*KIND_TERMS.values(), TOLD_TERM, IMPORTANT_TERM)


def kinds(sentence: str) -> tuple[str, ...]:
    """Return the kinds of lasting statement that one sentence makes about its speaker; none for a question."""
    return _stated(sentence)[0]


def asked_kinds(question: str) -> frozenset[str]:
    """Return the kinds of lasting statement that would answer a question: "Where do I live?" is about a home."""
    rules = of_sentence(question).facts
    return frozenset(kind for sentence in sentences(question) for kind in rules.asked(sentence))


def statement_weight(sentence: str) -> float:
    """Return the weight of a sentence's lasting statements about its speaker; 0 for none."""
    if not (stated := kinds(sentence)):
        return 0.0
    return max(0.5, weight_of(stated) - MOMENTARY_PENALTY * of_sentence(sentence).facts.is_momentary(sentence))


def weight_of(kinds: Sequence[str]) -> float:
    """Return the weight of kinds together; 0 for none."""
    if not kinds:
        return 0.0
    strongest, *others = sorted((KIND_WEIGHTS[kind] for kind in kinds), reverse=True)
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
    ((stated, score),) = _read([sentence], of_sentence(sentence).facts)
    if (stated or score is not None) and is_question(sentence):
        return (), None if score is None else -math.inf
    return stated, score


def _read(parts: Sequence[str], rules: FactRules) -> Iterator[tuple[tuple[str, ...], float | None]]:
    """Yield the kinds and the log odds of sentences of one language as if none were a question."""
    stated = [tuple(dict.fromkeys(rules.kinds(part))) for part in parts]
    return zip(stated, rules.scores(parts, stated) or repeat(None), strict=False)


def is_durable(sentence: str) -> bool:
    """Return whether the log odds of a sentence mark it as a lasting statement."""
    score = statement_score(sentence)
    return score is not None and score >= MIN_STATEMENT_SCORE


def durable_terms(text: str) -> tuple[tuple[int, ...], int]:
    """Return the terms under which a text's lasting statements are found, and its durability, 0 to ``MAX_DURABILITY``.

    The terms are those of its kinds, else the one of what is told; the durability grades the log odds of its likeliest
    sentence, and is 0 in a language that is read by kinds alone. Without built-in vectors the score is less sure: in
    Chinese it brings a statement into the profile, and is no mark of a lasting one.
    """
    best, kinds_stated = GRADED_SCORES[0], dict[str, None]()
    for language, every in _by_language(text):
        parts = list(filterfalse(is_marked_question, every))
        for part, (stated, score) in zip(parts, _read(parts, language.facts), strict=True):
            better = score is not None and score > best
            if (stated or better) and not is_question(part):
                kinds_stated.update(dict.fromkeys(stated))
                best = score if score is not None and better else best
    terms = [KIND_TERMS[kind] for kind in kinds_stated]
    sure = bool(terms) or not has_cjk(text)
    if not terms and best >= MIN_STATEMENT_SCORE:
        terms.append(TOLD_TERM)
    return (*terms, DURABLE_TERM) if terms and sure else tuple(terms), _graded(best)


def _by_language(text: str) -> Iterator[tuple[Language, list[str]]]:
    """Yield the sentences of a text in order, together where one language reads them."""
    if text.isascii() and is_usual(text):
        yield of_sentence(text), list(sentences(text))
    else:
        yield from ((language, list(parts)) for language, parts in groupby(sentences(text), of_sentence))


def _graded(score: float) -> int:
    low, high = GRADED_SCORES
    return round(MAX_DURABILITY * (min(score, high) - low) / (high - low))
