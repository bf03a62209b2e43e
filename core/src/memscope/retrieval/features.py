"""The table of named, additive features that ranks the candidates: score = sum of weight x value.

``explain`` prints one line per row of ``FEATURES``. ``benchmarks/fit_ranking.py`` fitted the weights on several data
sets in two languages at once; it can fit them to other data. Plugins add rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from memscope import languages
from memscope.errors import PluginError
from memscope.languages.durable_facts import DURABLE_TERM, KIND_TERMS, MAX_DURABILITY
from memscope.languages.flags import DURABILITY_SHIFT, Flag
from memscope.records import Candidates
from memscope.retrieval.query import Query
from memscope.retrieval.subjects import named, subjects
from memscope.search.bm25 import bm25, rarity
from memscope.search.matching import WINDOW_LENGTH
from memscope.search.snapshot import NEIGHBOUR_LENGTH_DISCOUNT, TURN_BEFORE
from memscope.search.units import ASSISTANT_ROLE, INSIGHT, USER_ROLE
from memscope.text.language import has_cjk
from memscope.text.terms import terms

Values: TypeAlias = Any  # numeric or boolean array, [candidates] unless said otherwise

RANK_WEIGHTS: Mapping[str, float] = {
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
    "topic": 0.89,
    "meaning": 1.94,
    "cosine": 2.6,
    "recent": 1.5,
}

HEADER_TERM_WEIGHT = 0.2  # weight of a term in the header, relative to the body
WIDE_WINDOW_LENGTH = 4.6  # length of a unit with four neighbours, in average unit lengths
COSINE_FLOOR = 0.1
PERSONAL_COSINE_WEIGHT = 2.0  # factor of ``cosine`` for a question about the user, often asked in other words
UNMATCHED_MEANING_GAIN = 3.0  # of ``meaning``, added for a question in other words than those of the answer
NEAR_MEANING = 0.2  # cosine above the floor that counts fully if no line is nearer
MIN_MEANING_COSINE = 0.2  # cosine of built-in vectors that counts as evidence on its own
UNRELATED_SHARE = 0.5  # factor of ``lasting`` for a statement without other relation to the question
MIN_WORD_COVERAGE = 0.3  # of a question's words; if no unit has this share, word matches mean little
FILLER_WEIGHT = 0.5  # of words about the conversation itself
CJK_TERMS_PER_WORD = 3  # Chinese: characters and their pairs
# longer queries expect no more of a unit
MAX_EXPECTED_WORDS = 20
MAX_STATEMENT_WORDS = 5  # beside the question; more make the message a long request
RECENT_US = 45 * 86_400_000_000  # half-life of ``recent``, in microseconds
SPEAKERS_IN_DIALOGUE = 2  # speakers
SPEAKER_LIST_WEIGHT = 3.0  # factor of ``speaker`` for a list question that names one of two speakers
OPEN_PERIOD_WEIGHT = 3.0  # factor of ``event`` if the question asks for anything in a period
FUTURE_PERIOD_SHARE = 0.25  # factor of ``period`` for future times, which are spoken of in advance
MAX_SHORT_QUERY_WORDS = 2  # ``kind`` counts in full up to this length
PEOPLE_TERM = KIND_TERMS["people"]


@dataclass(frozen=True)
class FeatureInputs:
    """Inputs of the features; values that several features share are computed once."""

    query: Query
    candidates: Candidates

    @cached_property
    def weights(self) -> Values:
        """[q] idf of each term, times its weight in the query."""
        rare = rarity(self.candidates.units, self.candidates.document_frequency)
        return (rare * np.array(self.query.weights, np.float32)).astype(np.float32)

    @cached_property
    def own(self) -> Values:
        """[n, q] term frequencies in the unit's body, plus the discounted ones in its header."""
        return self.candidates.tf + HEADER_TERM_WEIGHT * self.candidates.tf_header

    @cached_property
    def bm25_window(self) -> Values:
        """[2, n] BM25 of each unit with one neighbour on either side, and with two."""
        candidates, lean = (
            self.candidates,
            NEIGHBOUR_LENGTH_DISCOUNT / (NEIGHBOUR_LENGTH_DISCOUNT + self.candidates.length),
        )  # neighbours count less beside long units
        near, beside = candidates.tf_neighbours, candidates.length_neighbours
        window = self.own + lean[:, None] * (near[:, TURN_BEFORE] + near[:, TURN_BEFORE + 1])
        length = candidates.length + lean * (beside[:, TURN_BEFORE] + beside[:, TURN_BEFORE + 1])
        tf = np.concatenate((window, candidates.tf + near.sum(axis=1)))
        lengths = np.concatenate(
            (length / WINDOW_LENGTH, (candidates.length + beside.sum(axis=1)) / WIDE_WINDOW_LENGTH)
        )
        return bm25(tf, lengths, candidates.average_length, self.weights).reshape(2, -1)

    @cached_property
    def occurs(self) -> Values:
        """[n, q] 1 if the unit's body has the term, less if it only has a synonym."""
        return np.minimum(self.candidates.tf, 1)

    @cached_property
    def presence(self) -> Values:
        """[n, q] like ``occurs``, but also 1 if the header has the term."""
        return np.maximum(self.occurs, self.candidates.tf_header > 0)

    @cached_property
    def shares(self) -> Values:
        """[q] share of each term in the query's word weight; unknown words get the highest rarity."""
        rare = rarity(self.candidates.units, np.maximum(self.candidates.document_frequency, 0.5))
        weights = rare * np.array(self.query.weights, np.float32)
        return weights / max(float(weights.sum()), 1e-9)

    @cached_property
    def coverage(self) -> Values:
        """[n] share of the query's word weight in the unit or its header."""
        with np.errstate(invalid="ignore"):  # OpenBLAS may claim it of finite numbers (numpy #24067)
            return self.presence @ self.shares

    @cached_property
    def of_kind(self) -> Values:
        """[n] 1 for a durable fact of a requested kind; facts about people count by shared topics."""
        candidates = self.candidates
        values = np.zeros(len(candidates.unit))
        for mark in self.query.kinds_asked.intersection(candidates.terms):
            at = candidates.terms.index(mark)
            has = (candidates.tf_header[:, at] > 0) | (candidates.tf[:, at] > 0)
            about = _of_best(candidates.topic) if mark == PEOPLE_TERM and candidates.topic.any() else 1.0
            values = np.maximum(values, has * about)
        return values

    @cached_property
    def brevity(self) -> float:
        """1 for a short question, towards 0 for a long request, whose many words match any long unit."""
        words = self.query.statement_terms / (CJK_TERMS_PER_WORD if has_cjk(self.query.text) else 1)
        return min(1.0, (MAX_STATEMENT_WORDS / max(words, 1)) ** 2)

    @cached_property
    def known(self) -> float:
        """Highest coverage of any candidate, or of a question that one answers, relative to ``MIN_WORD_COVERAGE``."""
        share, candidates = min(1.0, MAX_EXPECTED_WORDS / max(self.words, 1)), self.candidates
        best = float(self.coverage.max(initial=0))
        if best < MIN_WORD_COVERAGE * share:
            answers = (candidates.role == ASSISTANT_ROLE) & ((candidates.flags_before & int(Flag.QUESTION)) != 0)
            answers &= (candidates.flags & int(Flag.ASKING | Flag.UNKNOWING)) == 0
            met = (candidates.tf_neighbours[answers, TURN_BEFORE] > 0) @ self.shares
            best = max(best, float(met.max(initial=0)))
        return best / (MIN_WORD_COVERAGE * share)

    @cached_property
    def words(self) -> float:
        """Number of the query's content words."""
        return np.count_nonzero(self.query.weights) / (CJK_TERMS_PER_WORD if has_cjk(self.query.text) else 1)

    @cached_property
    def word_match_confidence(self) -> float:
        """Confidence in a word match, 0 to 1: low if no candidate has the subject or enough of the words, unless a
        short question asks what the assistant said about them.
        """
        sure = self.brevity * self.query.asks_assistant
        return 1.0 if self.known >= 1 or self.on_subject.any() else max(self.known**2, sure)

    @cached_property
    def on_subject(self) -> Values:
        """[n] true for units with the question's subject; for personal questions in Chinese, with a name in it."""
        query = self.query.text
        personal = self.query.asks_personally
        subject = subjects(query) if not personal else named(query) if has_cjk(query) else frozenset[int]()
        about = [at for at, one in enumerate(self.candidates.terms) if one in subject]
        return (self.candidates.tf[:, about] > 0).any(axis=1)

    @cached_property
    def answers_all(self) -> Values:
        """[n] true for units with all content words of the question, and a number if it asks for one.

        CJK pairs that overlap the interrogative are ignored; for a number or time, single characters suffice.
        """
        query, text = self.query, self.query.text
        for one in languages.of(text):
            text = one.questions.number.sub(" ", one.questions.when.sub(" ", text))
            text = "".join(" " if char in one.questions.stop_characters else char for char in text)
        if query.asks_number or query.asks_when:
            text = "".join(f" {char} " if has_cjk(char) else char for char in text)
        content, weighed = set(terms(text)), zip(query.terms, query.weights, strict=True)
        asked = [weight > FILLER_WEIGHT and one in content for one, weight in weighed]
        numbered = self.has(Flag.DIGIT) | (not query.asks_number)
        return (self.presence[:, asked] > 0).all(axis=1) & numbered & any(asked)

    def has(self, flag: Flag) -> Values:
        return (self.candidates.flags & int(flag)) != 0


