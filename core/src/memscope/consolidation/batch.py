"""FactBatch: state handed from worker to worker of consolidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from memscope.pipeline import UNFINISHED
from memscope.reconciliation.approval import REFUSED, proposed
from memscope.reconciliation.settlement import WorkBatch
from memscope.records import ChangeSet, Observation, Turn


@dataclass(frozen=True, slots=True)
class FactBatch(WorkBatch):
    """Turns of one agent, in order, and the facts found in them so far.

    ``before`` was said before them and is only context; ``quiet`` are those that nothing is learned from. ``left`` are
    turns that no usable reply was had for: they stay pending. ``read`` has the characters of each turn that a usable
    reply was had for. ``facts`` are observations to be, ``happened`` as the
    model proposed it until ``date`` has looked. ``doubtful`` are refused facts that a person may accept all the same.
    """

    id: str
    turns: tuple[Turn, ...]
    before: tuple[Turn, ...] = ()
    quiet: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    read: Mapping[str, int] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    facts: tuple[Observation, ...] = ()
    doubtful: tuple[Observation, ...] = ()

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
    """Returns what was read so far, to be saved between the calls of a batch."""
    told = {"read": dict(batch.read), "levels": dict(batch.levels), "left": sorted(batch.left)}
    return ChangeSet((*batch.facts, *batch.doubtful), report={**batch.report(), UNFINISHED: told})


def resumed(batch: FactBatch, saved: ChangeSet | None) -> FactBatch:
    """Returns the batch with what an earlier attempt at it had read."""
    if saved is None:
        return batch
    told, found = saved.report[UNFINISHED], [one for one in saved.new if isinstance(one, Observation)]
    return replace(
        batch,
        facts=tuple(one for one in found if REFUSED not in one.data),
        doubtful=tuple(one for one in found if REFUSED in one.data),
        left=frozenset(told["left"]),
        read=told["read"],
        levels=told["levels"],
        rejected=saved.report["rejected"],
        actions=tuple(saved.report["actions"]),
    )


def change_set(batch: FactBatch, done: tuple[str, ...], *, propose: bool = False) -> ChangeSet:
    """Returns the change set. With ``propose`` new memories wait for approval, and those they would supersede stay."""
    batch = batch.added(batch.facts, propose=propose)
    report = {**batch.report(), "left": len(batch.left)}
    done = tuple(key for key in done if key not in batch.left)
    waiting = (*batch.facts, *batch.doubtful) if propose else ()
    new = tuple(proposed(memory, batch.closed) for memory in waiting) if propose else batch.facts
    return ChangeSet(new, () if propose else batch.closed, batch.revised, done, report=report)
