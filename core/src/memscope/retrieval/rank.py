"""One table of named, additive features orders the candidates: score = sum of weight x value.

Each row of ``FEATURES`` is a line of ``explain``. The weights were fitted by ``benchmarks/fit_ranking.py`` on several
data sets in two languages at once; anyone can fit them again on data of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from memscope.pipeline import WorkerContext, worker
from memscope.records import ROLES, Candidates, Feature
from memscope.retrieval.echoes import askings, restated, standing, without_askings
from memscope.retrieval.query import Query
from memscope.search.bm25 import bm25, rarity
from memscope.search.candidates import MEANING, TOPIC
from memscope.text.flags import Flag
from memscope.text.language import language
from memscope.text.lasting import LASTING
from memscope.text.terms import terms
from memscope.text.units import INSIGHT

Values: TypeAlias = Any  # arrays of numbers or truth values, [candidates] unless said otherwise

WEIGHTS: Mapping[str, float] = {
    "window": 0.93,
    "wide": 2.3,
    "session": 1.72,
    "answers": 1.46,
    "header": 10.29,
    "covered": 1.55,
    "rare": 1.0,
    "period": 3.93,
    "after": 1.73,
    "speaker": 0.51,
    "user": 2.14,
    "instruction": 2.0,
    "length": -5.45,
    "short": -4.28,
    "first_person": 0.53,
    "number": 1.29,
    "event": 1.6,
    "dated": 1.03,
    "lasting": 4.0,
    "asking": -1.26,
    "unknowing": -3.0,
    "topic": 0.89,
    "meaning": 1.94,
    "cosine": 2.6,
}

ALONE, WINDOWED, WIDELY, BEFORE = range(4)  # rows of Evidence.fits
HEADER = 0.2  # a term in the header counts for a fifth of one in the body
LEAN = 80  # terms, as in stores/snapshot.py
WINDOW, WIDE = 2.9, 4.6  # average lengths of a unit with two and with four neighbours
COSINE_FLOOR = 0.1
FEW = 30  # units, too few to tell rare words from usual ones
KNOWN = 0.3  # share of a question's words that some unit must have, and from which words are trusted
MET = 0.5  # share of a question's English words that the scope must have
OPEN_EVENT = 3.0  # of a question for whatever happens at a time
NEAR = 0.2  # cosine of built-in vectors from which it is evidence by itself
LEGS = ("text", "period", "user", "vector", "meaning", "topic")
USER, ASSISTANT = ROLES.index("user"), ROLES.index("assistant")


@dataclass(frozen=True)
class Evidence:
    """The candidates as the features read them; values that several features need are computed once."""

    question: Query
    found: Candidates

    @cached_property
    def weights(self) -> Values:
        """[q] rarity of each term times its weight in the query."""
        rare = rarity(self.found.units, self.found.document_frequency)
        return (rare * np.array(self.question.weights, np.float32)).astype(np.float32)

    @cached_property
    def fits(self) -> Values:
        """[4, n] BM25 of each unit alone, in its window, with two neighbours on either side, and of the unit before."""
        found, lean = self.found, LEAN / (LEAN + self.found.length)  # long units lean less on their neighbours
        own, near = found.tf + HEADER * found.tf_header, found.tf_neighbours
        beside = found.length_neighbours
        tf = (own, own + lean[:, None] * (near[:, 1] + near[:, 2]), found.tf + near.sum(axis=1), near[:, 1])
        length = (
            found.length,
            (found.length + lean * (beside[:, 1] + beside[:, 2])) / WINDOW,
            (found.length + beside.sum(axis=1)) / WIDE,
            beside[:, 1],
        )
        scores = bm25(np.concatenate(tf), np.concatenate(length), found.average_length, self.weights)
        return scores.reshape(4, -1)

    @cached_property
    def trust(self) -> float:
        """How far words can be trusted, 0 to 1: little where no candidate has a fair part of the query's words."""
        return min(1.0, float(coverage(self.question, self.found).max(initial=0)) / KNOWN) ** 2

    def has(self, flag: Flag) -> Values:
        return (self.found.flags & int(flag)) != 0


def _session(e: Evidence) -> Values:
    """Scores the pool's turns of a session as one text of the session's length."""
    found = e.found
    _, first, member = np.unique(found.session, return_index=True, return_inverse=True)
    tf = np.zeros((len(first), found.tf.shape[1]), np.float32)
    np.add.at(tf, member, found.tf)
    return _of_best(bm25(tf, found.session_length[first], found.average_session_length, e.weights))[member]


def _answers(e: Evidence) -> Values:
    before = e.fits[BEFORE] / max(float(e.fits[ALONE].max(initial=0)), 1e-9)
    return before * ((e.found.flags_before & int(Flag.QUESTION)) != 0)


