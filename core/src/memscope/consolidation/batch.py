"""FactBatch: state handed from worker to worker of consolidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from memscope.pipeline import UNFINISHED
from memscope.reconciliation.approval import REFUSAL_FIELD, proposed
from memscope.reconciliation.settlement import WorkBatch
from memscope.reconciliation.supersession import Verdict
from memscope.records import ChangeSet, Observation, Turn


@dataclass(frozen=True, slots=True)
class ToldRelation:
    """Verdict of the model on a new fact and one before it: ids, relation, and what of the old one still holds."""

    new: str
    old: str
    verdict: Verdict
    rest: str = ""


@dataclass(frozen=True, slots=True)
class FactBatch(WorkBatch):
    """Turns of one agent, in order, and the facts found in them so far.

    ``before`` was said before them and is only context; ``excluded`` are those that nothing is learned from.
    ``unread`` turns got no usable reply and stay pending; ``read`` maps each turn to how many of its characters a
    usable reply covered. ``facts`` are observations to be, ``happened`` as the model proposed it until ``date`` has
    looked. ``refused_facts`` were refused, but a person may still accept them. ``relations`` are what the model says
    that the facts do to known ones.
    """

    id: str
    turns: tuple[Turn, ...]
    before: tuple[Turn, ...] = ()
    excluded: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    read: Mapping[str, int] = field(default_factory=dict)
    facts: tuple[Observation, ...] = ()
    refused_facts: tuple[Observation, ...] = ()
    relations: tuple[ToldRelation, ...] = ()

    @property
    def user(self) -> str:
        return self.turns[0].scope.user

    @property
    def agent(self) -> str | None:
        return self.turns[0].scope.agent

    def turn(self, key: str) -> Turn:
        return next(turn for turn in (*self.turns, *self.before) if turn.key == key)

    def refuse(self, reason: str, text: str, words: Sequence[str]) -> FactBatch:
        """Count a fact that was left out, and show it in the report with the words it was to rest on."""
        line = {"action": "rejected", "kind": "observation", "text": text, "why": reason, "quotes": list(words)}
        return replace(self.reject({reason: 1}), actions=(*self.actions, line))


def progress(batch: FactBatch) -> ChangeSet:
    """Return what was read so far, to be saved between the calls of a batch."""
    relations = [list(astuple(one)) for one in batch.relations]
    state = {"read": dict(batch.read), "left": sorted(batch.unread), "relations": relations}
    return ChangeSet((*batch.facts, *batch.refused_facts), report={**batch.report(), UNFINISHED: state})


def resumed(batch: FactBatch, saved: ChangeSet | None) -> FactBatch:
    """Return the batch with what an earlier attempt at it had read."""
    if saved is None:
        return batch
    state, observations = saved.report[UNFINISHED], [one for one in saved.new if isinstance(one, Observation)]
    return replace(
        batch,
        facts=tuple(one for one in observations if REFUSAL_FIELD not in one.data),
        refused_facts=tuple(one for one in observations if REFUSAL_FIELD in one.data),
        unread=frozenset(state["left"]),
        read=state["read"],
        relations=tuple(ToldRelation(*one) for one in state.get("relations", ())),  # none were told before 0.2
        rejected=saved.report["rejected"],
        judged=saved.report.get("judged", {}),
        actions=tuple(saved.report["actions"]),
    )


def change_set(batch: FactBatch, done: tuple[str, ...], *, propose: bool = False) -> ChangeSet:
    """Return the change set. With ``propose`` new memories wait for approval, and those they would supersede stay."""
    batch = batch.added(batch.facts, propose=propose)
    report = {**batch.report(), "left": len(batch.unread)}
    done = tuple(key for key in done if key not in batch.unread)
    waiting = (*batch.facts, *batch.refused_facts) if propose else ()
    new = tuple(proposed(memory, batch.closed) for memory in waiting) if propose else batch.facts
    return ChangeSet(new, () if propose else batch.closed, batch.revised, done, report=report)
