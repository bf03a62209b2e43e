"""The ``Store`` protocol, tested by ``memscope_testing.StoreSuite``. Read ``memory.py`` first.

A store keeps the records of many users and reads only a user's own data to answer for that user. Local stores inherit
``search`` from ``search/local.py``. Methods may be called from many tasks at once; each call is atomic.
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

ATOMIC = "atomic"  # readers see all effects of a call, or none
BACKUP = "backup"  # backup() writes a copy of the whole store
MAX_ATTEMPTS = 5  # failed attempts after which a batch is parked


class RecordKey(NamedTuple):
    """Key of a record, for lists.

    ``number`` rises in storing order. ``said``: when the turn, or the newest source of the memory, was said,
    in microseconds since 1970.
    """

    number: int
    id: str
    kind: Kind
    said: int


@runtime_checkable
class Store(Protocol):
    """Storage of records, work and vectors. Ids, keys and names belong to one user and are unknown to others.

    Any method may raise ``StoreError`` if the store cannot be reached, read or written, and all but ``close`` raise
    ``ClosedError`` after ``close``.
    """

    @property
    def capabilities(self) -> frozenset[str]:
        """``ATOMIC``, ``BACKUP``, both or none."""

    async def open(self) -> None:
        """Connect, create or upgrade. Called before anything else; harmless when repeated.

        Raises:
            ConfigError: If the location cannot hold a store.
            StoreError: If it cannot be reached or upgraded (``StoreUnavailable``), is damaged or not memscope's
                (``StoreCorrupt``), or was written by a newer version (``StoreTooNew``).
        """

    async def close(self) -> None:
        """Release all resources. Acknowledged writes are durable; later calls raise ``ClosedError``. Never raises."""

    async def secret(self) -> bytes:
        """Read the secret of this store's turn keys; export and copy carry it along.

        Returns:
            16 to 64 random bytes, the same for the life of the store.

        Raises:
            StoreCorrupt: If the secret is gone.
            StoreError: If the store cannot be read.
        """

    async def adopt_secret(self, secret: bytes) -> bool:
        """Take over the secret of an imported store.

        Args:
            secret: Secret of the store that wrote the imported turns.

        Returns:
            Whether the store has this secret now; False if it already had records under another one.

        Raises:
            StoreError: If the store cannot be written.
        """

    # ---- turns and memories

    async def append(
        self, user: str, inserts: Sequence[TurnInsert], change_set: ChangeSet | None = None
    ) -> AppendResult:
        """Store turns, each at most once, with their units and pending work; durable on return.

        Args:
            user: Owner of all records.
            inserts: Turns in the order of the conversation.
            change_set: Memories to write in the same step. New turns in its ``done`` skip consolidation.

        Returns:
            Key and outcome per turn: "stored", "duplicate" (the key exists) or "forgotten" (it has a tombstone).

        Raises:
            InputError: If a record belongs to another user.
        """

    async def apply(self, user: str, change_set: ChangeSet) -> int:
        """Write new memories, close and revise existing ones, and take ``done`` from the pending work.

        Ids that exist, and memories closed before, are left alone. A new memory with a missing source or a forgotten id
        is dropped. A new memory with a ``name`` supersedes the current one of that name and namespace. Items of
        ``done`` that are in a batch stay there.

        Args:
            user: Owner of all records.
            change_set: Changes to apply, all or none.

        Returns:
            The number of memories that changed.

        Raises:
            Conflict: If a revision or ``expected`` expects another version, or an insight of ``reflect`` supersedes one
                that another insight has superseded; nothing is written.
            InputError: If a record belongs to another user.
        """

    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        """Read records, and all memories derived from them, superseded ones included.

        Args:
            user: Owner of the records.
            ids: Ids, or handles from ``search``; unknown ones are left out of the result.

        Returns:
            Records and derived memories by id or handle.

        Raises:
            StoreCorrupt: If a stored record is damaged.
            StoreError: If the store cannot be read.
        """

    async def history(self, user: str, id: str) -> list[Observation | Insight]:
        """Read every version of a memory and of those linked to it by supersession.

        Args:
            user: Owner of the memory.
            id: Id of the memory.

        Returns:
            The versions, oldest first; none for an unknown id.

        Raises:
            StoreCorrupt: If a stored record is damaged.
            StoreError: If the store cannot be read.
        """

    def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        """Yield pages of records in the order of storing, in bounded memory.

        Args:
            select: Conditions; a record must meet all of them.

        Returns:
            Non-empty pages; none if nothing is selected.

        Raises:
            StoreCorrupt: If a stored record is damaged.
            StoreError: If the store cannot be read.
        """

    async def keys(self, select: Select) -> list[RecordKey]:
        """Read the keys of the records of ``scan``, if possible without reading the records.

        Args:
            select: Conditions; a record must meet all of them.

        Returns:
            The keys in the order of storing.

        Raises:
            StoreError: If the store cannot be read.
        """

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        """Remove the selected records and everything derived from them: records, units, vectors, saved replies.

        Leaves tombstones of keys and ids, reopens memories that a removed one had superseded, takes back the ends that
        removed ones announced, makes the remaining sources of removed memories pending again, and ends leases of work
        on removed records. Removes blocks that are selected by label, or by their whole user or agent; from other
        blocks and their history it removes the lines that were written from removed records
        (``block_rules.without_sources``).

        Args:
            select: Conditions; a record must meet all of them.
            dry_run: Report what would be removed, and remove nothing.

        Returns:
            Counts, and whether the bytes are wiped from the medium yet.

        Raises:
            StoreFull: If there is too little room to remove everything; what was removed so far stays removed.
            StoreError: If the store cannot be written.
        """

    async def tombstones(self, user: str) -> list[str]:
        """Read the tombstones of forgotten records.

        Args:
            user: Owner of the records.

        Returns:
            Keys and ids, sorted.

        Raises:
            StoreError: If the store cannot be read.
        """

    async def receipts(self, user: str) -> list[Receipt]:
        """Read the receipts of ``forget``; forgetting a whole user replaces the earlier ones.

        Args:
            user: Owner of the records.

        Returns:
            The receipts, oldest first.

        Raises:
            StoreError: If the store cannot be read.
        """

    async def add_tombstones(self, user: str, ids: Sequence[str], receipts: Sequence[Receipt] = ()) -> None:
        """Add tombstones and receipts of another store.

        Args:
            user: Owner of the records.
            ids: Forgotten keys and ids; ids of records stored here are skipped.
            receipts: Receipts; known ids are skipped.

        Raises:
            StoreError: If the store cannot be written.
        """

    async def search(self, search: Search) -> Candidates:
        """Find candidates for a query; the caller ranks them.

        Args:
            search: Scope, terms, periods, vectors and conditions.

        Returns:
            The best units per channel (``search.candidates.POOL_SIZES``), as columns.

        Raises:
            StoreCorrupt: If a stored vector is damaged.
            StoreError: If the store cannot be read.
        """

    async def users(self, *, forgotten: bool = False) -> list[str]:
        """List the users of the store.

        Args:
            forgotten: Include users with only tombstones or receipts left.

        Returns:
            Users with records or blocks, sorted.

        Raises:
            StoreError: If the store cannot be read.
        """

    async def searchable(self, user: str) -> None:
        """Wait until ``search`` in every process sees all acknowledged writes.

        Args:
            user: Owner of the writes.

        Raises:
            StoreError: If they are not visible in time, or the store cannot be read.
        """

    async def stats(self, user: str | None = None) -> Stats:
        """Count records, work and vectors.

        Args:
            user: Count only this user's; None for all users.

        Returns:
            The counts.

        Raises:
            StoreError: If the store cannot be read.
        """

    # ---- blocks

    async def blocks(self, user: str, *, versions: bool = False) -> list[Block]:
        """Return the current version of each block by agent (none first) and label.

        Args:
            user: Owner of the blocks.
            versions: Return every version, oldest first.

        Returns:
            The blocks of all agents.

        Raises:
            StoreError: If the store cannot be read.
        """

    async def put_blocks(self, user: str, versions: Sequence[Block]) -> None:
        """Write new versions of blocks, all or none; durable on return.

        Args:
            user: Owner of the blocks.
            versions: Each has the stored version of its agent and label plus 1; 1 for a new block.

        Raises:
            Conflict: If a version does not follow the stored one, or one of its sources was forgotten.
            InputError: If a block belongs to another user.
            LimitError: If a value is longer than its block's limit.
        """

    # ---- work

    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        """Lease at most one batch per user: the oldest unfinished one, else a new one of pending items.

        A new batch takes the observations that were said first, in that order; turns and units in storing order.
        Consolidate and reflect share one live lease per user. Failed batches wait for their ``not_before``. A lease or
        ``not_before`` more than ``MAX_WAIT_S`` ahead comes from a wrong clock and is ignored (``rules.holds``).

        Args:
            stage: Kind of work.
            limit: Maximum number of items in a new batch.
            lease_s: Seconds until another worker may claim the batch.
            user: Claim for this user only; None for up to 8 users with work.

        Returns:
            Claims with the saved reply of their batch, if any.

        Raises:
            StoreError: If the store cannot be written.
        """

    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        """Extend a lease.

        Args:
            claim: A claim of ``claim`` or ``extend``.
            lease_s: Seconds from now.

        Returns:
            The claim with its new end.

        Raises:
            LeaseLost: If another worker has the batch.
        """

    async def save_reply(self, claim: Claim, change_set: ChangeSet) -> None:
        """Save the change set made from the model's reply, before applying it; replace an earlier one.

        Args:
            claim: The batch.
            change_set: Changes that ``complete`` will apply, also after a crash.

        Raises:
            LeaseLost: If another worker has the batch.
        """

    async def complete(self, claim: Claim, change_set: ChangeSet | None = None) -> int:
        """Apply a change set and end the batch, atomically; items not in ``done`` are pending again.

        Args:
            claim: The batch.
            change_set: Changes to apply; None for the saved reply.

        Returns:
            The number of new memories; 0 if the batch was completed before.

        Raises:
            Conflict: If a revision expects another version.
            EmbeddingError: If a vector is not of the declared space. As with all these errors, nothing is written.
            InputError: If a record belongs to another user.
            LeaseLost: If another worker has the batch.
        """

    async def fail(self, claim: Claim, code: str, not_before: datetime, *, counted: bool = True) -> None:
        """Give a batch back after an error; after ``MAX_ATTEMPTS`` attempts it is parked, never dropped.

        Args:
            claim: The batch.
            code: Code of the error, shown by ``stats``.
            not_before: Time of the next attempt.
            counted: False if the batch is not at fault, for instance when an endpoint is down.

        Raises:
            LeaseLost: If another worker has the batch.
        """

    async def give_back(self, claim: Claim) -> None:
        """Undo a claim, for a preview or a worker that stops.

        Args:
            claim: The batch.

        Raises:
            LeaseLost: If another worker has the batch.
        """

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        """Make parked batches pending again.

        Args:
            stage: Only of this stage.
            user: Only of this user.

        Returns:
            The number of batches.

        Raises:
            StoreError: If the store cannot be written.
        """

    # ---- vectors

    async def set_vector_space(self, space: VectorSpace, *, replace: bool = False) -> None:
        """Declare the embedder whose vectors this process writes.

        Args:
            space: Model and length of its vectors.
            replace: Replace another space. Its vectors serve searches until stage embed has filled the new one, apart
                from parked units (``spaces.is_complete``).

        Raises:
            EmbeddingMismatch: If the store has vectors of another space, unless ``replace``.
            InputError: If the space has no dimensions.
        """

    # ---- the store

    async def backup(self, path: Path) -> None:
        """Write a consistent copy while others write (capability ``BACKUP``).

        Args:
            path: A new file.

        Raises:
            InputError: If the file exists or cannot be written.
            StoreError: If the store has no backup.
        """

    async def compact(self) -> ForgetReport:
        """Finish the wiping that ``forget`` left pending.

        Returns:
            Whether the bytes are wiped from the medium now.

        Raises:
            StoreError: If the store cannot be written; bytes that cannot be wiped yet are only reported.
        """


__all__ = ["ATOMIC", "BACKUP", "MAX_ATTEMPTS", "RecordKey", "Store"]