def _header(e: Evidence) -> Values:
    return (e.found.tf_header @ e.weights) / max(float(e.weights.sum()), 1e-9)


def _covered(e: Evidence) -> Values:
    return np.minimum(1, (np.minimum(e.found.tf, 1) * (e.weights > 0)).sum(axis=1) / 5)


def _rare(e: Evidence) -> Values:
    return (np.minimum(e.found.tf, 1) * e.weights).max(axis=1, initial=0) / max(float(e.weights.max(initial=0)), 1e-9)


def _speaker(e: Evidence) -> Values:
    """Counts only if the query names exactly one of the speakers."""
    named = [name for name in e.found.speakers.tolist() if name in e.question.names]
    return e.found.speaker == named[0] if len(named) == 1 else np.zeros(len(e.found.speaker))


def _user(e: Evidence) -> Values:
    theirs = (e.found.role == USER) | (e.found.kind == INSIGHT)
    return theirs & (e.found.has_roles and not e.question.asks_assistant)


def _cosine(e: Evidence) -> Values:
    """Off if the embedder does not know the script: unrelated texts look alike to it."""
    if e.question.vector is None:
        return np.zeros(len(e.found.unit), np.float32)
    known = ~np.isnan(e.found.cosine) & (True if e.question.cjk_vectors else ~e.has(Flag.CJK))
    return _of_best(np.where(known, np.maximum(e.found.cosine - COSINE_FLOOR, 0), 0))


def _event(e: Evidence) -> Values:
    """Counts only for a period that is not over, or where nothing else is asked: else the time of saying tells more."""
    return e.found.event * (OPEN_EVENT if e.question.asks_period else e.question.asks_ahead)


def _lasting(e: Evidence) -> Values:
    """Counts only for a question about the user, or a wish of theirs, whose words are not met."""
    if LASTING not in e.found.terms or not e.question.asks_personally or e.question.asks_period:
        return np.zeros(len(e.found.unit))
    at = e.found.terms.index(LASTING)
    return (1 - e.trust) * ((e.found.tf_header[:, at] > 0) | (e.found.tf[:, at] > 0))


def _asking(e: Evidence) -> Values:
    """Counts less for a long turn, whose questions are a small part of it."""
    return e.has(Flag.ASKING) / (1 + e.found.length / 10)


def _unknowing(e: Evidence) -> Values:
    return e.has(Flag.UNKNOWING) & (e.found.role == ASSISTANT)


def _meaning(e: Evidence) -> Values:
    return _of_best(np.nan_to_num(np.maximum(e.found.meaning - COSINE_FLOOR, 0)))


def _topic(e: Evidence) -> Values:
    """Counts twice for a question about the user, or a wish of theirs, whose words are not met."""
    if e.question.about_user:
        return _of_best(e.found.topic)
    personal = e.question.asks_personally and not e.question.about_talk
    return e.found.topic * (1 + (1 - e.trust) * personal)


def _of_best(values: Values) -> Values:
    return values / max(float(values.max(initial=0)), 1e-9)


class Column(NamedTuple):
    name: str
    value: Callable[[Evidence], Values]
    meaning: str


FEATURES: tuple[Column, ...] = (
    Column("window", lambda e: e.trust * _of_best(e.fits[WINDOWED]), "fits with the turns next to it"),
    Column("wide", lambda e: e.trust * _of_best(e.fits[WIDELY]), "fits with two turns on either side"),
    Column("session", lambda e: e.trust * _session(e), "its session is about this"),
    Column("answers", lambda e: e.trust * _answers(e), "follows a question that fits"),
    Column("header", _header, "its date or speaker is named"),
    Column("covered", lambda e: e.trust * _covered(e), "how many of the words it has"),
    Column("rare", lambda e: e.trust * _rare(e), "has the rarest word"),
    Column("period", lambda e: e.found.period == 1, "said in the period asked for"),
    Column("after", lambda e: e.found.period == 0.5, "said soon after the period asked for"),
    Column("speaker", _speaker, "said by the one the question names"),
    Column("user", _user, "said by the user"),
    Column("instruction", lambda e: e.has(Flag.INSTRUCTION) & e.found.has_roles, "a standing wish"),
    Column("length", lambda e: np.log1p(e.found.length) / 5, "long"),
    Column("short", lambda e: 1 / (1 + e.found.length / 20), "very short"),
    Column("first_person", lambda e: e.has(Flag.FIRST_PERSON), "speaks of oneself"),
    Column("number", lambda e: e.has(Flag.DIGIT) & e.question.asks_number, "has a number, as asked"),
    Column("event", _event, "is about the period asked for"),
    Column("dated", lambda e: e.found.dated & e.question.asks_when, "names a day, as asked"),
    Column("lasting", _lasting, "a lasting statement about oneself, for a personal question"),
    Column("asking", _asking, "only asks"),
    Column("unknowing", _unknowing, "only says that it does not know"),
    Column("topic", _topic, "shares everyday topics"),
    Column("meaning", _meaning, "close in meaning, by built-in vectors"),
    Column("cosine", _cosine, "close in meaning"),
)
NAMED = tuple((column.name, WEIGHTS[column.name]) for column in FEATURES)