def _session(e: FeatureInputs) -> Values:
    """BM25 of each session's candidates, scored as one text of the session's length."""
    candidates = e.candidates
    order = np.argsort(candidates.session, kind="stable")
    session, starts = candidates.session[order], np.ones(len(order), np.bool_)
    starts[1:] = session[1:] != session[:-1]
    first = starts.nonzero()[0]
    tf = np.add.reduceat(candidates.tf[order], first, axis=0)
    scores = bm25(tf, candidates.session_length[order[first]], candidates.average_session_length, e.weights)
    values = np.empty(len(order), np.float32)
    values[order] = _of_best(scores)[starts.cumsum() - 1]
    return values


def _answers(e: FeatureInputs) -> Values:
    candidates, asked = e.candidates, (e.candidates.flags_before & int(Flag.QUESTION)) != 0
    if not asked.any():
        return asked
    alone = bm25(e.own, candidates.length, candidates.average_length, e.weights)
    tf, length = candidates.tf_neighbours[:, TURN_BEFORE], candidates.length_neighbours[:, TURN_BEFORE]
    before = bm25(tf, length, candidates.average_length, e.weights)
    return e.brevity * asked * (before / max(float(alone.max(initial=0)), 1e-9))


def _header(e: FeatureInputs) -> Values:
    return (e.candidates.tf_header @ e.weights) / max(float(e.weights.sum()), 1e-9)


