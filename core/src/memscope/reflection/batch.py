"""TopicBatch: state handed from worker to worker of reflect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from memscope.reconciliation.approval import proposed
from memscope.reconciliation.settlement import FactRelation
from memscope.records import ChangeSet, Insight, Json, Observation, Revision, Scope, Supersession


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject with new facts: its insight so far, and the facts about it. ``placed`` are ids of new ones."""

    subject: str
    insight: Insight | None
    facts: tuple[Observation, ...]
    placed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TopicBatch:
    """Observations of one agent that were not reflected on yet, and the topics and verdicts made of them so far.

    ``insights`` are the current ones, ``sources`` the observations they rest on, by id. ``topics`` are to be brought up
    to date; ``updated`` are ids of observations whose topics were, ``alone`` of those that belong to no subject.
    ``failed`` are codes of calls that brought nothing, ``relations`` verdicts on facts of one subject.
    """

    id: str
    scope: Scope
    observations: tuple[Observation, ...]
    insights: tuple[Insight, ...] = ()
    sources: Mapping[str, Observation] = field(default_factory=dict)
    topics: tuple[Topic, ...] = ()
    alone: frozenset[str] = frozenset()
    updated: frozenset[str] = frozenset()
    failed: tuple[str, ...] = ()
    new: tuple[Insight, ...] = ()
    relations: tuple[FactRelation, ...] = ()
    revised: tuple[Revision, ...] = ()
    closed: tuple[Supersession, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)
    actions: tuple[Mapping[str, Json], ...] = ()

    def reject(self, reasons: Mapping[str, int]) -> TopicBatch:
        return replace(self, rejected=dict(Counter(self.rejected) + Counter(reasons)))

    def act(self, action: str, memory: Observation | Insight, **more: Json) -> TopicBatch:
        kind = "insight" if isinstance(memory, Insight) else "observation"
        line = {"action": action, "kind": kind, "id": memory.id, "text": memory.text, **more}
        return replace(self, actions=(*self.actions, line))


def memory_id(batch: str, ordinal: int) -> str:
    """Returns an id derived from the batch: every worker that repeats it gets the same one."""
    return blake2b(f"{batch}/{ordinal}".encode(), digest_size=16).hexdigest()


def change_set(batch: TopicBatch, gone: frozenset[str], *, propose: bool = False) -> ChangeSet:
    """Returns the change set. Marked as seen: observations of no subject, and those whose topics were all updated."""
    late = {id for topic in batch.topics for id in topic.placed} - batch.updated
    seen = (batch.alone | batch.updated | gone) - late
    new = tuple(proposed(memory, batch.closed) for memory in batch.new) if propose else batch.new
    own = {memory.id for memory in batch.new}
    closed = tuple(closing for closing in batch.closed if not propose or closing.by not in own)
    errors = dict(Counter(batch.failed))
    report = {"actions": list(batch.actions), "rejected": dict(batch.rejected), "errors": errors}
    return ChangeSet(new, closed, batch.revised, tuple(sorted(seen)), report=report)
