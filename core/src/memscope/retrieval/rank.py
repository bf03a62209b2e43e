"""Drop candidates without evidence, and rank the others by the table of ``features``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memscope.languages.statements import requests
from memscope.pipeline import altered, worker
from memscope.records import Candidates, FeatureValue, FoundBy, Handle
from memscope.retrieval.capitals import CAPITALISED, with_capitals
from memscope.retrieval.features import FEATURES, MIN_MEANING_COSINE, FeatureInputs, Values, features
from memscope.retrieval.query import Query
from memscope.retrieval.restatements import (
    STATEMENT_LEVEL,
    demote_restated,
    evidence_level,
    repeated_questions,
    without_repeated_questions,
)
from memscope.retrieval.undated import in_bodies
from memscope.search.candidates import INSTANCE_CHANNEL, MEANING_CHANNEL, TOPIC_CHANNEL
from memscope.search.units import USER_ROLE
from memscope.services import Services
from memscope.text.language import rules_of
from memscope.text.terms import terms

MIN_UNITS_FOR_IDF = 30  # with fewer units, rare and common words cannot be told apart
MIN_KNOWN_WORD_SHARE = 0.5  # of a question's words that the scope must have
CHANNELS: tuple[FoundBy, ...] = ("text", "period", "user", "vector", "meaning", "topic", "instance")


def has_evidence(inputs: FeatureInputs) -> Values:
    """[candidates] true for those that may be shown.

    For a query about the user: units that share a word, a topic or the meaning. For others ("Who proved ...?"): units
    found by words, period or vector. If memory has 30 units or more but knows neither a name in the query nor most of
    its words, units found by words must also name its subject or an instance of its class, or be the user's and have
    all its content words.
    """
    candidates = inputs.candidates
    words = (candidates.channels & ~np.uint8(MEANING_CHANNEL | TOPIC_CHANNEL)) != 0
    if inputs.query.asks_personally:
        return words | (candidates.topic > 0) | (candidates.meaning >= MIN_MEANING_COSINE)
    if candidates.units < MIN_UNITS_FOR_IDF or _is_known(inputs):
        return words
    about = inputs.on_subject | ((candidates.channels & np.uint8(INSTANCE_CHANNEL)) != 0)
    answers = inputs.answers_all & (candidates.role == USER_ROLE)
    dated = (candidates.period > 0) | (candidates.event > 0)
    return words & (answers | about | dated | ~np.isnan(candidates.cosine))


def _is_known(inputs: FeatureInputs) -> bool:
    """Return whether memory knows a name in the query, or most of its words with many of them in one unit."""
    query, candidates = inputs.query, inputs.candidates
    known = dict(zip(candidates.terms, inputs.presence.max(axis=0, initial=0).tolist(), strict=True))
    named = any(known.get(term, 0) == 1 for name in CAPITALISED.findall(query.text) for term in terms(name))
    if named or not query.names.isdisjoint(candidates.speakers.tolist()):
        return True
    weighed = zip(query.terms, query.weights, strict=True)
    weights = {one: weight for one, weight in weighed if one not in query.undated}  # no "17" of "17 * 23"
    met = sum(known[one] * weight for one, weight in weights.items())
    mostly = not rules_of(query.text).stop_words or met > MIN_KNOWN_WORD_SHARE * sum(weights.values())
    return mostly and inputs.known >= 1


@worker(
    reads=("text", "terms", "statement_terms", "vector", "about_user", "speak", "periods",
           "candidates", "weights", "undated", "names", "kinds_asked", "said_then", "days", "asks_number", "asks_when",
           "asks_assistant", "asks_personally", "asks_ahead", "is_list_question", "asks_period", "about_talk",
           "cjk_vectors"),
    writes=("text", "candidates", "order", "features", "values", "scores", "repeated_questions"),
)  # fmt: skip
async def rank(query: Query, ctx: Services) -> Query:
    query = query if query.asks_personally else await with_capitals(query, ctx)
    candidates = query.candidates
    if candidates is None or not len(candidates.unit):
        return query
    candidates = in_bodies(candidates, query.undated) if query.undated else candidates
    if repeats := [at for at, one in enumerate(candidates.terms) if one in query.days]:
        repeated = (candidates.tf[:, repeats] > 0) | (candidates.tf_header[:, repeats] > 0)
        candidates = replace(candidates, event=np.maximum(candidates.event, repeated.any(axis=1)))
    columns = (*FEATURES, *ctx.features)
    with np.errstate(invalid="ignore"):  # OpenBLAS may claim it of finite numbers (numpy #24067)
        evidence = FeatureInputs(query, candidates)
        asking, level = repeated_questions(candidates, evidence.weights), evidence_level(candidates)
        if (level < STATEMENT_LEVEL).any() and (query.about_talk or not requests(query.text)):
            level[:] = STATEMENT_LEVEL  # "garage Leeds" finds questions with the words as well as statements
            asking &= query.about_talk
        inputs = FeatureInputs(query, without_repeated_questions(candidates, asking)) if asking.any() else evidence
        values = features(inputs, ctx.features)
        scores = values @ np.array([column.weight for column in columns], np.float32)
        fair = scores if query.asks_assistant else demote_restated(inputs.candidates, scores)
    best_first = np.lexsort((candidates.unit, candidates.time, np.round(fair, 4), level))[::-1]  # ties: latest first
    best: dict[Handle, int] = {}
    handles = candidates.handle
    for row in best_first[has_evidence(evidence)[best_first]].tolist():
        best.setdefault(handles[row], row)
    repeating = set(np.flatnonzero(asking).tolist())
    order = tuple([row for row in best.values() if row not in repeating])
    return altered(
        query, candidates=candidates, order=order, features=columns, values=values, scores=scores,
        repeated_questions=len(best) - len(order),
    )  # fmt: skip


def lines(query: Query, row: int) -> tuple[FeatureValue, ...]:
    """Return the features that contributed to a candidate's score."""
    assert query.values is not None
    valued = zip(query.features, query.values[row].tolist(), strict=True)
    return tuple([FeatureValue(one.name, value, one.weight) for one, value in valued if value])


def channels(candidates: Candidates, row: int) -> tuple[FoundBy, ...]:
    """Name the channels that brought a candidate into the pool."""
    brought = int(candidates.channels[row])
    return tuple([channel for i, channel in enumerate(CHANNELS) if brought & (1 << i)])
