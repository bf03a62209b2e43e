"""Cache the names read from each user's records, within limits, and follow the store's changes.

    changes of the store ──▶ records read again ──▶ each cached index ──▶ one query at a time

Long work runs in a thread; queries for one user wait for each other.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from memscope.entities.index import EntityIndex, EntityView
from memscope.entities.record_names import ReadRecords, read
from memscope.records import Record, Select
from memscope.stores import Store
from memscope.stores.rules import record_id

if TYPE_CHECKING:
    from memscope.search.changes import Changes, RecordChanges

# For all users together, about 1 KB each; the current user's are kept whatever their number. More of them lengthen
# the pauses of Python's garbage collector: about 150 ms for 40,000.
MAX_INDEXED_RECORDS = 100_000
MAX_VIEWS_PER_USER = 8  # cached indexes per user
MAX_INLINE_RECORDS = 1000  # up to this size a query is faster than a thread
MAX_INLINE_TURNS = 20  # up to this many, reading names is faster than a thread
RECORDS_PER_PAGE = 1000

T = TypeVar("T")
_ViewKey: TypeAlias = "tuple[str | None, str | None, datetime | None]"


class _User:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.reset()

    def reset(self) -> None:
        self.records = ReadRecords({}, {})
        self.revision = 0
        self.views: OrderedDict[_ViewKey, tuple[EntityIndex, set[str]]] = OrderedDict()  # with the ids changed since

    @property
    def ids(self) -> set[str]:
        return {*self.records.turns, *self.records.memories}

    def forget(self, ids: Iterable[str]) -> set[str]:
        """Drop the records of these ids and return those that were known."""
        turns, memories = self.records.turns, self.records.memories
        return {id for id in ids if turns.pop(id, None) is not None or memories.pop(id, None) is not None}


_users: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakKeyDictionary[Store, OrderedDict[str, _User]]]
_users = WeakKeyDictionary()


async def ask(store: Store, user: str, view: EntityView, query: Callable[[EntityIndex], T]) -> T:
    """Query the index of the user's current records, reading only what changed since the last query."""
    users = _users.setdefault(asyncio.get_running_loop(), WeakKeyDictionary()).setdefault(store, OrderedDict())
    known = users.setdefault(user, _User())
    users.move_to_end(user)
    # in its own task: cancelling the caller leaves no index half updated
    answer = await asyncio.shield(asyncio.create_task(_ask(store, user, known, view, query), name="memscope-names"))
    while len(users) > 1 and sum(one.records.size for one in users.values()) > MAX_INDEXED_RECORDS:
        users.popitem(last=False)
    return answer


async def _ask(store: Store, user: str, known: _User, view: EntityView, query: Callable[[EntityIndex], T]) -> T:
    async with known.lock:
        try:
            index = await _index(known, view, await _follow(store, user, known))
        except BaseException:
            known.reset()
            raise
        return query(index) if len(index.turns) < MAX_INLINE_RECORDS else await asyncio.to_thread(query, index)


async def _index(known: _User, view: EntityView, changed: set[str]) -> EntityIndex:
    for _, waiting in known.views.values():
        waiting |= changed
    key: _ViewKey = view[:3]
    if key not in known.views:
        known.views[key] = EntityIndex(view), known.ids
    known.views.move_to_end(key)
    while len(known.views) > MAX_VIEWS_PER_USER:
        known.views.popitem(last=False)
    index, waiting = known.views[key]
    if len(waiting) + len(index.turns) < MAX_INLINE_RECORDS:
        index.update(known.records, waiting, view.now)
    else:
        await asyncio.to_thread(index.update, known.records, waiting, view.now)
    waiting.clear()
    return index


# ------------------------------------------------------------------------------------------------------------ following


async def _follow(store: Store, user: str, known: _User) -> set[str]:
    """Bring the records up to date; return the ids that were added, changed or removed."""
    if (changes := getattr(store, "changes", None)) is not None:
        return await _follow_units(store, user, known, changes)
    before, seen, changed = known.ids, set[str](), set[str]()
    if (record_changes := getattr(store, "record_changes", None)) is not None:
        pages: AsyncIterator[RecordChanges] = record_changes(user, known.revision)
        async for written in pages:
            changed |= await _read(written.records, known) | known.forget(written.gone)
            known.revision = written.revision
        return changed
    async for page in store.scan(Select(user)):
        seen.update(map(record_id, page))
        changed |= await _read(page, known)
    return changed | known.forget(before - seen)


async def _follow_units(
    store: Store, user: str, known: _User, changes: Callable[[str, int], Awaitable[Changes]]
) -> set[str]:
    import numpy as np

    from memscope.search.snapshot import ROW_DTYPE, unique_values

    news = await changes(user, known.revision)
    if news.revision == known.revision:
        return set()
    if news.whole or news.revision < known.revision:
        known.reset()
        news = await changes(user, 0)
    known.revision = news.revision
    changed = known.forget(await store.tombstones(user) if len(news.gone) else ())
    numbers = [np.frombuffer(columns, ROW_DTYPE)["number"] for columns, _ in news.units]
    written: list[int] = unique_values(np.concatenate([np.zeros(0, np.int64), *numbers])).tolist()
    for start in range(0, len(written), RECORDS_PER_PAGE):
        records = (await store.fetch(user, written[start : start + RECORDS_PER_PAGE])).records
        changed |= await _read(list(records.values()), known)
    return changed


async def _read(page: Sequence[Record], known: _User) -> set[str]:
    ids = read(page, known.records)  # lazily, while the set is built
    return set(ids) if len(page) <= MAX_INLINE_TURNS else await asyncio.to_thread(set, ids)
