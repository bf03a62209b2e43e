"""What a store is. ``memory.py`` is the reference to read first; ``memscope.testing.StoreSuite`` states the whole
contract.

A store keeps the records of many users and never looks at another user's to answer for one. A local store gets
``search`` from ``search/local.py``; everything else is below. Every method may be called at once from many tasks; a
call is done wholly or not at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from memscope.records import (
    AppendResult,
    Candidates,
    ChangeSet,
    Claim,
    FetchResult,
    ForgetReport,
    Handle,
    Insight,
    Observation,
    Record,
    Search,
    Select,
    Stage,
    Stats,
    TurnInsert,
    VectorSpace,
)

ATOMIC = "atomic"  # a reader never sees half of a claim
BACKUP = "backup"  # backup() writes a copy of the whole store
PARK_AFTER = 5  # attempts


@runtime_checkable
class Store(Protocol):
    """Keeps records. Ids, keys and names mean something only with their user: a foreign one is a missing one."""

    @property
    def capabilities(self) -> frozenset[str]: ...

    async def open(self) -> None:
        """Connect, create or upgrade; called once before anything else, harmless when repeated."""

    async def close(self) -> None:
        """Everything acknowledged is durable; further calls raise ``ClosedError``."""

    async def secret(self) -> bytes:
        """The random secret of this store's turn keys; travels with export and copy."""

    async def adopt_secret(self, secret: bytes) -> bool:
        """Take over the secret of an imported store; False (and unchanged) when this store holds turns of its own."""

    # ---- turns and memories

    async def append(self, user: str, inserts: Sequence[TurnInsert], plan: ChangeSet | None = None) -> AppendResult:
        """Store turns, each at most once, with the units and the work that follow from them; durable on return.

        A key that exists is "duplicate", one that was forgotten is "forgotten"; both are left as they are. With
        ``plan``, its memories are written in the same step; turns in ``plan.done`` that are stored now wait for no
        consolidation, those that were here before wait on as they did.
        """

    async def apply(self, user: str, plan: ChangeSet) -> int:
        """Write new memories, close and revise old ones; the number that changed.

        Ids that exist, and memories closed before, are left alone. A new memory whose sources are not all here, or
        whose id was forgotten, is dropped. A ``name`` taken in its namespace is superseded by the new memory.
        ``Conflict`` when a revision expects another version: then nothing is written. Turns in ``plan.done``
        wait for no consolidation, observations for no reflection, unless a batch has them.
        """

    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        """Records by id, or by the handle that ``search`` gave; and what was derived from them (superseded too)."""

    async def history(self, user: str, id: str) -> list[Observation | Insight]:
        """Every version of a memory and of those that it superseded or that superseded it, oldest first."""

    def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        """Pages of records in the order they were stored, memory bounded; ``NotFound`` never, an empty scan instead."""

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        """Remove what is selected and all that was derived from it: records, units, vectors, saved replies.

        Leaves tombstones of keys and ids, reopens what a removed memory had superseded, gives the remaining sources
        back to the stage that derived the removed memory, and takes running work's lease where it touches any of it.
        """

    async def tombstones(self, user: str) -> list[str]:
        """The keys and ids that were forgotten, sorted."""

    async def bury(self, user: str, ids: Sequence[str]) -> None:
        """Tombstones that come from another store; what is here stays."""

    async def search(self, search: Search) -> Candidates:
        """The pool for the ranking: the best 150 by window BM25, 75 in the period, 75 of the user's, 100 by cosine."""

    async def users(self) -> list[str]: ...

    async def searchable(self, user: str) -> None:
        """Returns once every process's search sees what was acknowledged; at once where that is always so."""

    async def stats(self, user: str | None = None) -> Stats: ...

    # ---- work

    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        """At most one claim a user: its oldest unfinished batch, else a new one of up to ``limit`` pending items.

        Consolidate and reflect share one live lease a user. Failed batches wait for their ``not_before``; a batch with
        a saved reply comes with it. Up to 8 users at once when ``user`` is None. A lease or ``not_before`` more than
        ``LONGEST_WAIT_S`` ahead was written by a clock that ran ahead: it is void (``rules.holds``).
        """

    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        """``LeaseLost`` when somebody else has it."""

    async def save_reply(self, claim: Claim, plan: ChangeSet) -> None:
        """Keep what the model's reply led to, before it is written. ``LeaseLost`` as above."""

    async def complete(self, claim: Claim, plan: ChangeSet | None = None) -> int:
        """Apply the plan (the saved one by default) and mark ``plan.done``, in one step; the number of new memories.

        Items that are not in ``done`` are pending again. ``LeaseLost`` as above; completed before is 0.
        """

    async def fail(self, claim: Claim, code: str, not_before: datetime, *, counted: bool = True) -> None:
        """Give the batch back with the error's code; parked after ``PARK_AFTER`` attempts, visible, never dropped.

        ``counted=False``: the attempt brings it no nearer to that; an endpoint that is down is not the batch's fault.
        """

    async def give_back(self, claim: Claim) -> None:
        """Leave the batch as it was before the claim: a preview, or a worker that stops. ``LeaseLost`` as above."""

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        """Parked batches are pending again."""

    # ---- vectors

    async def use_space(self, space: VectorSpace, *, replace: bool = False) -> None:
        """Declare the embedder. ``EmbeddingMismatch`` when vectors of another space are here, unless ``replace``:
        then they serve until the new ones are complete (stage embed fills them)."""

    # ---- the whole

    async def backup(self, path: Path) -> None:
        """A consistent copy while others write (capability ``backup``)."""

    async def compact(self) -> ForgetReport:
        """Finish what ``forget`` could not wipe at once."""


__all__ = ["ATOMIC", "BACKUP", "PARK_AFTER", "Store"]
