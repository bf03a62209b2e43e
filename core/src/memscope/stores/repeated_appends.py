"""Repeat an ``append`` that failed, although the store may have taken its turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memscope.records import Interval, Turn, TurnInsert
from memscope.records.serialization import turn_key
from memscope.stores import Store

FIRST_LOOKED_UP_KEYS = 8  # per turn; doubles each time


async def with_keys(store: Store, user: str, inserts: Sequence[TurnInsert], tried: Interval) -> list[TurnInsert]:
    """Give each turn the key under which it was recorded within ``tried``, else the first free one."""
    taken = set(await store.tombstones(user)) if any(insert.base for insert in inserts) else set()
    keyed = []
    for insert in inserts:
        if insert.base is not None:
            key = await _key(store, user, insert.base, taken, tried)
            taken.add(key)
            insert = TurnInsert(replace(insert.turn, key=key))
        keyed.append(insert)
    return keyed


async def _key(store: Store, user: str, base: bytes, taken: set[str], tried: Interval) -> str:
    first, count = 0, FIRST_LOOKED_UP_KEYS
    while True:
        keys = [turn_key(base, n) for n in range(first, first + count)]
        records = (await store.fetch(user, keys)).records
        for key in keys:
            record = records.get(key)
            is_ours = record is None or (isinstance(record, Turn) and record.recorded in tried)
            if key not in taken and is_ours:
                return key
        first, count = first + count, 2 * count
