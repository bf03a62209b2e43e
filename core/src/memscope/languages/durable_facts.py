"""Find lasting statements of speakers about themselves ("I'm a nurse", 我住在成都), the contents of a profile.

The rules of each sentence's language decide. Each kind of statement has a weight. Units of the user's turns carry one
term per kind (``durable_terms``), so that one search in any store finds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, repeat

from memscope.languages.fact_rules import FactRules
from memscope.languages.language import Language
from memscope.languages.registry import of_sentence
from memscope.languages.requests import tells_by_the_way
from memscope.languages.statements import is_question, sentences
from memscope.text.language import depends_on_languages, has_cjk, is_usual
from memscope.text.terms import term

KIND_WEIGHTS = {
    "name": 5.0, "person": 3.0, "home": 3.0, "work": 3.0, "people": 3.0, "health": 4.0, "taste": 3.0, "habit": 2.0,
    "have": 2.0, "wish": 1.5,
}  # fmt: skip
MOMENTARY_PENALTY = 1.5  # subtracted from the weight of a sentence about the moment ("tonight")
MIN_STATEMENT_SCORE = 0.0  # log odds from which a sentence counts as a lasting statement
GRADED_SCORES = (-2.0, 4.0)  # log odds that map to durability 0 and to MAX_DURABILITY
MAX_DURABILITY = 7  # fits three bits of a unit's flags
KIND_TERMS = {kind: term(f"\0{kind}") for kind in KIND_WEIGHTS}  # NUL keeps these apart from terms of words
TOLD_TERM = term("\0told")  # a statement by its score alone, without a kind
IMPORTANT_TERM = term("\0serious")  # observations of level 3, and insights
DURABLE_TERM = term("\0lasting")  # added to any of the terms above, so that one term finds them all
WISH_TERMS = {about: term(f"\0wish {about}") for about in ("manner", "measure", "code", "content")}  # standing wishes
TASTE_TERMS = (KIND_TERMS["health"], KIND_TERMS["taste"])  # what a recommendation to the user must respect
PROFILE_TERMS: tuple[int, ...] = (*KIND_TERMS.values(), TOLD_TERM, IMPORTANT_TERM)


def kinds(sentence: str) -> tuple[str, ...]:
    """List the kinds of lasting statement that one sentence makes about its speaker; none for a question."""
    return _stated(sentence)[0]


def asked_kinds(question: str) -> frozenset[str]:
    """List the kinds of lasting statement that would answer a question: "home" for "Where do I live?"."""
    rules = of_sentence(question).facts
    return frozenset(kind for sentence in sentences(question) for kind in rules.asked(sentence))


def statement_weight(sentence: str) -> float:
    """Weigh the lasting statements of a sentence about its speaker; 0 without any."""
    if not (stated := kinds(sentence)):
        return 0.0
    return max(0.5, weight_of(stated) - MOMENTARY_PENALTY * of_sentence(sentence).facts.is_momentary(sentence))


def weight_of(kinds: Sequence[str]) -> float:
    """Add up the weights of kinds, all but the highest halved; 0 without kinds."""
    if not kinds:
        return 0.0
    strongest, *others = sorted((KIND_WEIGHTS[kind] for kind in kinds), reverse=True)
    return strongest + 0.5 * sum(others)


def statement_score(sentence: str) -> float | None:
    """Return the log odds that a sentence says something lasting about its speaker; -inf for a question.

    None if its language has no scores and decides by kinds alone.
    """
    return _stated(sentence)[1]


@depends_on_languages
@lru_cache(maxsize=1 << 10)
def _stated(sentence: str) -> tuple[tuple[str, ...], float | None]:
    """Return the ``kinds`` and the ``statement_score`` of a sentence."""
    ((stated, score),) = _read([sentence], of_sentence(sentence).facts)
    if (stated or score is not None) and is_question(sentence) and not (stated and tells_by_the_way(sentence)):
        return (), None if score is None else -math.inf
    return stated, score


def _read(parts: Sequence[str], rules: FactRules) -> Iterator[tuple[tuple[str, ...], float | None]]:
    """Yield the kinds and the log odds of sentences of one language; questions are not excluded here."""
    stated = [tuple(dict.fromkeys(rules.kinds(part))) for part in parts]
    return zip(stated, rules.scores(parts, stated) or repeat(None), strict=False)


def is_durable(sentence: str) -> bool:
    """Test the score of a sentence against ``MIN_STATEMENT_SCORE``; False in a language without scores."""
    score = statement_score(sentence)
    return score is not None and score >= MIN_STATEMENT_SCORE


def durable_terms(text: str) -> tuple[tuple[int, ...], int]:
    """Return the search terms of a text's lasting statements, and its durability, 0 to ``MAX_DURABILITY``.

    A question counts if it tells a fact by the way: "Do I have to declare my epilepsy?". The terms are those of its
    kinds, or ``TOLD_TERM`` if only the score marks it. The durability grades the highest score of its sentences; it is
    0 in a language without scores. In CJK text a score without a kind is less reliable: it adds ``TOLD_TERM``, which
    brings the text into the profile, but not ``DURABLE_TERM``.
    """
    best, kinds_stated = GRADED_SCORES[0], dict[str, None]()
    for language, parts in _by_language(text):
        for part, (stated, score) in zip(parts, _read(parts, language.facts), strict=True):
            better = score is not None and score > best
            lasting = stated or better
            if lasting and (not is_question(part, language.statements) or (stated and tells_by_the_way(part))):
                kinds_stated.update(dict.fromkeys(stated))
                best = score if score is not None and better else best
    terms = [KIND_TERMS[kind] for kind in kinds_stated]
    sure = bool(terms) or not has_cjk(text)
    if not terms and best >= MIN_STATEMENT_SCORE:
        terms.append(TOLD_TERM)
    low, high = GRADED_SCORES
    durability = round(MAX_DURABILITY * (min(best, high) - low) / (high - low))
    return (*terms, DURABLE_TERM) if terms and sure else tuple(terms), durability


def _by_language(text: str) -> Iterator[tuple[Language, list[str]]]:
    """Yield runs of consecutive sentences of one language, with that language."""
    if text.isascii() and is_usual(text):
        yield of_sentence(text), list(sentences(text))
    else:
        yield from ((language, list(parts)) for language, parts in groupby(sentences(text), of_sentence))
