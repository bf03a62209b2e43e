"""The primitives of a local store: a transaction, and one user's part of it.

Both see their own writes. Decisions are made by ``rules.py``; the functions in ``records.py`` and ``jobs.py`` call
these primitives accordingly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memscope.records import Block, ChangeSet, Claim, Handle, Receipt, Record, Select, Stage, Stats, VectorSpace
from memscope.search.units import Unit
from memscope.stores import RecordKey
from memscope.stores.rules import Batch, Memory
from memscope.stores.spaces import Spaces


@dataclass(slots=True)
class Row:
    """A stored record: its number, its units ``[unit, unit + units)``, and ``MemoryState.valid_to``."""

    number: int
    record: Record
    unit: int = 0
    units: int = 0
    valid_to: datetime | None = None


class RecordRows(Protocol):
    """The reads of ``records.fetch``."""

    def find(self, handles: Iterable[Handle]) -> dict[Handle, Row]:
        """Return rows by id (str) or number (int); unknown ones are left out."""

    def derived(self, numbers: Iterable[int]) -> list[tuple[int, Row]]:
        """Return pairs of a source's number and a memory derived from it, by the memory's number."""


class UserTransaction(RecordRows, Protocol):
    """One user's records. ``number`` and ``revision`` are the last ones assigned; the caller increments them.

    Units, removals and vectors share one sequence of revisions: all that is newer than a revision has a higher one. An
    index older than ``floor`` is rebuilt. ``terms`` is the ``units_version`` of the units. All four are stored with the
    user. ``space`` is the space of new vectors.
    """

    number: int
    revision: int
    floor: int
    terms: str

    @property
    def space(self) -> VectorSpace | None: ...

    # ---- records

    def known(self, ids: Iterable[str]) -> dict[str, int]:
        """Map ids to record numbers, 0 for a tombstone; unknown ids are left out."""

    def superseded(self, ids: Iterable[str]) -> list[Row]:
        """Return the memories that were superseded by one of these ids."""

    def holders(self, name: str, namespace: str | None) -> list[Row]:
        """Return the current memories with this name."""

    def select(self, select: Select, after: int) -> tuple[list[Row], int | None]:
        """Return a page of selected rows with numbers above ``after``, and the next page's ``after``, if any."""

    def keys(self, select: Select) -> list[RecordKey]:
        """Return the keys of all selected records, by number."""

    def put(self, row: Row, sources: Sequence[int], units: Sequence[Unit]) -> None:
        """Insert or replace a record with its units, under its number."""

    def remove(self, row: Row) -> None:
        """Remove a record, its earlier versions and its items of consolidate and reflect, after ``drop_units``."""

    def older(self, number: int) -> list[Memory]:
        """Return the archived versions of a memory, oldest first."""

    def keep_older(self, number: int, memory: Memory) -> None: ...

    def add_tombstones(self, ids: Iterable[str]) -> None: ...

    def tombstones(self) -> list[str]:
        """Return the tombstones, sorted."""

    def receipts(self) -> list[Receipt]:
        """Return the receipts in any order."""

    def put_receipt(self, receipt: Receipt) -> None:
        """Store a receipt unless its id exists."""

    def drop_receipts(self) -> None: ...

    # ---- blocks

    def blocks(self, *, versions: bool = False) -> list[Block]:
        """Return the last version of each block, or all versions, by agent (none first), label and version."""

    def put_block(self, block: Block) -> None:
        """Insert or replace one version."""

    def drop_block(self, block: Block) -> None: ...

    # ---- units and vectors

    def drop_units(self, row: Row) -> None:
        """Remove a record's units with their vectors and items, in batches too; record the removal at ``revision``."""

    def units_since(self, revision: int) -> Iterable[tuple[bytes, bytes]]:
        """Return columns and terms of units above a revision, in order; one pair may hold several units, joined."""

    def gone_since(self, revision: int) -> list[int]:
        """Return the units removed after a revision."""

    def rows_of(self, units: Iterable[int]) -> list[Row]:
        """Return the records of these units."""

    def vectors(self, row: Row) -> list[tuple[VectorSpace, int, bytes]]:
        """Return space, unit and bytes of a record's vectors."""

    def put_vector(self, space: VectorSpace, unit: int, data: bytes) -> None:
        """Store a vector at ``revision``, unless its unit was removed."""

    def vectors_since(self, space: VectorSpace, revision: int) -> Iterable[tuple[int, bytes]]:
        """Return unit and bytes of the vectors stored after a revision, by unit."""

    # ---- work: items are numbers of records, of units for the stage embed

    def enqueue(self, stage: Stage, items: Sequence[int]) -> None:
        """Add items and make the stage due now; ``set_due`` overrides that."""

    def dequeue(self, stage: Stage, items: Iterable[int], *, batched: bool = False) -> None:
        """Remove items; those in a batch only with ``batched``."""

    def waiting(self, stage: Stage, limit: int, *, by_said: bool = False) -> list[int]:
        """Return the first unbatched items, by number or, with ``by_said``, by the time they were said."""

    def batches(self) -> list[Batch]:
        """Return unfinished batches, oldest first."""

    def form(self, stage: Stage, items: Sequence[int]) -> Batch:
        """Move waiting items into a new batch."""

    def items(self, batch: Batch) -> list[int]: ...

    def save(self, batch: Batch) -> None: ...

    def reply(self, batch: Batch) -> ChangeSet | None: ...

    def keep_reply(self, batch: Batch, change_set: ChangeSet | None) -> None: ...

    def end(self, batch: Batch, *, done: bool) -> None:
        """Delete the batch; its remaining items wait again. If done, ``was_done`` is true for a day."""

    def was_done(self, claim: Claim) -> bool: ...

    def set_due(self, stage: Stage, when: int | None) -> None:
        """Set when the stage can next be claimed, None without work; ``Transaction.due_users`` reads it."""


class Transaction(Protocol):
    """A transaction over all users."""

    @property
    def now(self) -> int:
        """The store's clock, in microseconds since 1970."""

    def user(self, name: str) -> UserTransaction:
        """Return a user's part, created if missing."""

    def find_user(self, name: str) -> UserTransaction | None: ...

    def users(self, *, forgotten: bool = False) -> list[str]:
        """Return users with records or blocks, sorted; ``forgotten``: also those with tombstones or receipts."""

    def due_users(self, stage: Stage) -> list[str]:
        """Return users whose stage is due, longest first; at least ``USERS_PER_CLAIM`` of them, if there are."""

    def parked_users(self) -> list[str]: ...

    def stats(self, user: str | None) -> Stats: ...

    def secret(self) -> bytes: ...

    def set_secret(self, secret: bytes) -> None: ...

    def is_used(self) -> bool:
        """Return whether any record was ever stored."""

    # ---- vector spaces

    def spaces(self) -> Spaces: ...

    def set_spaces(self, spaces: Spaces) -> None:
        """Set the spaces and remove vectors of all others."""

    def has_vectors(self) -> bool: ...

    def fill(self) -> None:
        """Reset stage embed: end its batches; its items are the units without a vector in the target space."""

    def is_filled(self) -> bool:
        """Return whether no unit waits for its vector in the target space, and ``spaces.is_complete``."""

    def renew_indexes(self) -> None:
        """Raise every user's ``revision`` by one, and ``floor`` to the same, so that indexes are rebuilt."""
