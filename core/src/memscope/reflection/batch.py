"""TopicBatch: state handed from worker to worker of reflect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from memscope.prompts import visible
from memscope.reconciliation.approval import proposed
from memscope.reconciliation.settlement import FactRelation, WorkBatch
from memscope.records import ChangeSet, Insight, Observation, Scope


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject to be brought up to date: its insight so far, the value without its heading, the facts placed now.

    ``placed`` are ids of new ones among them. ``whole``: the facts are all that the subject rests on, those of the old
    insight that are not among them left it with a split.
    """

    subject: str
    insight: Insight | None
    value: str
    facts: tuple[Observation, ...]
    placed: frozenset[str] = frozenset()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TopicBatch(WorkBatch):
    """Observations of one agent that were not reflected on yet, and the topics and verdicts made of them so far.

    ``insights`` are the current ones, ``sources`` the observations they rest on, by id. ``topics`` are to be written,
    ``alone`` are ids of observations that belong to no subject. ``failed`` are codes of calls that brought nothing,
    ``relations`` verdicts on facts.
    """

    id: str
    scope: Scope
    observations: tuple[Observation, ...]
    insights: tuple[Insight, ...] = ()
    sources: Mapping[str, Observation] = field(default_factory=dict)
    topics: tuple[Topic, ...] = ()
    alone: frozenset[str] = frozenset()
    failed: tuple[str, ...] = ()
    new: tuple[Insight, ...] = ()
    relations: tuple[FactRelation, ...] = ()

    def facts_of(self, insight: Insight | None) -> list[Observation]:
        return [self.sources[id] for id in insight.sources if id in self.sources] if insight else []


def value_of(insight: Insight) -> str:
    """Return what the insight says, without its heading."""
    return without_heading(insight.text, insight.subject)


def without_heading(value: str, subject: str) -> str:
    """Return the value in one line; a heading that it begins with, once or more often, is taken off."""
    value = " ".join(visible(value).split())
    while value.casefold().startswith(subject.casefold()) and value[len(subject) : len(subject) + 1] in (":", "："):
        value = value[len(subject) + 1 :].strip()
    return value


def change_set(batch: TopicBatch, gone: frozenset[str], *, propose: bool = False) -> ChangeSet:
    """Return the change set. Marked as seen: observations that were placed, and those of no subject."""
    batch = batch.added(batch.new, propose=propose)
    placed = {id for topic in batch.topics for id in topic.placed}
    new = tuple(proposed(memory, batch.closed) for memory in batch.new) if propose else batch.new
    own = {memory.id for memory in batch.new}
    closed = tuple(closing for closing in batch.closed if not propose or closing.by not in own)
    report = {**batch.report(), "errors": dict(Counter(batch.failed))}
    return ChangeSet(new, closed, batch.revised, tuple(sorted(placed | batch.alone | gone)), report=report)
