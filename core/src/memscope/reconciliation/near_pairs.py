"""Find pairs of current facts that may repeat, refine or end each other, for a model to judge.

Both facts are of one agent and about one person or thing, from different turns, and near in words, topic or meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from memscope.languages.similarity import closeness
from memscope.reconciliation.audit import may_contradict
from memscope.reconciliation.related import sentence_rows
from memscope.reconciliation.subjects import NOBODY, People, may_meet, share_thing
from memscope.reconciliation.supersession import in_order
from memscope.reconciliation.vetoes import are_other_events, keywords
from memscope.records import Observation

MIN_PAIR_NEARNESS = 0.5  # cosine, with a bonus for shared words and keywords
WEIGHT_OF_SHARED_WORDS = 0.2
NEAREST_FACTS = 4  # kept per fact
MAX_NEAR_FACTS = 40  # nearest facts in meaning that are considered per fact


class NearPair(NamedTuple):
    """Two facts in the order of saying, and their nearness."""

    old: Observation
    new: Observation
    nearness: float


def near_pairs(facts: Sequence[Observation], people: People = NOBODY) -> list[NearPair]:
    """Return the pairs, nearest first."""
    counted = [fact for fact in facts if fact.current and fact.name is None]
    by_ids: dict[frozenset[str], NearPair] = {}
    for place, near in enumerate(_nearest(counted)):
        one = counted[place]
        pairs = (_pair(one, counted[other], cosine) for other, cosine in near)
        fit = (pair for pair in pairs if pair.nearness >= MIN_PAIR_NEARNESS and _may_be_related(pair, people))
        for pair in sorted(fit, key=lambda pair: -pair.nearness)[:NEAREST_FACTS]:
            by_ids[frozenset((pair.old.id, pair.new.id))] = pair
    return sorted(by_ids.values(), key=lambda pair: (-pair.nearness, pair.new.id, pair.old.id))


def _pair(one: Observation, other: Observation, cosine: float) -> NearPair:
    old, new = in_order(one, other)
    topics, about = bool(keywords(one) & keywords(other)), f"{one.about} {other.about}"
    shared = closeness(one.text, other.text, without=about, topics=topics)
    nearness = 1.0 if may_contradict(old, new) else cosine + WEIGHT_OF_SHARED_WORDS * shared
    return NearPair(old, new, nearness)


def _may_be_related(pair: NearPair, people: People) -> bool:
    old, new = pair.old, pair.new
    if old.scope.agent != new.scope.agent or set(old.sources) == set(new.sources):
        return False
    return not are_other_events(new, old) and (may_meet(new, old, people) or share_thing(new, old, people))


def _nearest(facts: Sequence[Observation]) -> Iterator[list[tuple[int, float]]]:
    """Yield for each fact the facts nearest in meaning, with the cosine."""
    rows = sentence_rows([" ".join((fact.text, *fact.keywords)) for fact in facts])
    for place in range(len(facts)):
        cosines = rows @ rows[place]
        yield [(int(other), float(cosines[other])) for other in np.argsort(-cosines, kind="stable")[:MAX_NEAR_FACTS]]