def _covered(e: FeatureInputs) -> Values:
    return e.brevity * np.minimum(1, (e.occurs * (e.weights > 0)).sum(axis=1) / 5)


def _rare(e: FeatureInputs) -> Values:
    return (e.occurs * e.weights).max(axis=1, initial=0) / max(float(e.weights.max(initial=0)), 1e-9)


def _speaker(e: FeatureInputs) -> Values:
    """1 for lines of the only speaker whom the query names; more for a list question in a dialogue of two."""
    named = [name for name in e.candidates.speakers.tolist() if name in e.query.names]
    share = (
        SPEAKER_LIST_WEIGHT if e.query.is_list_question and len(e.candidates.speakers) == SPEAKERS_IN_DIALOGUE else 1.0
    )
    return (e.candidates.speaker == named[0]) * share if len(named) == 1 else np.zeros(len(e.candidates.speaker))


def _user(e: FeatureInputs) -> Values:
    theirs = (e.candidates.role == USER_ROLE) | (e.candidates.kind == INSIGHT)
    return theirs & (e.candidates.has_roles and not e.query.asks_assistant)


def _cosine(e: FeatureInputs) -> Values:
    """Doubled for a question about the user. 0 if the embedder does not know the script, as it finds unrelated texts of
    that script alike.
    """
    if e.query.vector is None:
        return np.zeros(len(e.candidates.unit), np.float32)
    known = ~np.isnan(e.candidates.cosine) & (True if e.query.cjk_vectors else ~e.has(Flag.CJK))
    near = _of_best(np.where(known, np.maximum(e.candidates.cosine - COSINE_FLOOR, 0), 0))
    return near * (PERSONAL_COSINE_WEIGHT if e.query.asks_personally else 1.0)


