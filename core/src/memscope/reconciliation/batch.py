"""WorkBatch: what the batches of consolidate and reflect have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from memscope.reconciliation.settlement import Settlement
from memscope.records import Insight, Json, Memory, Revision, Supersession


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkBatch:
    """``revised`` and ``closed`` are for what is stored already. ``rejected`` counts what was left out, by reason."""

    revised: tuple[Revision, ...] = ()
    closed: tuple[Supersession, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)
    actions: tuple[Mapping[str, Json], ...] = ()

    def reject(self, reasons: Mapping[str, int]) -> Self:
        return replace(self, rejected=dict(Counter(self.rejected) + Counter(reasons)))

    def act(self, action: str, memory: Memory, **more: Json) -> Self:
        """One line of the report, in MemoryScope's manner."""
        kind = "insight" if isinstance(memory, Insight) else "observation"
        line = {"action": action, "kind": kind, "id": memory.id, "text": memory.text, **more}
        return replace(self, actions=(*self.actions, line))

    def added(self, memories: Sequence[Memory], *, propose: bool) -> Self:
        """Returns the batch that tells of its new memories. A proposal supersedes nothing yet, so no line says so."""
        ids = {memory.id for memory in memories} if propose else set()
        lines = [line for line in self.actions if not (line["action"] == "superseded" and line["by"] in ids)]
        batch = replace(self, actions=tuple(lines))
        for memory in memories:
            batch = batch.act("proposed" if propose else "new", memory)
        return batch

    def settled(self, settlement: Settlement) -> Self:
        """Returns the batch with what the verdicts revise and close."""
        batch = replace(
            self,
            revised=(*self.revised, *settlement.revised.values()),
            closed=(*self.closed, *settlement.closed.values()),
        )
        for action in settlement.actions:
            batch = batch.act(action.name, action.memory, **action.more)
        return batch

    def report(self) -> dict[str, Json]:
        return {"actions": list(self.actions), "rejected": dict(self.rejected)}