def features(question: Query, found: Candidates) -> Values:
    """[candidates, features] in the order of ``FEATURES``."""
    evidence = Evidence(question, found)
    matrix = np.empty((len(found.unit), len(FEATURES)), np.float32)
    for i, column in enumerate(FEATURES):
        matrix[:, i] = column.value(evidence)
    return matrix


def has_evidence(question: Query, found: Candidates) -> Values:
    """[candidates] true for those that may be shown.

    A query about the user, or a wish of theirs, is answered by any unit that shares a word, a topic or the meaning. Any
    other query ("Who proved ...?") is answered by words and periods, if some unit knows a fair part of it.
    """
    words = (found.legs & ~np.uint8(MEANING | TOPIC)) != 0
    if question.asks_personally:
        return words | (found.topic > 0) | (np.nan_to_num(found.meaning) >= NEAR)
    if found.units < FEW:
        return words
    timely = (found.period > 0) | (found.event > 0)
    return words & (timely | _is_known(question, found) | ~np.isnan(found.cosine))


def _is_known(question: Query, found: Candidates) -> bool:
    """Returns whether some unit has a fair part of the query, and the scope most of its words or a name in it."""
    known = dict(zip(found.terms, presence(found).max(axis=0, initial=0).tolist(), strict=True))
    named = any(known.get(one, 0) == 1 for name in _NAME.findall(question.query) for one in terms(name))
    if named or not question.names.isdisjoint(found.speakers.tolist()):
        return True
    met = [known[one] for one, weight in zip(question.terms, question.weights, strict=True) if weight]
    mostly = language(question.query) != "en" or sum(met) > MET * len(met)
    return mostly and bool(coverage(question, found).max(initial=0) >= KNOWN)


_NAME = re.compile(r"(?<=\w )[A-ZÀ-Þ][\w-]+")


def coverage(question: Query, found: Candidates) -> Values:
    """[candidates] share of the query's word weight in the unit or its header; unknown words weigh as the rarest."""
    rare = rarity(found.units, np.maximum(found.document_frequency, 0.5))
    weights = rare * np.array(question.weights, np.float32)
    share: Values = (presence(found) @ weights) / max(float(weights.sum()), 1e-9)
    return share


def presence(found: Candidates) -> Values:
    """[candidates, terms] 1 where the unit or its header has the term, a synonym's share where it has only that."""
    return np.maximum(np.minimum(found.tf, 1), found.tf_header > 0)


@worker(
    reads=(
        "candidates",
        "weights",
        "names",
        "asks_number",
        "asks_when",
        "asks_assistant",
        "asks_personally",
        "asks_ahead",
        "asks_period",
        "about_talk",
        "cjk_vectors",
    ),
    writes=("order", "values", "scores", "askings"),
)
async def rank(question: Query, ctx: WorkerContext) -> Query:
    found = question.candidates
    if found is None or not len(found.unit):
        return question
    with np.errstate(invalid="ignore"):  # OpenBLAS may claim it of finite numbers (numpy #24067)
        asking = askings(found, Evidence(question, found).weights)
        told = without_askings(found, asking)
        values = features(question, told)
        scores = values @ np.array([weight for _, weight in NAMED], np.float32)
        fair = scores if question.asks_assistant else restated(told, scores)
    level = 0 * scores if question.about_talk else standing(found)
    best_last = np.lexsort((found.unit, found.time, np.round(fair, 4), level))  # of equals the latest
    worst_first = best_last[has_evidence(question, found)[best_last]].tolist()
    handles = [found.handle[row] for row in worst_first]
    best = dict(zip(handles, worst_first, strict=True))  # of a hit's rows the last, which is its best
    asked = asking.tolist()
    order = tuple([row for handle in dict.fromkeys(reversed(handles)) if not asked[row := best[handle]]])
    return replace(question, order=order, values=values, scores=scores, askings=len(best) - len(order))


def lines(question: Query, row: int) -> tuple[Feature, ...]:
    """Returns the rows of the table that contributed to a candidate's score."""
    assert question.values is not None
    valued = zip(NAMED, question.values[row].tolist(), strict=True)
    return tuple([Feature(name, value, weight) for (name, weight), value in valued if value])


def legs(found: Candidates, row: int) -> tuple[str, ...]:
    """Returns the legs that brought a candidate into the pool."""
    brought = int(found.legs[row])
    return tuple([leg for i, leg in enumerate(LEGS) if brought & (1 << i)])