def _period(e: FeatureInputs) -> Values:
    """1 in the period; little for a future one: "Do I eat meat this week?" is answered by earlier words."""
    tells = e.query.said_then or e.query.asks_period
    return (e.candidates.period == 1) * (1.0 if tells else FUTURE_PERIOD_SHARE)


def _event(e: FeatureInputs) -> Values:
    """Zero for past periods unless nothing else is asked: for the past, the time of saying is more reliable."""
    return e.candidates.event * (OPEN_PERIOD_WEIGHT if e.query.asks_period else e.query.asks_ahead)


def _lasting(e: FeatureInputs) -> Values:
    """Zero unless the query is about the user and memory lacks its words. Scaled by durability; halved for a statement
    that shares no word, topic or meaning with the query.
    """
    if DURABLE_TERM not in e.candidates.terms or not e.query.asks_personally or e.query.asks_period:
        return np.zeros(len(e.candidates.unit))
    at = e.candidates.terms.index(DURABLE_TERM)
    marked = (e.candidates.tf_header[:, at] > 0) | (e.candidates.tf[:, at] > 0)
    least = 2 if has_cjk(e.query.text) else 1  # one CJK character is in many words
    met = (e.presence[:, e.weights > 0] > 0).sum(axis=1) >= least
    related = (e.candidates.topic > 0) | met | (np.fmax(e.candidates.meaning, 0) >= MIN_MEANING_COSINE)
    sure = marked + (e.candidates.flags >> DURABILITY_SHIFT) / MAX_DURABILITY
    return (1 - e.word_match_confidence) * sure * np.where(related, 1.0, UNRELATED_SHARE)


def _kind(e: FeatureInputs) -> Values:
    """Full weight for short questions: "Where do I live now?" asks for a home, whatever else contains "live"."""
    asked = sum(weight > 0 for weight in e.query.weights)
    return min(1.0, MAX_SHORT_QUERY_WORDS / max(asked, 1)) * e.of_kind


def _meaning(e: FeatureInputs) -> Values:
    """Four times at most for a message that needs the user's facts and whose words memory lacks, unless a kind or a
    time answers it.
    """
    query = e.query
    near = np.fmax(e.candidates.meaning - COSINE_FLOOR, 0)  # NaN (no vector) becomes 0
    near = near / max(float(near.max(initial=0)), NEAR_MEANING)
    needed = query.speak == "when_needed" and query.asks_personally
    needed = needed and not (query.about_user or query.is_list_question or query.periods or query.asks_ahead)
    unmatched = (1 - e.word_match_confidence) * (1 - float(e.of_kind.max(initial=0))) * needed
    return e.brevity * near * (1 + UNMATCHED_MEANING_GAIN * unmatched)


def _topic(e: FeatureInputs) -> Values:
    """Doubled at most for a question about the user whose words memory lacks."""
    if e.query.about_user:
        return _of_best(e.candidates.topic)
    personal = e.query.asks_personally and not e.query.about_talk
    return e.candidates.topic * (1 + (1 - e.word_match_confidence) * personal)


def _of_best(values: Values) -> Values:
    return values / max(float(values.max(initial=0)), 1e-9)


