"""Rules that every store applies alike: pure functions over loaded records, without I/O.

Times are microseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memscope.errors import Conflict, EmbeddingError, EmbeddingMismatch, InputError
from memscope.records import (
    LONGEST_WAIT_S,
    ChangeSet,
    Observation,
    Record,
    Revision,
    Stage,
    Turn,
    TurnInsert,
    VectorSpace,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLOCKS_APART_S = 60.0  # between the clocks of two hosts

# ---- whose records


def check_user(user: str, inserts: Iterable[TurnInsert], plan: ChangeSet | None) -> None:
    """Refuse the whole call if one of its records belongs to another user."""
    records = [(draft.turn.key, draft.turn.scope) for draft in inserts]
    if plan is not None:
        records += [(memory.id, memory.scope) for memory in plan.new]
    for id, scope in records:
        if scope.user != user:
            raise InputError(f"record {id!r} of user {scope.user!r} among those of {user!r}")


def check_revision(revision: Revision, stored: Record | None, *, sourced: bool) -> None:
    """Refuse to revise a memory that is not as expected; ``sourced``: all sources of its new version are stored."""
    memory = revision.memory
    as_read = stored is not None and not isinstance(stored, Turn) and stored.version == revision.expected
    if stored is None or not as_read or not sourced or stored.scope.user != memory.scope.user:
        raise Conflict(f"memory {memory.id!r} changed meanwhile", hint="read it again, then update")


# ---- what is looked at again, and by what


def waits_for(record: Record | None) -> Stage | None:
    """Returns the stage a new record waits for: statements and documents wait for none."""
    if isinstance(record, Turn):
        return None if record.statement else "consolidate"
    return "reflect" if isinstance(record, Observation) and record.current and record.name is None else None


def same_text(old: Record, new: Record) -> bool:
    """Whether the units of both give an embedder the same text, so that their vectors can be kept."""
    if isinstance(old, Turn) or isinstance(new, Turn):
        return False
    same_subject = getattr(old, "subject", "") == getattr(new, "subject", "")
    return (old.text, old.sources, old.said) == (new.text, new.sources, new.said) and same_subject


# ---- leases


def furthest(now: int, granted_s: float = LONGEST_WAIT_S) -> int:
    """Returns the latest end of a lease granted by now; a later one was written by a clock that ran ahead."""
    return now + int((granted_s + CLOCKS_APART_S) * 1e6)


def holds(until: int, now: int, granted_s: float = LONGEST_WAIT_S) -> bool:
    """Returns whether a lease, or a pause before the next attempt, that ends at ``until`` is still to be respected."""
    return now < until <= furthest(now, granted_s)


# ---- vectors


def check_space(space: VectorSpace) -> None:
    if space.dims < 1:
        raise InputError(f"vectors of {space.model!r} with {space.dims} numbers")


def check_replaceable(held: VectorSpace | None, space: VectorSpace) -> None:
    """``held`` is the space whose vectors the store has."""
    if held not in (None, space):
        raise EmbeddingMismatch(
            f"the store holds vectors of {describe(held)}, the embedder makes {describe(space)}",
            hint="configure the old model, or run 'memscope reembed'",
        )


def check_declared(target: VectorSpace | None, declared: VectorSpace | None) -> None:
    """A process with another embedder must not add vectors to the store's space, even if the lengths agree."""
    if target != declared:
        raise EmbeddingMismatch(f"the store takes vectors of {describe(target)}, not of {describe(declared)}")


def checked_vectors(
    vectors: Mapping[str, Sequence[float] | NDArray[np.float32]], space: VectorSpace | None
) -> dict[str, NDArray[np.float32]]:
    """The vectors as arrays; an error if one has another length or a number that half precision cannot hold."""
    import numpy as np

    arrays = {id: np.asarray(vector, np.float32) for id, vector in vectors.items()}
    for id, values in arrays.items():
        if space is None or values.shape != (space.dims,):
            raise EmbeddingMismatch(f"a vector of shape {values.shape} for {describe(space)}")
        if not np.all(np.abs(values) <= np.finfo(np.float16).max):
            raise EmbeddingError(f"the vector of unit {id!r} is not finite in half precision")
    return arrays


def describe(space: VectorSpace | None) -> str:
    return f"{space.model!r} with {space.dims} numbers" if space else "no model"
