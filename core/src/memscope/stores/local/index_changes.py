"""Changes of a user's index since a revision, read in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from memscope.errors import StoreCorrupt
from memscope.records import VectorSpace
from memscope.search.changes import Changes
from memscope.search.units import UNIT_STRUCT, units_version
from memscope.stores.local.transaction import Transaction

Key = TypeVar("Key")
T = TypeVar("T")
INDEX_ROWS_PER_PAGE = 500  # units or vectors; work on a page fits the CPU cache


def is_unchanged(tx: Transaction, name: str, revision: int, space: VectorSpace | None) -> bool:
    """Check, by reading one row, whether an index of this revision and space is up to date."""
    user = tx.find_user(name)
    if user is None:
        return revision == 0 and space == tx.spaces().serving
    return (user.revision, user.terms, tx.spaces().serving) == (revision, units_version, space)


def changes_since(tx: Transaction, name: str, since: int, *, current_only: bool = False) -> Changes | None:
    """Read the changes; with ``current_only``, None if the units have another ``units_version``."""
    user, space = tx.find_user(name), tx.spaces().serving
    if user is not None and current_only and user.terms != units_version:
        return None
    if user is None or user.revision == since:
        return _changes(space, since if user is not None else 0, whole=user is None and since > 0)
    whole = since == 0 or not user.floor <= since <= user.revision
    start = 0 if whole else since
    vectors = user.vectors_since(space, start) if space is not None else []
    gone = [] if whole else user.gone_since(start)
    return _changes(space, user.revision, user.units_since(start), gone, vectors, whole=whole)


def _changes(
    space: VectorSpace | None, revision: int, units: Iterable[tuple[bytes, bytes]] = (), gone: Sequence[int] = (),
    vectors: Iterable[tuple[int, bytes]] = (), *, whole: bool,
) -> Changes:  # fmt: skip
    import numpy as np

    from memscope.search.growing_array import GrowingArray
    from memscope.search.vectors import unpack

    pages = [(b"".join(columns), b"".join(terms)) for columns, terms in _pages(units)]
    dims, most = space.dims if space is not None else 0, 0
    if whole:
        most = sum(len(columns) for columns, _ in pages) // UNIT_STRUCT.size
    numbers = list[int]()
    growing = GrowingArray(np.empty((most, dims), np.int8), used=0)
    scale = GrowingArray(np.empty(most, np.float32), used=0)
    for seqs, rows in _pages(vectors):
        try:
            page, scales = unpack(rows, dims)
        except ValueError:
            hint = "run 'memscope reembed' to make all again"
            raise StoreCorrupt("a stored vector has the wrong length", hint=hint) from None
        growing.extend(page)
        scale.extend(scales)
        numbers += seqs
    return Changes(
        revision,
        units=pages,
        gone=np.array(gone, np.int64),
        vector_units=np.array(numbers, np.int64),
        vectors=growing.view,
        space=space,
        whole=whole,
        scale=scale.view,
    )


def _pages(rows: Iterable[tuple[Key, T]]) -> Iterator[tuple[Sequence[Key], Sequence[T]]]:
    """Yield small pages, so that their memory is reused: allocation is the main cost of a large scope."""
    left = iter(rows)
    while page := list(islice(left, INDEX_ROWS_PER_PAGE)):
        firsts, seconds = zip(*page, strict=True)
        yield firsts, seconds
