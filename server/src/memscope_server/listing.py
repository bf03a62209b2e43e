"""Paginated lists of records, newest first by the time they were said.

A page continues after the place of the last record before it, not after a number of records: whatever readers of the
same list added or forgot meanwhile, it repeats and skips nothing. The keys of a list are cached for its later pages, so
that each page fetches only its own records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from memscope import AsyncMemoryScope, validation
from memscope.errors import InputError
from memscope.records import Record, Turn
from memscope.retrieval.insights_as_of import without_expired_facts
from memscope.search.units import microseconds
from memscope.stores import RecordKey
from memscope.stores.rules import record_id

MAX_LISTINGS_PER_USER = 8
MAX_CACHED_KEYS = 1_000_000  # cached for all users together, about 230 MB
MIN_KEYS_PER_LISTING = 1000  # a shorter listing counts as this many keys, which bounds the number of empty listings
UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Listing:
    """The keys of all matching records, newest first, their counts by kind, and the time of the oldest."""

    keys: Sequence[RecordKey]
    kinds: Mapping[str, int]
    first: datetime | None


class Page(NamedTuple):
    """A page of a listing. ``next`` is the ``after`` of the following page; None on the last one."""

    listing: Listing
    records: list[Record]
    next: str | None


class Listings:
    """LRU cache of listings, bounded per user and by the total number of keys."""

    def __init__(self) -> None:
        self._cache: OrderedDict[tuple[str, str], Listing] = OrderedDict()

    async def page(
        self, memory: AsyncMemoryScope, after: str | None, limit: int, *, as_of: datetime | None = None, **asked: Any
    ) -> Page:
        """Return the page after the one with this ``next``, or the first. ``asked``: as for ``AsyncMemoryScope.list``.

        Raise ``InputError`` for an ``after`` that is no ``next`` of a page.
        """
        place = _parse_cursor(after) if after else None
        key = asked["user"], repr((as_of, sorted(asked.items())))
        listing = self._cache.get(key) if place else None
        if listing is None:
            listing = await read(memory, as_of, asked)
        self._cache[key] = listing
        self._cache.move_to_end(key)
        self._evict(asked["user"])
        start = bisect_right(listing.keys, place, key=_order) if place else 0
        shown = listing.keys[start : start + limit]
        more = bool(shown) and start + limit < len(listing.keys)
        return Page(listing, await _current(memory, asked["user"], shown), _cursor(shown[-1]) if more else None)

    def _evict(self, user: str) -> None:
        listed = [key for key in self._cache if key[0] == user]
        for key in listed[:-MAX_LISTINGS_PER_USER]:
            del self._cache[key]
        left = sum(max(MIN_KEYS_PER_LISTING, len(one.keys)) for one in self._cache.values())
        while left > MAX_CACHED_KEYS and len(self._cache) > 1:
            left -= max(MIN_KEYS_PER_LISTING, len(self._cache.popitem(last=False)[1].keys))


def _order(key: RecordKey) -> tuple[int, int]:
    """Order the newest first; of one time, the last stored first."""
    return -key.said, -key.number


def _cursor(key: RecordKey) -> str:
    return f"{key.said}.{key.number}"


def _parse_cursor(cursor: str) -> tuple[int, int]:
    time, _, number = cursor.partition(".")
    try:
        return -int(time), -int(number)
    except ValueError:
        raise InputError(f"after is no place in a list: {cursor[:40]!r}", hint="give next of the page before") from None


async def read(memory: AsyncMemoryScope, as_of: datetime | None, asked: Mapping[str, Any]) -> Listing:
    keys = await _keys(memory, **asked) if as_of is None else await _keys_known_at(memory, as_of, asked)
    keys.sort(key=_order)
    first = UNIX_EPOCH + timedelta(microseconds=keys[-1].said) if keys else None
    return Listing(keys, Counter(key.kind for key in keys), first)


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


async def _current(memory: AsyncMemoryScope, user: str, keys: Sequence[RecordKey]) -> list[Record]:
    """Fetch the records of a page as ``AsyncMemoryScope.list`` shows them: insights without what has expired."""
    records = await fetch(memory, user, [key.id for key in keys])
    async with memory.admin.runtime.operation("list") as services:
        return await without_expired_facts(services.store, user, records, services.clock())


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
