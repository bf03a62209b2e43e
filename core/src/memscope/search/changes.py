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

    ``columns`` and ``terms`` are the concatenated bytes (``search.units``) of the units written since, by ``seq``.
    ``gone`` are the ``seq`` of units removed since, a changed record's old units included. ``whole``: the index has to
    be rebuilt. ``vectors`` are the rows for ``vector_units`` in the active ``space``.
    """

    revision: int
    columns: bytes | bytearray
    terms: bytes | bytearray
    gone: NDArray[np.int64]
    vector_units: NDArray[np.int64]
    vectors: NDArray[np.float16]
    space: VectorSpace | None
    whole: bool = False


class RecordChanges(NamedTuple):
    """Records written and ids removed up to a revision: a page of a store's ``record_changes``."""

    revision: int
    records: Sequence[Record]
    gone: Sequence[str]
