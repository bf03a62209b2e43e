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
from memscope.text.language import has_cjk, language
from memscope.text.lasting import LASTING, MARKS
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
    "kind": 4.0,
    "asking": -1.26,
    "unknowing": -3.0,
    "topic": 0.89,
    "meaning": 1.94,
    "cosine": 2.6,
}

BEFORE = 1  # place of the turn before among the neighbours
HEADER = 0.2  # a term in the header counts for a fifth of one in the body
LEAN = 80  # terms, as in stores/snapshot.py
WINDOW, WIDE = 2.9, 4.6  # average lengths of a unit with two and with four neighbours
COSINE_FLOOR = 0.1
FEW = 30  # units, too few to tell rare words from usual ones
KNOWN = 0.3  # share of a question's words that some unit must have, and from which words are trusted
CJK_TERMS = 3  # per word: characters, and pairs of them
LONG = 20  # words of a question, of which a unit of usual length has a fair part: of more it needs no more
MET = 0.5  # share of a question's English words that the scope must have
PAIR = 2  # speakers
TOLD_BY_ONESELF = 3.0  # of the speaker whom a question for all of a class names
OPEN_EVENT = 3.0  # of a question for whatever happens at a time
BEFOREHAND = 0.25  # share that the time of saying counts for a time ahead
FEW_WORDS = 2  # of a question, up to which a lasting statement of its kind counts in full
NEAR = 0.2  # cosine of built-in vectors from which it is evidence by itself
LEGS = ("text", "period", "user", "vector", "meaning", "topic")
PEOPLE = MARKS["people"]
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
    def own(self) -> Values:
        """[n, q] frequencies in the unit, a term in the header counting for a fifth of one in the body."""
        return self.found.tf + HEADER * self.found.tf_header

    @cached_property
    def fits(self) -> Values:
        """[2, n] BM25 of each unit in its window, and with two neighbours on either side."""
        found, lean = self.found, LEAN / (LEAN + self.found.length)  # long units lean less on their neighbours
        near, beside = found.tf_neighbours, found.length_neighbours
        window = self.own + lean[:, None] * (near[:, BEFORE] + near[:, BEFORE + 1])
        length = found.length + lean * (beside[:, BEFORE] + beside[:, BEFORE + 1])
        tf = np.concatenate((window, found.tf + near.sum(axis=1)))
        lengths = np.concatenate((length / WINDOW, (found.length + beside.sum(axis=1)) / WIDE))
        return bm25(tf, lengths, found.average_length, self.weights).reshape(2, -1)

    @cached_property
    def occurs(self) -> Values:
        """[n, q] 1 where the unit's body has the term, a synonym's share where it has only that."""
        return np.minimum(self.found.tf, 1)

    @cached_property
    def presence(self) -> Values:
        """[n, q] as ``occurs``, of the unit or its header."""
        return np.maximum(self.occurs, self.found.tf_header > 0)

    @cached_property
    def coverage(self) -> Values:
        """[n] share of the query's word weight in the unit or its header; unknown words weigh as the rarest."""
        rare = rarity(self.found.units, np.maximum(self.found.document_frequency, 0.5))
        weights = rare * np.array(self.question.weights, np.float32)
        return (self.presence @ weights) / max(float(weights.sum()), 1e-9)

    @cached_property
    def known(self) -> float:
        """The most of the query's words that a candidate has, over what is a fair part of them."""
        words = np.count_nonzero(self.question.weights) / (CJK_TERMS if has_cjk(self.question.query) else 1)
        return float(self.coverage.max(initial=0)) / (KNOWN * min(1.0, LONG / max(words, 1)))

    @cached_property
    def trust(self) -> float:
        """How far words can be trusted, 0 to 1: little where no candidate has a fair part of the query's words."""
        return min(1.0, self.known) ** 2

    def has(self, flag: Flag) -> Values:
        return (self.found.flags & int(flag)) != 0


def _session(e: Evidence) -> Values:
    """Scores the pool's turns of a session as one text of the session's length."""
    found = e.found
    order = np.argsort(found.session, kind="stable")
    session, starts = found.session[order], np.ones(len(order), np.bool_)
    starts[1:] = session[1:] != session[:-1]
    first = starts.nonzero()[0]
    tf = np.add.reduceat(found.tf[order], first, axis=0)
    scores = bm25(tf, found.session_length[order[first]], found.average_session_length, e.weights)
    values = np.empty(len(order), np.float32)
    values[order] = _of_best(scores)[starts.cumsum() - 1]
    return values


