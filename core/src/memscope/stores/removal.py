"""The plan of a removal and its receipt."""

from __future__ import annotations

import secrets
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Generic, Literal, TypeVar

from memscope.records import ForgetReport, Insight, Observation, Receipt, Scope, Select, Turn
from memscope.stores.block_rules import BlockRemoval
from memscope.stores.rules import HasRecord, SomeRecord

MAX_RECEIPT_IDS = 1000
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Removal(Generic[SomeRecord, A]):
    """Records to remove, by id in storing order.

    ``again``: remaining sources to derive from again; ``vectors``: number of vectors in the serving space.
    """

    rows: dict[str, SomeRecord]
    again: Sequence[A]
    vectors: int
    blocks: BlockRemoval

    @property
    def changes(self) -> bool:
        return bool(self.rows or self.blocks.count)

    def report(
        self, *, dry_run: bool, physical: Literal["wiped", "pending"] = "pending", reason: str = ""
    ) -> ForgetReport:
        """``physical``: state of the bytes after the removal; ``reason``: why they are still there."""
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


def statements_of(fallen: Iterable[HasRecord], gone: Container[str]) -> set[str]:
    """List the sources of removed memories whose sources are all left: statements among them are removed too.

    If a memory was stated twice, removing one statement removes the memory and leaves the other statement.
    """
    memories = [row.record for row in fallen if not isinstance(row.record, Turn)]
    orphans = [memory for memory in memories if not any(source in gone for source in memory.sources)]
    return {source for memory in orphans for source in memory.sources}


def total(parts: Sequence[ForgetReport]) -> ForgetReport:
    """Add up the reports of a removal done in parts."""
    counts = ("turns", "observations", "insights", "blocks", "vectors", "rederive")
    sums = {name: sum(getattr(part, name) for part in parts) for name in counts}
    may_hold = tuple(sorted({label for part in parts for label in part.may_hold}))
    last = next((part for part in parts if part.physical == "pending"), parts[0])
    return replace(last, **sums, may_hold=may_hold)


def is_whole(select: Select) -> bool:
    return select == Select(select.user)


def receipt(select: Select, report: ForgetReport, ids: Iterable[str], at: datetime) -> Receipt:
    """Make the receipt to keep; without ids for a whole user, since ids can reveal content."""
    listed = () if is_whole(select) else tuple(islice(ids, MAX_RECEIPT_IDS))
    scope = Scope(select.user, select.agent, select.session)
    counts = (report.turns, report.observations, report.insights, report.blocks)
    whole = select == Select(select.user, select.agent, select.session)
    return Receipt(secrets.token_hex(8), scope, at, *counts, listed, whole)
