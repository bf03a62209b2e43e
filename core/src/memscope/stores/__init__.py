"""The contract of a store, tested by ``memscope.testing.StoreSuite``. ``memory.py`` is the reference to read first.

A store keeps the records of many users and never looks at another user's to answer for one. A local store gets
``search`` from ``search/local.py``; everything else is below. Every method may be called from many tasks at once; each
call is atomic.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from memscope.records import (
    AppendResult,
    Block,
    Candidates,
    ChangeSet,
    Claim,
    FetchResult,
    ForgetReport,
    Handle,
    Insight,
    Kind,
    Observation,
    Receipt,
    Record,
    Search,
    Select,
    Stage,
    Stats,
    TurnInsert,
    VectorSpace,
)

if TYPE_CHECKING:
    from pathlib import Path

ATOMIC = "atomic"  # a reader never sees half of a claim
BACKUP = "backup"  # backup() writes a copy of the whole store
PARK_AFTER = 5  # attempts


class RecordKey(NamedTuple):
    """Key of a record, for lists. ``number`` rises as records are stored; ``said`` in microseconds
    since 1970: when a turn was said, or the newest source of a memory.
    """

    number: int
    id: str
    kind: Kind
    said: int


@runtime_checkable
class Store(Protocol):
    """Keeps records. Ids, keys and names are valid only with their user: a foreign one is treated as missing."""

    @property
    def capabilities(self) -> frozenset[str]: ...

    async def open(self) -> None:
        """Connect, create or upgrade; called once before anything else, harmless when repeated."""

    async def close(self) -> None:
        """Release everything; acknowledged writes are durable, further calls raise ``ClosedError``."""

    async def secret(self) -> bytes:
        """Returns the random secret of this store's turn keys; it travels with export and copy."""

    async def adopt_secret(self, secret: bytes) -> bool:
        """Take over the secret of an imported store; False (and unchanged) when this store holds turns of its own."""

    # ---- turns and memories

    async def append(
        self, user: str, inserts: Sequence[TurnInsert], change_set: ChangeSet | None = None
    ) -> AppendResult:
        """Store turns, each at most once, with their units and pending work; durable on return.

        A key that exists is "duplicate", a forgotten one "forgotten"; both are left as they are. The memories of
        ``change_set`` are written in the same step; turns of its ``done`` that are stored now wait for no
        consolidation, those stored before wait on as they did.
        """

    async def apply(self, user: str, change_set: ChangeSet) -> int:
        """Write new memories, close and revise old ones; returns the number that changed.

        Ids that exist, and memories closed before, are left alone. A new memory with a missing source or a forgotten id
        is dropped. A ``name`` taken in its namespace is superseded by the new memory. ``Conflict`` when a revision
        expects another version: then nothing is written. Turns in ``done`` wait for no consolidation, observations
        for no reflection, unless a batch has them.
        """

    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        """Returns records by id, or by a handle of ``search``, and the memories derived from them (superseded too)."""

    async def history(self, user: str, id: str) -> list[Observation | Insight]:
        """Returns every version of a memory and of those linked to it by supersession, oldest first."""

    def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        """Returns pages of records in the order they were stored, in bounded memory; empty rather than ``NotFound``."""

    async def keys(self, select: Select) -> list[RecordKey]:
        """Returns the keys of what ``scan`` finds, in its order, without reading the records where it can."""

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        """Remove the selected records and all derived from them: records, units, vectors, saved replies.

        Leaves tombstones of keys and ids, reopens memories that a removed one had superseded, gives the remaining
        sources back to the stage that derived the removed memory, and ends the lease of running work that a removed
        record touches. Blocks go when named, and with everything of their user or agent; of the others the lines that
        rest on a removed record go, from the history too (``block_rules.without_sources``).
        """

    async def tombstones(self, user: str) -> list[str]:
        """Returns the keys and ids that were forgotten, sorted."""

    async def receipts(self, user: str) -> list[Receipt]:
        """Returns the receipts of what was forgotten, oldest first. That of a whole user replaces the earlier ones."""

    async def bury(self, user: str, ids: Sequence[str], receipts: Sequence[Receipt] = ()) -> None:
        """Add tombstones and receipts of another store; records stored here stay."""

    async def search(self, search: Search) -> Candidates:
        """Returns candidates: the best 150 by window BM25, 75 in the period, 75 of the user's, 100 by cosine."""

    async def users(self, *, forgotten: bool = False) -> list[str]:
        """Returns the users with records or blocks, sorted; ``forgotten``: those too with tombstones or receipts."""

    async def searchable(self, user: str) -> None:
        """Wait until every process's search sees all acknowledged writes; returns at once where it always does."""

    async def stats(self, user: str | None = None) -> Stats: ...

    # ---- blocks

    async def blocks(self, user: str, *, versions: bool = False) -> list[Block]:
        """Returns the present version of each block of all agents; ``versions``: every version, oldest first.

        Ordered by agent (none first) and label.
        """

    async def put_blocks(self, user: str, versions: Sequence[Block]) -> None:
        """Write new versions, all or none, durable on return.

        ``Conflict`` unless each is one above the stored version of its agent and label (1 for a new block), or if one
        of its ``sources`` was forgotten. ``LimitError`` for a value above its limit.
        """

    # ---- work

    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        """Lease at most one batch per user: the oldest unfinished one, else a new one of up to ``limit`` pending items.

        Consolidate and reflect share one live lease per user. Failed batches wait for their ``not_before``; a saved
        reply comes with its batch. Up to 8 users at once when ``user`` is None. A lease or ``not_before`` more than
        ``LONGEST_WAIT_S`` ahead was written by a clock that ran ahead: it is void (``rules.holds``).
        """

    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        """Extend the lease. ``LeaseLost`` when another worker has it."""

    async def save_reply(self, claim: Claim, change_set: ChangeSet) -> None:
        """Save the change set made from the model's reply, before it is applied; again: in the place of the last.

        ``LeaseLost`` as above.
        """

    async def complete(self, claim: Claim, change_set: ChangeSet | None = None) -> int:
        """Apply ``change_set``, else the saved one, and mark its ``done``, atomically; returns the number of new ones.

        Items that are not in ``done`` are pending again. ``LeaseLost`` as above; 0 if completed before.
        """

    async def fail(self, claim: Claim, code: str, not_before: datetime, *, counted: bool = True) -> None:
        """Give the batch back with the error's code; parked after ``PARK_AFTER`` attempts, visible, never dropped.

        ``counted=False``: the attempt does not count, since an endpoint that is down is not the batch's fault.
        """

    async def give_back(self, claim: Claim) -> None:
        """Undo the claim of a batch, for a preview or a worker that stops. ``LeaseLost`` as above."""

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        """Make parked batches pending again."""

    # ---- vectors

    async def use_space(self, space: VectorSpace, *, replace: bool = False) -> None:
        """Declare the embedder. ``EmbeddingMismatch`` if the store has vectors of another space, unless ``replace``.

        Replaced vectors serve until the new ones are complete (stage embed fills them).
        """

    # ---- the store

    async def backup(self, path: Path) -> None:
        """Write a consistent copy while others write (capability ``backup``)."""

    async def compact(self) -> ForgetReport:
        """Finish the wiping that ``forget`` had to leave pending."""


__all__ = ["ATOMIC", "BACKUP", "PARK_AFTER", "RecordKey", "Store"]
