"""TopicBatch: state handed from worker to worker of reflect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memscope.reconciliation.approval import proposed
from memscope.reconciliation.settlement import FactRelation, WorkBatch
from memscope.records import ChangeSet, Insight, Observation, Scope, Sentence


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject to be written: its insight so far, its sentences from now on, ids of the facts placed under it now.

    ``worded``: those of the sentences that the reply brought.
    """

    subject: str
    insight: Insight | None
    sentences: tuple[Sentence, ...]
    placed: frozenset[str] = frozenset()
    worded: frozenset[Sentence] = frozenset()


@dataclass(frozen=True, slots=True)
class TopicBatch(WorkBatch):
    """Observations of one agent that were not reflected on yet, and the topics and verdicts made of them so far.

    ``insights`` are the current ones, ``sources`` the observations they rest on, by id. ``near`` are facts that stand
    alone. ``topics`` are to be written, ``alone`` are ids of observations that belong to no subject. ``relations`` are
    verdicts on facts.
    """

    id: str
    scope: Scope
    observations: tuple[Observation, ...]
    insights: tuple[Insight, ...] = ()
    sources: Mapping[str, Observation] = field(default_factory=dict)
    near: tuple[Observation, ...] = ()
    topics: tuple[Topic, ...] = ()
    alone: frozenset[str] = frozenset()
    new: tuple[Insight, ...] = ()
    relations: tuple[FactRelation, ...] = ()

    @property
    def facts(self) -> dict[str, Observation]:
        return {**self.sources, **{one.id: one for one in (*self.near, *self.observations)}}


def change_set(batch: TopicBatch, gone: frozenset[str], *, propose: bool = False) -> ChangeSet:
    """Return the change set. Marked as seen: observations that were placed, and those of no subject."""
    batch = batch.added(batch.new, propose=propose)
    placed = {id for topic in batch.topics for id in topic.placed}
    new = tuple(proposed(memory, batch.closed) for memory in batch.new) if propose else batch.new
    new_ids = {memory.id for memory in batch.new}
    closed = tuple(closing for closing in batch.closed if not propose or closing.by not in new_ids)
    done = tuple(sorted(placed | batch.alone | gone))
    return ChangeSet(new, closed, batch.revised, done, report=batch.report())
