"""Exact search for local stores: ``LocalSearch`` implements ``search`` on a store's ``changes`` and ``keys``.

For each user, a ``ScopeIndex`` turns changes into a ``Snapshot`` (``snapshot.py``), which ``candidates.py`` searches.
The first query scans; repeated queries sort the index first. The cost depends only on this user's memory.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from memscope.records import Candidates, Search, Select, VectorSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memscope.search.changes import Changes
    from memscope.search.snapshot import ScopeIndex, Snapshot

MAX_INLINE_ROWS = 20_000  # larger snapshots are searched in a thread
SORT_AT_ONCE = 300_000  # in terms; larger indexes are sorted in the background
MAX_UNSORTED_TERMS = 2_000  # larger tails are sorted first, from an eighth of the terms in a large scope


@dataclass(slots=True)
class CachedIndex:
    index: ScopeIndex
    snapshot: Snapshot


class IndexCache:
    """LRU cache of users' indexes, limited in bytes; the latest one always stays."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[str, CachedIndex] = OrderedDict()
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        return self._bytes

    def get(self, user: str) -> CachedIndex | None:
        entry = self._entries.get(user)
        if entry is not None:
            self._entries.move_to_end(user)
        return entry

    def put(self, user: str, entry: CachedIndex) -> None:
        self.drop(user)
        self._entries[user] = entry
        self._bytes += entry.snapshot.nbytes
        while self._bytes > self._limit and len(self._entries) > 1:
            self.drop(next(iter(self._entries)))

    def drop(self, user: str) -> None:
        entry = self._entries.pop(user, None)
        self._bytes -= entry.snapshot.nbytes if entry else 0

    def clear(self) -> None:
        self._entries.clear()
        self._bytes = 0


class LocalSearch:
    """Mixin for local stores: ``search`` on top of ``changes`` and ``keys``.

    Each record of a user has a unique number that is never reused. Units contain it, and ``search`` returns it as a
    handle for ``fetch``.
    """

    def __init__(self, *, index_cache_mb: int = 256) -> None:
        self._cache = IndexCache(index_cache_mb << 20)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._sorting: dict[str, asyncio.Task[None]] = {}

    async def changes(self, user: str, since: int) -> Changes:
        """Return the changes since a revision (0: everything); cheap if nothing changed."""
        raise NotImplementedError

    async def is_unchanged(self, user: str, revision: int, space: VectorSpace | None) -> bool:
        """Return whether an index of this revision and space is up to date; False if only ``changes`` can tell."""
        return False

    async def keys(self, select: Select) -> Sequence[tuple[Any, ...]]:
        """Return the keys of the selected records; ``number`` is the handle."""
        raise NotImplementedError

    async def search(self, search: Search) -> Candidates:
        import numpy as np

        from memscope.search import candidates

        user = search.scope.user
        excluded: NDArray[np.int64] = np.zeros(0, np.int64)
        allowed: NDArray[np.int64] | None = None
        if search.exclude:
            excluded = np.array([key[0] for key in await self.keys(Select(user, ids=search.exclude))], np.int64)
        if search.filter:
            allowed = np.array([key[0] for key in await self.keys(Select(user, filter=search.filter))], np.int64)
        snapshot = await self._fresh(user)
        snapshot = self._sort_when_asked_again(user, snapshot)
        if snapshot.rows <= MAX_INLINE_ROWS:
            return candidates.search(snapshot, search, excluded, allowed)
        return await asyncio.to_thread(candidates.search, snapshot, search, excluded, allowed)

    # updating

    async def _fresh(self, user: str) -> Snapshot:
        entry = self._cache.get(user)
        if entry is not None and await self.is_unchanged(user, entry.snapshot.revision, entry.snapshot.space):
            return entry.snapshot
        # in its own task: cancelling the caller leaves no index half extended
        return await asyncio.shield(asyncio.create_task(self._refresh(user), name="memscope-index"))

    async def _refresh(self, user: str) -> Snapshot:
        """Read the changes once for all concurrent callers, under the user's lock."""
        lock = self._locks.setdefault(user, asyncio.Lock())
        async with lock:
            entry = self._cache.get(user)
            if entry is not None and entry.snapshot.wasteful:
                entry = None
            changes = await self.changes(user, entry.snapshot.revision if entry else 0)
            if entry is not None and not changes.whole:
                if changes.space != entry.snapshot.space:
                    changes = await self.changes(user, 0)
                elif changes.revision == entry.snapshot.revision:
                    return entry.snapshot
            self._cache.drop(user)  # not in the cache while inconsistent
            entry = await self._extended(None if changes.whole else entry, changes)
            self._cache.put(user, entry)
            return entry.snapshot

    async def _extended(self, entry: CachedIndex | None, changes: Changes) -> CachedIndex:
        from memscope.search.snapshot import ScopeIndex

        index, before = (entry.index, entry.snapshot) if entry else (ScopeIndex(), None)
        if sum(len(terms) for _, terms in changes.units) + changes.vectors.nbytes < 1 << 16:
            return CachedIndex(index, index.extend(changes, before))
        return CachedIndex(index, await asyncio.to_thread(index.extend, changes, before))

    # ---- sorting

    def _sort_when_asked_again(self, user: str, snapshot: Snapshot) -> Snapshot:
        snapshot.asked[0] += 1
        many = snapshot.unsorted > max(MAX_UNSORTED_TERMS, len(snapshot.terms) // 8)
        if snapshot.asked[0] < 2 or not (many or snapshot.vectors.is_narrow):
            return snapshot
        if len(snapshot.terms) <= SORT_AT_ONCE and not snapshot.vectors.is_narrow:
            return self._adopt(user, snapshot.sorted())
        if user not in self._sorting:
            task = asyncio.create_task(self._sort(user, snapshot), name="memscope-sort")
            self._sorting[user] = task
            task.add_done_callback(lambda _: self._sorting.pop(user, None))
        return snapshot

    async def _sort(self, user: str, snapshot: Snapshot) -> None:
        self._adopt(user, await asyncio.to_thread(snapshot.sorted))

    def _adopt(self, user: str, snapshot: Snapshot) -> Snapshot:
        """Transfer sorted postings and float32 vectors to the current snapshot, if it extends the sorted one."""
        entry = self._cache.get(user)
        if entry is not None and entry.snapshot.asked is snapshot.asked:
            self._cache.put(user, CachedIndex(entry.index, entry.index.adopt(snapshot, entry.snapshot)))
        return snapshot
