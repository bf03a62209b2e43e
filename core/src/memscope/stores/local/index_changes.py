"""Changes of a user's index since a revision, read in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from memscope.errors import StoreCorrupt
from memscope.records import VectorSpace
from memscope.search.changes import Changes
from memscope.stores.local.transaction import Transaction
from memscope.text.units import PACKED, units_version

S = TypeVar("S")
T = TypeVar("T")
PAGE = 200  # units or vectors


def unchanged(tx: Transaction, name: str, since: int) -> Changes | None:
    """Returns empty changes if there are none, after reading one row."""
    user = tx.find_user(name)
    same = user is not None and (user.revision, user.terms) == (since, units_version)
    return _made(tx.spaces().serving, since) if same else None


def changes_since(tx: Transaction, name: str, since: int, *, current_only: bool = False) -> Changes | None:
    """Returns None if units are older than today's terms."""
    user, space = tx.find_user(name), tx.spaces().serving
    if user is not None and current_only and user.terms != units_version:
        return None
    if user is None or user.revision == since:
        return _made(space, since if user is not None else 0)
    whole = since == 0 or not user.floor <= since <= user.revision
    start = 0 if whole else since
    vectors = user.vectors_since(space, start) if space is not None else []
    gone = [] if whole else user.gone_since(start)
    return _made(space, user.revision, user.units_since(start), gone, vectors, whole=whole)


def _made(
    space: VectorSpace | None,
    revision: int,
    units: Iterable[tuple[bytes, bytes]] = (),
    gone: Sequence[int] = (),
    vectors: Iterable[tuple[int, bytes]] = (),
    *,
    whole: bool = False,
) -> Changes:
    import numpy as np

    from memscope.search.growing import Growing

    columns, terms, numbers = bytearray(), bytearray(), list[int]()
    for some_columns, some_terms in _pages(units):
        columns += b"".join(some_columns)
        terms += b"".join(some_terms)
    dims, most = space.dims if space is not None else 0, len(columns) // PACKED.size if whole else 0
    found = Growing(np.empty((most, dims), np.float16), used=0)
    for seqs, rows in _pages(vectors):
        if set(map(len, rows)) != {2 * dims}:
            raise StoreCorrupt("a stored vector has another length", hint="run 'memscope reembed' to make all anew")
        numbers += seqs
        found.extend(np.frombuffer(b"".join(rows), "<f2").reshape(len(rows), dims))
    return Changes(
        revision,
        columns=columns,
        terms=terms,
        gone=np.array(gone, np.int64),
        vector_units=np.array(numbers, np.int64),
        vectors=found.view,
        space=space,
        whole=whole,
    )


def _pages(rows: Iterable[tuple[S, T]]) -> Iterator[tuple[Sequence[S], Sequence[T]]]:
    """Yield so few rows at a time that their memory serves again: what a large scope costs most is fresh memory."""
    left = iter(rows)
    while page := list(islice(left, PAGE)):
        firsts, seconds = zip(*page, strict=True)
        yield firsts, seconds
