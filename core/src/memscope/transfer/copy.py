"""Copy one store into another, user by user: resumable, verified by counts and digests on both sides.

Vectors stay behind (``reembed --missing`` makes them anew). What is in the target already is left alone; a user who is
there whole is not read twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from memscope.errors import StoreError
from memscope.records import Json, Record, Select, Stage, Turn
from memscope.records.serialization import block_to_json, to_json
from memscope.stores import Store
from memscope.stores.rules import record_id
from memscope.transfer.jsonl import ImportWriter, lines

Progress = Callable[[int, int | None], None]
STAGES: tuple[Stage, ...] = ("consolidate", "reflect")
_LARGE = 1 << 128


@dataclass
class Digest:
    """Digest of a user's records in a store: counts, and a sum that does not depend on their order."""

    counts: Counter[str] = field(default_factory=Counter)
    sum: int = 0

    def add(self, what: str, content: Json) -> None:
        self.counts[what] += 1
        text = json.dumps([what, content], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        self.sum = (self.sum + int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big")) % _LARGE


@dataclass(frozen=True)
class Copied:
    """``unequal``: users whose memory in the target is not that of the source; it had some of its own, or changed."""

    users: int
    skipped: int
    counts: Mapping[str, int]
    unequal: tuple[str, ...]
    secret_adopted: bool


async def digest(store: Store, user: str) -> Digest:
    found = Digest()
    async for page in store.scan(Select(user)):
        for record in page:
            found.add(type(record).__name__.lower(), _content(record))
    for stage in STAGES:
        async for page in store.scan(Select(user, pending=stage)):
            for record in page:
                found.add(f"to_{stage}", record_id(record))
    for id in await store.tombstones(user):
        found.add("forgotten", id)
    for block in await store.blocks(user, versions=True):
        found.add("block", block_to_json(block))
    return found


def _content(record: Record) -> dict[str, Any]:
    """Returns a record's content without its sequence number, which is the store's own."""
    made = to_json(record)
    if isinstance(record, Turn):
        made.pop("seq", None)
    return made


async def copy(source: Store, target: Store, *, user: str | None = None, progress: Progress | None = None) -> Copied:
    """Copy one user's memory, or everybody's. Breaking off does no harm: the next call goes on."""
    adopted = await target.adopt_secret(await source.secret())
    names = [user] if user is not None else await source.users()
    counts: Counter[str] = Counter()
    skipped, unequal = 0, list[str]()
    for done, name in enumerate(names):
        if progress:
            progress(done, len(names))
        wanted = await digest(source, name)
        if await digest(target, name) == wanted:
            skipped += 1
            continue
        await _copy_user(source, target, name, counts)
        if await digest(target, name) != wanted:
            unequal.append(name)
    if progress:
        progress(len(names), len(names))
    return Copied(len(names), skipped, dict(counts), tuple(unequal), adopted)


async def _copy_user(source: Store, target: Store, user: str, counts: Counter[str]) -> None:
    writer = ImportWriter(target, counts)
    async for line in lines(source, user):
        if line.kind != "header":
            await writer.add(line)
    await writer.finish()


def check(copied: Copied) -> None:
    """``StoreError`` when not everything arrived as it is."""
    if copied.unequal:
        names = ", ".join(map(repr, copied.unequal[:5]))
        raise StoreError(
            f"the target holds something else for {len(copied.unequal)} of {copied.users} users: {names}",
            hint="it had memory of its own there, or the source changed meanwhile: copy again to see",
        )
