"""The primitives of a local store: a transaction, and one user's part of it.

Both see their own writes. Decisions are made by ``rules.py``; the functions in ``records.py`` and ``jobs.py`` call
these primitives accordingly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memscope.records import (
    Block,
    ChangeSet,
    Claim,
    Handle,
    Receipt,
    Record,
    Select,
    Stage,
    Stats,
    VectorSpace,
)
from memscope.stores import RecordKey
from memscope.stores.rules import Batch, Memory
from memscope.stores.spaces import Spaces
from memscope.text.units import Unit


@dataclass(slots=True)
class Row:
    """A stored record: its number, its units ``[unit, unit + units)``, and ``MemoryState.valid_to``."""

    number: int
    record: Record
    unit: int = 0
    units: int = 0
    valid_to: datetime | None = None


class UserTransaction(Protocol):
    """One user's records. ``number`` and ``revision`` are the last ones given; the caller increments them.

    A revision is the number of a unit, of a removal or of a vector, whichever came last: anything newer than a revision
    has a higher one. An index that is behind ``floor`` starts anew. ``terms`` is the ``units_version`` the units were
    made with. All four are stored with the user. ``space`` is the space of new vectors.
    """

    number: int
    revision: int
    floor: int
    terms: str

    @property
    def space(self) -> VectorSpace | None: ...

    # ---- records

    def find(self, handles: Iterable[Handle]) -> dict[Handle, Row]:
        """Returns rows by id (str) or number (int); unknown ones are left out."""

    def known(self, ids: Iterable[str]) -> dict[str, int]:
        """Returns the record's number of each id stored, 0 for a tombstone; others are left out."""

    def derived(self, numbers: Iterable[int]) -> list[tuple[int, Row]]:
        """Returns pairs of a source's number and a memory that names it, by the memory's number."""

    def superseded(self, ids: Iterable[str]) -> list[Row]:
        """Returns the memories that one of these superseded."""

    def holders(self, name: str, namespace: str | None) -> list[Row]:
        """Returns the current memories with this name."""

    def select(self, select: Select, after: int) -> tuple[list[Row], int | None]:
        """Returns a page of selected rows with numbers above ``after``, and the start of the next page, if any."""

    def keys(self, select: Select) -> list[RecordKey]:
        """Returns the keys of all selected records, by number."""

    def put(self, row: Row, sources: Sequence[int], units: Sequence[Unit]) -> None:
        """Store a record under its number, new or in place of its earlier version, with its units."""

    def remove(self, row: Row) -> None:
        """Remove a record, its earlier versions and its items of consolidate and reflect; its units went before."""

    def older(self, number: int) -> list[Memory]:
        """Returns earlier versions of a memory, oldest first."""

    def keep_older(self, number: int, memory: Memory) -> None: ...

    def bury(self, ids: Iterable[str]) -> None:
        """Leave tombstones."""

    def tombstones(self) -> list[str]:
        """Returns tombstones, sorted."""

    def receipts(self) -> list[Receipt]:
        """Returns the receipts of what was forgotten, in any order."""

    def put_receipt(self, receipt: Receipt) -> None:
        """Store a receipt, unless its id is there."""

    def drop_receipts(self) -> None: ...

    # ---- blocks

    def blocks(self, *, versions: bool = False) -> list[Block]:
        """Returns the last version of each block, or all versions, by agent (none first), label and version."""

    def put_block(self, block: Block) -> None:
        """Store a version, new or in place of the same one."""

    def drop_block(self, block: Block) -> None:
        """Remove a version."""

    # ---- units and vectors

    def drop_units(self, row: Row) -> None:
        """Remove a record's units with their vectors and items (those in batches too); gone at ``revision``."""

    def units_since(self, revision: int) -> Iterable[tuple[bytes, bytes]]:
        """Returns columns and terms of the units with higher numbers, in order; they are read in the transaction."""

    def gone_since(self, revision: int) -> list[int]:
        """Returns the units removed later."""

    def rows_of(self, units: Iterable[int]) -> list[Row]:
        """Returns the records of these units."""

    def vectors(self, row: Row) -> list[tuple[VectorSpace, int, bytes]]:
        """Returns space, unit and float16 numbers of all the record's vectors."""

    def put_vector(self, space: VectorSpace, unit: int, data: bytes) -> None:
        """Store a vector at ``revision``; ignored if the unit was removed."""

    def vectors_since(self, space: VectorSpace, revision: int) -> Iterable[tuple[int, bytes]]:
        """Returns units and numbers of the vectors stored later, in the order of the units."""

    # ---- work: items are numbers of records, of units for the stage embed

    def enqueue(self, stage: Stage, items: Sequence[int]) -> None:
        """Add new items; the stage is due now unless ``set_due`` set another time."""

    def dequeue(self, stage: Stage, items: Iterable[int], *, batched: bool = False) -> None:
        """Remove items that are in no batch; with ``batched`` the others too."""

    def waiting(self, stage: Stage, limit: int) -> list[int]:
        """Returns the first items that are in no batch."""

    def batches(self) -> list[Batch]:
        """Returns unfinished batches, oldest first."""

    def form(self, stage: Stage, items: Sequence[int]) -> Batch:
        """Make a new batch of waiting items."""

    def items(self, batch: Batch) -> list[int]: ...

    def save(self, batch: Batch) -> None:
        """Store the batch's state."""

    def reply(self, batch: Batch) -> ChangeSet | None: ...

    def keep_reply(self, batch: Batch, change_set: ChangeSet | None) -> None: ...

    def end(self, batch: Batch, *, done: bool) -> None:
        """End the batch and remove its items; if done, ``was_done`` knows it for a day."""

    def was_done(self, claim: Claim) -> bool: ...

    def set_due(self, stage: Stage, when: int | None) -> None:
        """Set the time the stage can be claimed next; None when it has nothing. ``Transaction.due_users`` reads it."""


class Transaction(Protocol):
    """A transaction over all users."""

    @property
    def now(self) -> int:
        """Returns microseconds, by the store's clock."""

    def user(self, name: str) -> UserTransaction:
        """Returns the part of a user, stored or new."""

    def find_user(self, name: str) -> UserTransaction | None: ...

    def users(self, *, forgotten: bool = False) -> list[str]:
        """Returns the users with records or blocks, sorted; ``forgotten``: those too with tombstones or receipts."""

    def due_users(self, stage: Stage) -> list[str]:
        """Returns users whose stage is due, longest first, enough for one claim; too many are harmless."""

    def parked_users(self) -> list[str]: ...

    def stats(self, user: str | None) -> Stats: ...

    def secret(self) -> bytes: ...

    def set_secret(self, secret: bytes) -> None: ...

    def is_used(self) -> bool:
        """Returns whether a record was ever stored."""

    # ---- vector spaces

    def spaces(self) -> Spaces: ...

    def set_spaces(self, spaces: Spaces) -> None:
        """Set the spaces; vectors of other spaces are removed."""

    def has_vectors(self) -> bool: ...

    def fill(self) -> None:
        """Make every unit without a vector in the target space an item of embed, and no other; its batches end."""

    def is_filled(self) -> bool:
        """Returns whether every unit has a vector in the target space."""

    def renew_indexes(self) -> None:
        """Raise every user's ``revision`` by one, and ``floor`` to it."""
