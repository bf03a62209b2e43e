"""Keep what was read of each user's records as long as the store's revision is the same, within a bound."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from memscope.entities.index import EntityIndex, EntityView, build
from memscope.entities.reading import ReadRecords, read
from memscope.records import Select
from memscope.stores import Store

MOST_RECORDS = 500_000  # of all users; the latest user's are kept whatever their number
MOST_VIEWS = 8  # of one user


@dataclass(slots=True)
class _Kept:
    revision: int | None
    records: ReadRecords
    views: OrderedDict[tuple[Any, ...], tuple[EntityIndex, datetime | None]] = field(default_factory=OrderedDict)


_users: WeakKeyDictionary[Store, OrderedDict[str, _Kept]] = WeakKeyDictionary()


async def load(store: Store, user: str, view: EntityView) -> EntityIndex:
    """Returns the index of the user's records as they are now; read anew only what changed since the last call."""
    users = _users.setdefault(store, OrderedDict())
    kept = users.get(user)
    revision = await _revision(store, user, kept.revision if kept else None)
    if kept is None or revision is None or kept.revision != revision:
        kept = _Kept(revision, await _read(store, user, kept.records if kept else ReadRecords({}, {})))
        users[user] = kept
    users.move_to_end(user)
    while len(users) > 1 and sum(one.records.size for one in users.values()) > MOST_RECORDS:
        users.popitem(last=False)
    return await _view(kept, view)


async def _revision(store: Store, user: str, since: int | None) -> int | None:
    """Returns the store's revision of this user; None where it has none, and nothing can be kept."""
    changes = getattr(store, "changes", None)
    return None if changes is None else (await changes(user, since or 0)).revision or None


async def _read(store: Store, user: str, known: ReadRecords) -> ReadRecords:
    records = ReadRecords({}, {})
    async for page in store.scan(Select(user)):
        await asyncio.to_thread(read, page, records, known)
    return records


async def _view(kept: _Kept, view: EntityView) -> EntityIndex:
    key = (view.agent, view.session, view.as_of)
    index, expires = kept.views.get(key, (None, None))
    if index is None or (expires is not None and expires <= view.now):
        index = await asyncio.to_thread(build, kept.records, view)
        ends = [one.expires for one in kept.records.memories.values() if one.expires and one.expires > view.now]
        kept.views[key] = index, min(ends, default=None)
    kept.views.move_to_end(key)
    while len(kept.views) > MOST_VIEWS:
        kept.views.popitem(last=False)
    return index
