"""Choose the known facts to show with a call's turns: those that the turns may repeat, refine or end.

Each sentence scores each fact by words (BM25), meaning (built-in vectors), topic and person. A state of that person,
such as a home or a job, scores higher because news often end it. A turn scores as its best sentence does. A fact gains
little from several near turns compared with its nearest one: a long talk about work must not crowd out the one fact
about a move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memscope.consolidation.transcript import TranscriptLine
from memscope.dates.iso import brief
from memscope.languages.statements import sentences
from memscope.languages.wording import tells_state
from memscope.reconciliation.related import sentence_rows
from memscope.reconciliation.subjects import USER_SUBJECT, subjects
from memscope.records import Json, Observation
from memscope.records.filters import has_name
from memscope.search.bm25 import bm25, rarity
from memscope.text.terms import terms
from memscope.text.topics import topics

Ratings: TypeAlias = NDArray[np.float32]  # [sentences, facts]
MAX_KNOWN_FACTS = 24  # per call
MAX_KNOWN_FACT_CHARS = 300
TURN_SUM_EXPONENT = 5  # exponent of the sum over turns: high, so that the nearest turn dominates
# Fitted on recorded relations, each alone and among 19 other turns.
WEIGHT_OF_WORDS, WEIGHT_OF_MEANING, WEIGHT_OF_TOPIC, WEIGHT_OF_PERSON, WEIGHT_OF_STATE = 0.1, 3.0, 0.05, 0.3, 0.5
WEIGHT_OF_TOPIC_ALONE = 0.2


def choose_known(facts: Sequence[Observation], lines: Sequence[TranscriptLine]) -> list[Observation]:
    """Return up to ``MAX_KNOWN_FACTS`` facts, those nearest to the lines first."""
    if not facts or not lines:
        return []
    parts = [[*dict.fromkeys((line.text, *sentences(line.text)))] for line in lines]
    spoken = [(line, text) for line, pieces in zip(lines, parts, strict=True) for text in pieces]
    texts, known = [text for _, text in spoken], [" ".join((fact.text, *fact.keywords)) for fact in facts]
    meant = _by_meaning(texts, known)
    topic = WEIGHT_OF_TOPIC_ALONE if meant is None else WEIGHT_OF_TOPIC
    states = np.array([tells_state(fact.text) for fact in facts])
    person = (WEIGHT_OF_PERSON + WEIGHT_OF_STATE * states).astype(np.float32)
    ratings = WEIGHT_OF_WORDS * _by_words(texts, known) + topic * _by_topic(texts, known)
    ratings += _by_person(spoken, facts) * person
    if meant is not None:
        ratings += WEIGHT_OF_MEANING * meant
    by_turn = np.maximum.reduceat(ratings, np.cumsum([0, *(len(pieces) for pieces in parts[:-1])]))
    nearest = (-((by_turn**TURN_SUM_EXPONENT).sum(0))).argsort(kind="stable")
    return [facts[int(place)] for place in nearest[:MAX_KNOWN_FACTS]]


def _by_words(texts: Sequence[str], known: Sequence[str]) -> Ratings:
    spoken, counts = [frozenset(terms(text)) for text in texts], [Counter(terms(text)) for text in known]
    columns = {word: place for place, word in enumerate(dict.fromkeys(chain.from_iterable(spoken)))}
    tf = np.zeros((len(known), len(columns)), np.float32)
    for row, count in enumerate(counts):
        for word in count.keys() & columns.keys():
            tf[row, columns[word]] = count[word]
    length = np.array([count.total() for count in counts], np.float32)
    weights = rarity(len(known), (tf > 0).sum(0).astype(np.float32))
    rated = [bm25(tf[:, places], length, float(length.mean()), weights[places])
             for words in spoken for places in [[columns[word] for word in words]]]  # fmt: skip
    return np.stack(rated)


def _by_meaning(texts: Sequence[str], known: Sequence[str]) -> Ratings | None:
    """Return the cosines; None if no fact has a vector."""
    facts = sentence_rows(known)
    if not facts.any():
        return None
    cosines: Ratings = np.maximum(sentence_rows(texts) @ facts.T, 0.0)
    return cosines


def _by_topic(texts: Sequence[str], known: Sequence[str]) -> Ratings:
    held = [topics(text) for text in known]
    shared = Counter(chain.from_iterable(held))
    weight = {topic: float(np.log1p(len(known) / count)) for topic, count in shared.items()}
    rated = [[max((weight[one] for one in topics(text) & about), default=0.0) for about in held] for text in texts]
    return np.array(rated, np.float32)


def _by_person(spoken: Sequence[tuple[TranscriptLine, str]], facts: Sequence[Observation]) -> Ratings:
    """Rate 1 where the speaker is the fact's subject or names it, else 0."""
    about = {name for fact in facts for name in subjects(fact.about)}
    rated = []
    for line, text in spoken:
        speaker = USER_SUBJECT if line.turn.role == "user" else line.turn.speaker
        met = {name for name in about if has_name(speaker, name) or has_name(text, name)}
        rated.append([float(not met.isdisjoint(subjects(fact.about))) for fact in facts])
    return np.array(rated, np.float32)


def known_data(facts: Sequence[Observation]) -> list[dict[str, Json]]:
    """List the facts as numbered JSON objects, without fields that the text already states."""
    return [{"k": number, **fact_data(fact)} for number, fact in enumerate(facts, 1)]


def fact_data(fact: Observation) -> dict[str, Json]:
    data: dict[str, Json] = {"said": f"{fact.said:%Y-%m-%d}"}
    when = brief(fact.happened) if fact.happened else ""
    data |= {"when": when} if when and when not in fact.text else {}
    data |= {"about": fact.about} if fact.about != USER_SUBJECT and fact.about not in fact.text else {}
    return {**data, "text": fact.text[:MAX_KNOWN_FACT_CHARS]}