class Feature(NamedTuple):
    """A row of the table.

    Args:
        name: as ``explain`` prints it.
        value: computes one number per candidate: 0 without the feature, about 1 where it is clear.
        meaning: what the feature says about a hit, in a few words.
        weight: score = sum of weight x value.
    """

    name: str
    value: Callable[[FeatureInputs], Values]
    meaning: str
    weight: float = 0.0


FEATURES: tuple[Feature, ...] = tuple(
    one._replace(weight=RANK_WEIGHTS[one.name])
    for one in (
        Feature(
            "window", lambda e: e.word_match_confidence * _of_best(e.bm25_window[0]), "fits with the turns next to it"
        ),
        Feature(
            "wide", lambda e: e.word_match_confidence * _of_best(e.bm25_window[1]), "fits with two turns on either side"
        ),
        Feature("session", lambda e: e.word_match_confidence * _session(e), "its session is about this"),
        Feature("answers", lambda e: e.word_match_confidence * _answers(e), "follows a question that fits"),
        Feature("header", _header, "its date or speaker is named"),
        Feature("covered", lambda e: e.word_match_confidence * _covered(e), "how many of the words it has"),
        Feature("rare", lambda e: e.word_match_confidence * _rare(e), "has the rarest word"),
        Feature("period", _period, "said in the period asked for"),
        Feature("after", lambda e: e.candidates.period == 0.5, "said soon after the period asked for"),
        Feature("speaker", _speaker, "said by the one the question names"),
        Feature("user", _user, "said by the user"),
        Feature("instruction", lambda e: e.has(Flag.INSTRUCTION) & e.candidates.has_roles, "a standing wish"),
        Feature("length", lambda e: np.log1p(e.candidates.length) / 5, "its length"),
        Feature("short", lambda e: e.brevity / (1 + e.candidates.length / 20), "its few words"),
        Feature("first_person", lambda e: e.has(Flag.FIRST_PERSON), "speaks of oneself"),
        Feature("number", lambda e: e.has(Flag.DIGIT) & e.query.asks_number, "has a number, as asked"),
        Feature("event", _event, "is about the period asked for"),
        Feature("dated", lambda e: e.candidates.dated & e.query.asks_when, "names a day, as asked"),
        Feature("lasting", _lasting, "a lasting statement about oneself, for a personal question"),
        Feature("kind", _kind, "a lasting statement of the kind asked for"),
        Feature("topic", _topic, "shares everyday topics"),
        Feature("meaning", _meaning, "close in meaning, by built-in vectors"),
        Feature("cosine", _cosine, "close in meaning"),
        Feature(
            "recent",
            lambda e: (1 - e.brevity) / (1 + (e.candidates.time.max(initial=0) - e.candidates.time) / RECENT_US),
            "said lately, for a request told at length",  # such a request usually continues recent work
        ),
    )
)


def features(evidence: FeatureInputs, more: Sequence[Feature] = ()) -> Values:
    """Compute [candidates, features] in the order of ``FEATURES``, then of ``more``, the features of plugins.

    Raises:
        PluginError: a plugin's feature failed, or returned anything but one finite number per candidate.
    """
    matrix = np.empty((len(evidence.candidates.unit), len(FEATURES) + len(more)), np.float32)
    for i, column in enumerate(FEATURES):
        matrix[:, i] = column.value(evidence)
    for i, column in enumerate(more, len(FEATURES)):
        matrix[:, i] = _checked(column, evidence)
    return matrix


def _checked(feature: Feature, evidence: FeatureInputs) -> Values:
    try:
        values = np.asarray(feature.value(evidence), np.float32)
    except Exception as error:  # the error's text may quote a conversation
        raise PluginError(f"the ranking feature {feature.name!r} failed: {type(error).__name__}") from error
    if values.shape != evidence.candidates.unit.shape or not np.isfinite(values).all():
        message = f"the ranking feature {feature.name!r} gave an array of shape {values.shape}, or no finite numbers"
        raise PluginError(message, hint="give one number per candidate")
    return values
