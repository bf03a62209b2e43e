"""Changes of a user's units between two revisions of a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memscope.records import Record, VectorSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Changes:
    """Update of a user's index from one revision to the next.

    ``units``: units written since, by ``seq``, as pairs of columns and terms (``search.units``) of several units each.
    ``gone``: ``seq`` of units removed since, including the old units of a changed record. ``whole``: the index must be
    rebuilt. ``vectors``: rows for ``vector_units`` in the active ``space``, as int8 with one ``scale`` each.
    """

    revision: int
    units: Sequence[tuple[bytes, bytes]]
    gone: NDArray[np.int64]
    vector_units: NDArray[np.int64]
    vectors: NDArray[np.int8]
    scale: NDArray[np.float32]
    space: VectorSpace | None
    whole: bool = False

    @property
    def columns(self) -> bytes:
        return b"".join(columns for columns, _ in self.units)

    @property
    def terms(self) -> bytes:
        return b"".join(terms for _, terms in self.units)


class RecordChanges(NamedTuple):
    """A page of a store's ``record_changes``: records written and ids removed, up to a revision."""

    revision: int
    records: Sequence[Record]
    gone: Sequence[str]