def _answers(e: Evidence) -> Values:
    found, asked = e.found, (e.found.flags_before & int(Flag.QUESTION)) != 0
    if not asked.any():
        return asked
    alone = bm25(e.own, found.length, found.average_length, e.weights)
    tf, length = found.tf_neighbours[:, BEFORE], found.length_neighbours[:, BEFORE]
    before = bm25(tf, length, found.average_length, e.weights)
    return asked * (before / max(float(alone.max(initial=0)), 1e-9))


def _header(e: Evidence) -> Values:
    return (e.found.tf_header @ e.weights) / max(float(e.weights.sum()), 1e-9)


def _covered(e: Evidence) -> Values:
    return np.minimum(1, (e.occurs * (e.weights > 0)).sum(axis=1) / 5)


def _rare(e: Evidence) -> Values:
    return (e.occurs * e.weights).max(axis=1, initial=0) / max(float(e.weights.max(initial=0)), 1e-9)


def _speaker(e: Evidence) -> Values:
    """Counts only if the query names exactly one of the speakers; of two people more for all of a class."""
    named = [name for name in e.found.speakers.tolist() if name in e.question.names]
    share = TOLD_BY_ONESELF if e.question.asks_all and len(e.found.speakers) == PAIR else 1.0
    return (e.found.speaker == named[0]) * share if len(named) == 1 else np.zeros(len(e.found.speaker))


def _user(e: Evidence) -> Values:
    theirs = (e.found.role == USER) | (e.found.kind == INSIGHT)
    return theirs & (e.found.has_roles and not e.question.asks_assistant)


def _cosine(e: Evidence) -> Values:
    """Off if the embedder does not know the script: unrelated texts look alike to it."""
    if e.question.vector is None:
        return np.zeros(len(e.found.unit), np.float32)
    known = ~np.isnan(e.found.cosine) & (True if e.question.cjk_vectors else ~e.has(Flag.CJK))
    return _of_best(np.where(known, np.maximum(e.found.cosine - COSINE_FLOOR, 0), 0))


def _period(e: Evidence) -> Values:
    """Counts little for a time ahead: "Do I eat meat this week?" is answered by what was said before."""
    tells = e.question.said_then or e.question.asks_period
    return (e.found.period == 1) * (1.0 if tells else BEFOREHAND)


def _event(e: Evidence) -> Values:
    """Counts only for a period that is not over, or where nothing else is asked: else the time of saying tells more."""
    return e.found.event * (OPEN_EVENT if e.question.asks_period else e.question.asks_ahead)


def _lasting(e: Evidence) -> Values:
    """Counts only for a question about the user, or a wish of theirs, whose words are not met."""
    if LASTING not in e.found.terms or not e.question.asks_personally or e.question.asks_period:
        return np.zeros(len(e.found.unit))
    at = e.found.terms.index(LASTING)
    return (1 - e.trust) * ((e.found.tf_header[:, at] > 0) | (e.found.tf[:, at] > 0))


def _kind(e: Evidence) -> Values:
    """Counts for a question of few words: "Where do I live now?" is about a home, whoever else has "live"."""
    asked = sum(weight > 0 for weight in e.question.weights)
    return min(1.0, FEW_WORDS / max(asked, 1)) * kind_asked(e.question, e.found)


def kind_asked(question: Query, found: Candidates) -> Values:
    """[n] 1 for a lasting statement of a kind asked for; about one's people, as far as it is about those asked for."""
    has = {one: (found.tf_header[:, at] > 0) | (found.tf[:, at] > 0) for at, one in enumerate(found.terms)}
    values = np.zeros(len(found.unit))
    for mark in question.kinds_asked & has.keys():
        about = _of_best(found.topic) if mark == PEOPLE and found.topic.any() else 1.0
        values = np.maximum(values, has[mark] * about)
    return values


def _asking(e: Evidence) -> Values:
    """Counts less for a long turn, whose questions are a small part of it."""
    return e.has(Flag.ASKING) / (1 + e.found.length / 10)


def _unknowing(e: Evidence) -> Values:
    return e.has(Flag.UNKNOWING) & (e.found.role == ASSISTANT)


def _meaning(e: Evidence) -> Values:
    return _of_best(np.fmax(e.found.meaning - COSINE_FLOOR, 0))  # NaN, no vector, is 0


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
    Column("window", lambda e: e.trust * _of_best(e.fits[0]), "fits with the turns next to it"),
    Column("wide", lambda e: e.trust * _of_best(e.fits[1]), "fits with two turns on either side"),
    Column("session", lambda e: e.trust * _session(e), "its session is about this"),
    Column("answers", lambda e: e.trust * _answers(e), "follows a question that fits"),
    Column("header", _header, "its date or speaker is named"),
    Column("covered", lambda e: e.trust * _covered(e), "how many of the words it has"),
    Column("rare", lambda e: e.trust * _rare(e), "has the rarest word"),
    Column("period", _period, "said in the period asked for"),
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
    Column("kind", _kind, "a lasting statement of the kind asked for"),
    Column("asking", _asking, "only asks"),
    Column("unknowing", _unknowing, "only says that it does not know"),
    Column("topic", _topic, "shares everyday topics"),
    Column("meaning", _meaning, "close in meaning, by built-in vectors"),
    Column("cosine", _cosine, "close in meaning"),
)
NAMED = tuple((column.name, WEIGHTS[column.name]) for column in FEATURES)
_WEIGHTS = np.array([weight for _, weight in NAMED], np.float32)


