"""The model's view beside new facts: nearby insights with their sentences, and nearby facts outside insights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TypeVar

from memscope.dates.iso import brief
from memscope.languages.similarity import closeness
from memscope.reconciliation.insight_sentences import attributed
from memscope.reconciliation.subjects import meet
from memscope.records import Insight, Json, Memory, Observation, Sentence
from memscope.reflection.batch import TopicBatch
from memscope.reflection.insights import ended_since
from memscope.text.vectors import sentence_vector

M = TypeVar("M", bound=Memory)
MAX_NAMED_INSIGHTS = 40
MAX_SENTENCES = 12  # per insight: those nearest to the new facts
# Limits for up to FEW_FACTS new facts, scaled up for more: nearby facts outside insights, insights shown
# with sentences, and characters of all sentences.
FEW_FACTS = 20
MAX_EARLIER_FACTS, MAX_OPEN_INSIGHTS, MAX_SENTENCE_CHARS = 15, 16, 5_000
MAX_SHOWN_FACT_CHARS = 300  # longer facts are cut
LONG_INSIGHT_CHARS = 800  # the model is asked to split longer insights
MIN_NEARNESS = 0.3
MEANING_WEIGHT, PERSON_WEIGHT, HEADING_WEIGHT = 0.5, 0.1, 0.3


@dataclass(frozen=True)
class ShownFacts:
    """Facts (new ones first, then earlier ones) and insights as the model sees them.

    ``sentences`` are numbered from 1 across all insights; each is paired with its insight.
    """

    facts: Sequence[Observation]
    insights: Sequence[Insight]
    sentences: Sequence[tuple[Insight, Sentence]] = ()
    data: Mapping[str, Json] = field(default_factory=dict)


def shown(batch: TopicBatch, now: datetime) -> ShownFacts:
    new, nearness = batch.observations, _Nearness()
    share = max(1.0, len(new) / FEW_FACTS)
    ended = {insight.id: ended_facts(batch, insight, now) for insight in batch.insights}
    lost = [insight for insight in batch.insights if ended[insight.id]]
    ranked = interleave(new, batch.insights, lambda fact, one: nearness.of_insight(fact, one, batch))
    insights = [*{one.id: one for one in (*lost, *ranked)}.values()][:MAX_NAMED_INSIGHTS]
    over = {fact.id: fact for one in lost for fact in ended[one.id]}
    near = interleave(new, batch.near, nearness, MIN_NEARNESS)[: int(share * MAX_EARLIER_FACTS)]
    facts = (*new, *over.values(), *near)
    nearest = insights[: max(int(share * MAX_OPEN_INSIGHTS), len(lost))]
    sentences = _sentences(batch, nearest, nearness, int(share * MAX_SENTENCE_CHARS))
    listed = [_fact(number, fact) for number, fact in enumerate(facts, 1)]
    numbered: dict[str, list[Json]] = {one.id: [] for one in insights}
    for number, (insight, sentence) in enumerate(sentences, 1):
        numbered[insight.id].append([number, sentence.text])
    data = {
        "today": f"{now:%Y-%m-%d}",
        "facts": listed[: len(new)],
        "earlier": listed[len(new) :],
        "insights": [_insight(number, one, numbered[one.id]) for number, one in enumerate(insights, 1)],
    }
    return ShownFacts(facts, insights, sentences, data)


def ended_facts(batch: TopicBatch, insight: Insight, now: datetime) -> list[Observation]:
    """Return the insight's facts that the batch has ended, and those that ended since it was written.

    Merged repeats did not end.
    """
    new = {fact.id for fact in batch.observations}
    facts = (batch.sources[id] for id in insight.sources if id in batch.sources)
    by_news = [fact for fact in facts if fact.superseded_by in new and fact.valid_to is not None]
    return [*{fact.id: fact for fact in (*by_news, *ended_since(batch, insight, now))}.values()]


def interleave(
    facts: Sequence[Observation], others: Sequence[M], near: Callable[[Observation, M], float], least: float = -1.0
) -> list[M]:
    """Interleave the rankings of all facts: the nearest to each fact first, then the second nearest, ...

    Something that many others share with one fact, such as a name, then crowds out nothing another fact needs.
    """
    rankings = []
    for fact in facts:
        rated = sorted(((-near(fact, other), other.id, other) for other in others), key=lambda row: row[:2])
        rankings.append([one if -score >= least else None for score, _, one in rated])
    return [*{one.id: one for group in zip(*rankings, strict=True) for one in group if one is not None}.values()]


class _Nearness:
    """Nearness of facts by words, built-in vectors and person, with cached vectors."""

    def __init__(self) -> None:
        self._vector = cache(sentence_vector)

    def __call__(self, one: Observation, other: Observation) -> float:
        return self.of_text(one, other.text) + PERSON_WEIGHT * meet(one, other)

    def of_insight(self, fact: Observation, insight: Insight, batch: TopicBatch) -> float:
        under = [batch.sources[id] for id in insight.sources if id in batch.sources]
        words = max((closeness(fact.text, one.text, without=fact.about) for one in under), default=0.0)
        words = max(words, closeness(fact.text, insight.text, without=fact.about))
        heading = HEADING_WEIGHT * closeness(fact.text, insight.subject, without=fact.about)
        person = PERSON_WEIGHT * any(meet(fact, one) for one in under)
        return words + heading + person + self._meaning(fact.text, insight.text)

    def of_text(self, fact: Observation, text: str) -> float:
        return closeness(fact.text, text, without=fact.about) + self._meaning(fact.text, text)

    def _meaning(self, one: str, other: str) -> float:
        a, b = self._vector(one), self._vector(other)
        return MEANING_WEIGHT * float(a @ b) if a is not None and b is not None else 0.0


def _sentences(
    batch: TopicBatch, insights: Iterable[Insight], nearness: _Nearness, room: int
) -> list[tuple[Insight, Sentence]]:
    """Choose the sentences to show within ``room`` characters, in the order of the insights."""
    chosen: list[tuple[Insight, Sentence]] = []
    for insight in insights:
        every = attributed(insight, batch.facts)
        near = {one: max(nearness.of_text(fact, one.text) for fact in batch.observations) for one in every}
        best = set(sorted(every, key=lambda one: -near[one])[:MAX_SENTENCES])
        nearest = [one for one in every if one in best]
        room -= sum(len(one.text) for one in nearest)
        if room < 0 and chosen:
            break
        chosen += [(insight, one) for one in nearest]
    return chosen


def _fact(number: int, fact: Observation) -> dict[str, Json]:
    shown: dict[str, Json] = {"n": number, "said": f"{fact.said:%Y-%m-%d}", "text": fact.text[:MAX_SHOWN_FACT_CHARS]}
    if fact.happened:
        shown["when"] = brief(fact.happened)
    if fact.valid_to is not None:
        shown["until"] = f"{fact.valid_to:%Y-%m-%d}"
    return {**shown, "about": fact.about}


def _insight(number: int, insight: Insight, sentences: Sequence[Json]) -> dict[str, Json]:
    shown: dict[str, Json] = {"n": number, "subject": insight.subject}
    if sentences:
        shown["sentences"] = sentences
    if len(insight.text) > LONG_INSIGHT_CHARS:
        shown["long"] = True
    return shown
