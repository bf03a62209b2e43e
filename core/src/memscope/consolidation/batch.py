"""FactBatch: the state that the workers of consolidate pass on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from memscope.pipeline import UNFINISHED
from memscope.reconciliation.approval import REFUSAL_FIELD, proposed
from memscope.reconciliation.settlement import WorkBatch, rejection
from memscope.reconciliation.supersession import Verdict
from memscope.records import ChangeSet, Observation, Scope, Turn


@dataclass(frozen=True, slots=True)
class ProposedRelation:
    """The model's verdict on a new and an earlier fact: ids, relation, and what of the old fact still holds."""

    new: str
    old: str
    verdict: Verdict
    rest: str = ""


@dataclass(frozen=True, slots=True)
class FactBatch(WorkBatch):
    """One agent's turns, in order, and the facts extracted from them so far.

    ``before``: earlier turns, shown only as context. ``excluded``: keys of turns on which no fact may rest. ``unread``:
    keys of turns without a usable reply, which stay pending. ``read``: characters of each turn that a usable reply
    covered. ``facts``: new observations, with ``happened`` as proposed by the model until ``date`` has checked it.
    ``refused_facts``: refused, but a person may still accept them. ``relations``: the model's verdicts on new and known
    facts.
    """

    id: str
    turns: tuple[Turn, ...]
    before: tuple[Turn, ...] = ()
    excluded: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    read: Mapping[str, int] = field(default_factory=dict)
    facts: tuple[Observation, ...] = ()
    refused_facts: tuple[Observation, ...] = ()
    relations: tuple[ProposedRelation, ...] = ()

    @property
    def scope(self) -> Scope:
        return Scope(self.turns[0].scope.user, self.turns[0].scope.agent)

    def turn(self, key: str) -> Turn:
        return next(turn for turn in (*self.turns, *self.before) if turn.key == key)

    def refuse(self, reason: str, text: str, words: Sequence[str]) -> FactBatch:
        """Count a refused fact and report it with the words that it was meant to rest on."""
        return replace(self.reject({reason: 1}), actions=(*self.actions, rejection(text, reason, words)))


def progress(batch: FactBatch) -> ChangeSet:
    """Build the change set that saves, between the calls of a batch, what was read so far."""
    relations = [list(astuple(relation)) for relation in batch.relations]
    state = {"read": dict(batch.read), "left": sorted(batch.unread), "relations": relations}
    return ChangeSet((*batch.facts, *batch.refused_facts), report={**batch.report(), UNFINISHED: state})


def resumed(batch: FactBatch, saved: ChangeSet | None) -> FactBatch:
    """Restore what an earlier attempt at the batch had read."""
    if saved is None:
        return batch
    state, facts = saved.report[UNFINISHED], [one for one in saved.new if isinstance(one, Observation)]
    return replace(
        batch,
        facts=tuple(fact for fact in facts if REFUSAL_FIELD not in fact.data),
        refused_facts=tuple(fact for fact in facts if REFUSAL_FIELD in fact.data),
        unread=frozenset(state["left"]),
        read=state["read"],
        relations=tuple(ProposedRelation(*one) for one in state.get("relations", ())),  # absent before version 0.2
        rejected=saved.report["rejected"],
        judged=saved.report.get("judged", {}),
        actions=tuple(saved.report["actions"]),
    )


def change_set(batch: FactBatch, done: tuple[str, ...], *, propose: bool = False) -> ChangeSet:
    """Build the change set. With ``propose``, new memories wait for approval and supersede nothing yet."""
    batch = batch.added(batch.facts, propose=propose)
    report = {**batch.report(), "left": len(batch.unread)}
    done = tuple(key for key in done if key not in batch.unread)
    if not propose:
        return ChangeSet(batch.facts, batch.closed, batch.revised, done, report=report)
    waiting = (*batch.facts, *batch.refused_facts)
    return ChangeSet(tuple(proposed(fact, batch.closed) for fact in waiting), (), batch.revised, done, report=report)