def features(evidence: Evidence) -> Values:
    """[candidates, features] in the order of ``FEATURES``."""
    matrix = np.empty((len(evidence.found.unit), len(FEATURES)), np.float32)
    for i, column in enumerate(FEATURES):
        matrix[:, i] = column.value(evidence)
    return matrix


def has_evidence(e: Evidence) -> Values:
    """[candidates] true for those that may be shown.

    A query about the user, or a wish of theirs, is answered by any unit that shares a word, a topic or the meaning. Any
    other query ("Who proved ...?") is answered by words and periods, if some unit knows a fair part of it.
    """
    found = e.found
    words = (found.legs & ~np.uint8(MEANING | TOPIC)) != 0
    if e.question.asks_personally:
        return words | (found.topic > 0) | (found.meaning >= NEAR)
    if found.units < FEW or _is_known(e):
        return words
    return words & ((found.period > 0) | (found.event > 0) | ~np.isnan(found.cosine))


def _is_known(e: Evidence) -> bool:
    """Returns whether some unit has a fair part of the query, and the scope most of its words or a name in it."""
    question, found = e.question, e.found
    known = dict(zip(found.terms, e.presence.max(axis=0, initial=0).tolist(), strict=True))
    named = any(known.get(one, 0) == 1 for name in _NAME.findall(question.query) for one in terms(name))
    if named or not question.names.isdisjoint(found.speakers.tolist()):
        return True
    met = [known[one] for one, weight in zip(question.terms, question.weights, strict=True) if weight]
    mostly = language(question.query) != "en" or sum(met) > MET * len(met)
    return mostly and e.known >= 1


_NAME = re.compile(r"(?<=\w )[A-ZÀ-Þ][\w-]+")


@worker(
    reads=("candidates", "weights", "names", "kinds_asked", "said_then", "days", "asks_number", "asks_when",
           "asks_assistant", "asks_personally", "asks_ahead", "asks_all", "asks_period", "about_talk", "cjk_vectors"),
    writes=("candidates", "order", "values", "scores", "askings"),
)  # fmt: skip
async def rank(question: Query, ctx: WorkerContext) -> Query:
    found = question.candidates
    if found is None or not len(found.unit):
        return question
    if repeats := [at for at, one in enumerate(found.terms) if one in question.days]:
        repeated = (found.tf[:, repeats] > 0) | (found.tf_header[:, repeats] > 0)
        found = replace(found, event=np.maximum(found.event, repeated.any(axis=1)))
    with np.errstate(invalid="ignore"):  # OpenBLAS may claim it of finite numbers (numpy #24067)
        evidence = Evidence(question, found)
        asking = askings(found, evidence.weights)
        told = Evidence(question, without_askings(found, asking)) if asking.any() else evidence
        values = features(told)
        scores = values @ _WEIGHTS
        fair = scores if question.asks_assistant else restated(told.found, scores)
    level = 0 * scores if question.about_talk else standing(found)
    best_last = np.lexsort((found.unit, found.time, np.round(fair, 4), level))  # of equals the latest
    worst_first = best_last[has_evidence(evidence)[best_last]].tolist()
    handles = [found.handle[row] for row in worst_first]
    best = dict(zip(handles, worst_first, strict=True))  # of a hit's rows the last, which is its best
    asked = asking.tolist()
    order = tuple([row for handle in dict.fromkeys(reversed(handles)) if not asked[row := best[handle]]])
    return replace(
        question, candidates=found, order=order, values=values, scores=scores, askings=len(best) - len(order)
    )


def lines(question: Query, row: int) -> tuple[Feature, ...]:
    """Returns the rows of the table that contributed to a candidate's score."""
    assert question.values is not None
    valued = zip(NAMED, question.values[row].tolist(), strict=True)
    return tuple([Feature(name, value, weight) for (name, weight), value in valued if value])


def legs(found: Candidates, row: int) -> tuple[str, ...]:
    """Returns the legs that brought a candidate into the pool."""
    brought = int(found.legs[row])
    return tuple([leg for i, leg in enumerate(LEGS) if brought & (1 << i)])
