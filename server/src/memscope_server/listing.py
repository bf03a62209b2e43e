"""Paginated lists of records, newest first by the time they were said.

The first page caches the ids of all matching records. Later pages are cut from that snapshot, so that records added
meanwhile do not shift them, and each page fetches only its own records.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from memscope import AsyncMemoryScope, validation
from memscope.records import Record, Turn
from memscope.search.units import microseconds
from memscope.stores import RecordKey
from memscope.stores.rules import record_id

MAX_LISTINGS_PER_USER = 8
MAX_CACHED_IDS = 2_000_000  # cached for all users together, about 200 MB
MIN_IDS_PER_LISTING = 1000  # a shorter listing counts as this many ids, which bounds the number of empty listings
UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Listing:
    """The ids of all matching records, their counts by kind, and the time of the oldest."""

    ids: Sequence[str]
    kinds: Mapping[str, int]
    first: datetime | None


class Listings:
    """LRU cache of listings, bounded per user and by the total number of ids."""

    def __init__(self) -> None:
        self._cache: OrderedDict[tuple[str, str], Listing] = OrderedDict()

    async def page(
        self, memory: AsyncMemoryScope, offset: int, limit: int, *, as_of: datetime | None = None, **asked: Any
    ) -> tuple[Listing, list[Record]]:
        """Return a listing and one page of it. ``asked`` are keywords of ``AsyncMemoryScope.list``."""
        key = asked["user"], repr((as_of, sorted(asked.items())))
        listing = self._cache.get(key) if offset else None
        if listing is None:
            listing = await read(memory, as_of, asked)
        self._cache[key] = listing
        self._cache.move_to_end(key)
        self._evict(asked["user"])
        return listing, await fetch(memory, asked["user"], listing.ids[offset : offset + limit])

    def _evict(self, user: str) -> None:
        listed = [key for key in self._cache if key[0] == user]
        for key in listed[:-MAX_LISTINGS_PER_USER]:
            del self._cache[key]
        left = sum(max(MIN_IDS_PER_LISTING, len(one.ids)) for one in self._cache.values())
        while left > MAX_CACHED_IDS and len(self._cache) > 1:
            left -= max(MIN_IDS_PER_LISTING, len(self._cache.popitem(last=False)[1].ids))


async def read(memory: AsyncMemoryScope, as_of: datetime | None, asked: Mapping[str, Any]) -> Listing:
    keys = await _keys(memory, **asked) if as_of is None else await _keys_known_at(memory, as_of, asked)
    keys.sort(key=lambda key: (key.said, key.number), reverse=True)  # ties: last stored first
    first = UNIX_EPOCH + timedelta(microseconds=keys[-1].said) if keys else None
    return Listing([key.id for key in keys], Counter(key.kind for key in keys), first)


async def _keys(
    memory: AsyncMemoryScope, *, user: str, agent: str | None, session: str | None = None, superseded: bool = False,
    **asked: Any,
) -> list[RecordKey]:  # fmt: skip
    where = validation.scope(user, agent, session)
    async with memory.admin.runtime.operation("list") as services:
        select = validation.select(where, services.zone, current=not superseded, live_at=services.clock(), **asked)
        return await services.store.keys(select)


async def _keys_known_at(memory: AsyncMemoryScope, as_of: datetime, asked: Mapping[str, Any]) -> list[RecordKey]:
    """Select what was known at ``as_of``. Only superseded and proposed memories must be fetched to decide it."""
    until = microseconds(as_of)
    every = [key for key in await _keys(memory, **{**asked, "superseded": True}) if key.said <= until]
    current = {key.id for key in await _keys(memory, **{**asked, "superseded": False})}
    others = await fetch(memory, asked["user"], [key.id for key in every if key.id not in current])
    known = current | {record_id(record) for record in others if known_at(record, as_of)}
    return [key for key in every if key.id in known]


async def fetch(memory: AsyncMemoryScope, user: str, ids: Sequence[str]) -> list[Record]:
    """Fetch records by id, in the order of ``ids``; deleted ones are skipped."""
    async with memory.admin.runtime.operation("get") as services:
        records = (await services.store.fetch(user, ids)).records
    return [records[id] for id in ids if id in records]


def kind_of(record: Record) -> str:
    return type(record).__name__.lower()


def said_of(record: Record) -> datetime:
    return record.time if isinstance(record, Turn) else record.said


def known_at(record: Record, at: datetime) -> bool:
    """Return whether a record had been said by ``at`` and was not superseded by anything said up to then."""
    if said_of(record) > at:
        return False
    return isinstance(record, Turn) or record.closed is None or (record.closed_said or record.closed) > at
