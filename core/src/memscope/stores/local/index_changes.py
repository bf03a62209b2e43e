"""Changes of a user's index since a revision, read in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from memscope.errors import StoreCorrupt
from memscope.records import VectorSpace
from memscope.search.changes import Changes
from memscope.stores.local.transaction import Transaction
from memscope.text.units import units_version

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
PAGE = 1000  # units or vectors


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

    dims = space.dims if space is not None else 0
    columns, terms, numbers, data = bytearray(), bytearray(), list[int](), bytearray()
    for page in _pages(units):
        columns += b"".join([one for one, _ in page])
        terms += b"".join([one for _, one in page])
    for rows in _pages(vectors):
        if any(len(row) != 2 * dims for _, row in rows):
            raise StoreCorrupt("a stored vector has another length", hint="run 'memscope reembed' to make all anew")
        numbers += [unit for unit, _ in rows]
        data += b"".join([row for _, row in rows])
    found: NDArray[np.float16] = np.frombuffer(data, "<f2")
    return Changes(
        revision,
        columns=columns,
        terms=terms,
        gone=np.array(gone, np.int64),
        vector_units=np.array(numbers, np.int64),
        vectors=found.reshape(len(numbers), dims).astype(np.float16, copy=False),
        space=space,
        whole=whole,
    )


def _pages(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield so few rows at a time that their memory serves again: what a large scope costs most is fresh memory."""
    left = iter(rows)
    while page := list(islice(left, PAGE)):
        yield page
