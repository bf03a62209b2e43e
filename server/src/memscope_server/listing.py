"""Lists of records by the time they were said, newest first, page by page.

The first page reads all records that fit and keeps their ids; further pages read their own records only and stay as
they were when the first was shown, whatever was added meanwhile.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memscope import AsyncMemoryScope
from memscope.records import Record, Turn

MOST_LISTINGS = 64


@dataclass(frozen=True, slots=True)
class Listing:
    """The ids of all records that fit, counts by kind, and when the first was said."""

    ids: Sequence[str]
    kinds: Mapping[str, int]
    first: datetime | None


class Listings:
    """The lists that were shown last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Listing] = OrderedDict()

    async def page(
        self, memory: AsyncMemoryScope, offset: int, limit: int, *, as_of: datetime | None = None, **asked: Any
    ) -> tuple[Listing, list[Record]]:
        """Return the listing and a page of it; ``asked`` as in ``AsyncMemoryScope.list``."""
        key = repr((as_of, sorted(asked.items())))
        found = self._kept.get(key) if offset else None
        if found is None:
            found = await read(memory, as_of, asked)
        self._kept[key] = found
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_LISTINGS:
            self._kept.popitem(last=False)
        return found, await fetch(memory, asked["user"], found.ids[offset : offset + limit])


async def read(memory: AsyncMemoryScope, as_of: datetime | None, asked: Mapping[str, Any]) -> Listing:
    past = {} if as_of is None else {"superseded": True}
    records = await memory.list(**{**asked, **past})
    known = [one for one in records if as_of is None or known_at(one, as_of)]
    known = sorted(known, key=said_of)[::-1]  # of one time the last stored comes first
    kinds = Counter(kind_of(one) for one in known)
    return Listing([id_of(one) for one in known], kinds, said_of(known[-1]) if known else None)


async def fetch(memory: AsyncMemoryScope, user: str, ids: Sequence[str]) -> list[Record]:
    """Return those of the records that are still there."""
    async with memory.runtime.operation("get") as runtime:
        records = (await runtime.store.fetch(user, ids)).records
    return [records[id] for id in ids if id in records]


def kind_of(record: Record) -> str:
    return type(record).__name__.lower()


def id_of(record: Record) -> str:
    return record.key if isinstance(record, Turn) else record.id


def said_of(record: Record) -> datetime:
    return record.time if isinstance(record, Turn) else record.said


def known_at(record: Record, at: datetime) -> bool:
    """Return whether a record was said by then and had not been ended by what was said by then."""
    if said_of(record) > at:
        return False
    return isinstance(record, Turn) or record.closed is None or (record.closed_said or record.closed) > at
