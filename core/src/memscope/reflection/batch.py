"""TopicBatch: the state that the workers of reflect pass on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memscope.reconciliation.approval import proposed
from memscope.reconciliation.settlement import FactRelation, WorkBatch
from memscope.records import ChangeSet, Insight, Observation, Scope, Sentence


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject to write: its current insight, its new sentences, and the ids of the facts placed under it now.

    ``worded``: the sentences that the model wrote.
    """

    subject: str
    insight: Insight | None
    sentences: tuple[Sentence, ...]
    placed: frozenset[str] = frozenset()
    worded: frozenset[Sentence] = frozenset()


@dataclass(frozen=True, slots=True)
class TopicBatch(WorkBatch):
    """One agent's observations to reflect on, with the topics and verdicts derived from them so far.

    ``insights``: the current ones. ``sources``: the observations they rest on, by id. ``near``: nearby facts outside
    any insight. ``topics``: subjects to write. ``alone``: ids of observations that belong to no subject. ``relations``:
    verdicts on pairs of facts.
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
    """Build the change set. Observations that were placed, and those of no subject, are done."""
    batch = batch.added(batch.new, propose=propose)
    placed = {id for topic in batch.topics for id in topic.placed}
    new = tuple(proposed(memory, batch.closed) for memory in batch.new) if propose else batch.new
    new_ids = {memory.id for memory in batch.new}
    closed = tuple(closing for closing in batch.closed if not propose or closing.by not in new_ids)
    done = tuple(sorted(placed | batch.alone | gone))
    return ChangeSet(new, closed, batch.revised, done, report=batch.report())
