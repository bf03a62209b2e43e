"""A removal as a store has planned it, and its receipt."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Generic, Literal, TypeVar

from memscope.records import ForgetReport, Insight, Observation, Receipt, Scope, Select, Turn
from memscope.stores.block_rules import BlockRemoval
from memscope.stores.rules import HasRecord

MOST_IDS = 1000  # of a receipt
R = TypeVar("R", bound=HasRecord)
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Removal(Generic[R, A]):
    """Records to remove, by id in storing order. ``again``: kept ones to derive from anew; ``vectors``: active ones."""

    rows: dict[str, R]
    again: Sequence[A]
    vectors: int
    blocks: BlockRemoval

    @property
    def changes(self) -> bool:
        return bool(self.rows or self.blocks.count)

    def report(
        self, *, dry_run: bool, physical: Literal["wiped", "pending"] = "wiped", reason: str = ""
    ) -> ForgetReport:
        """``physical`` is the state of the bytes once the removal is done, ``reason`` why they are still there."""
        records = [row.record for row in self.rows.values()]
        done = self.changes and not dry_run
        return ForgetReport(
            turns=sum(isinstance(record, Turn) for record in records),
            observations=sum(isinstance(record, Observation) for record in records),
            insights=sum(isinstance(record, Insight) for record in records),
            blocks=self.blocks.count,
            may_hold=self.blocks.may_hold,
            vectors=self.vectors,
            rederive=len(self.again),
            dry_run=dry_run,
            physical=physical if done else "none",
            reason=reason if done else "",
            ids=tuple(self.rows) if dry_run else (),
        )


def total(parts: Sequence[ForgetReport]) -> ForgetReport:
    """Returns one receipt for a removal that was done in parts."""
    counts = ("turns", "observations", "insights", "blocks", "vectors", "rederive")
    sums = {name: sum(getattr(part, name) for part in parts) for name in counts}
    may_hold = tuple(sorted({label for part in parts for label in part.may_hold}))
    last = next((part for part in parts if part.physical == "pending"), parts[0])
    return replace(last, **sums, may_hold=may_hold)


def is_whole(select: Select) -> bool:
    """Returns whether all of a user is selected."""
    return select == Select(select.user)


def receipt(select: Select, report: ForgetReport, ids: Iterable[str], at: datetime) -> Receipt:
    """Returns the receipt to keep. Ids can be telling, so none are repeated of a user who is forgotten wholly."""
    kept = () if is_whole(select) else tuple(islice(ids, MOST_IDS))
    scope = Scope(select.user, select.agent, select.session)
    counts = (report.turns, report.observations, report.insights, report.blocks)
    return Receipt(secrets.token_hex(8), scope, at, *counts, kept)
