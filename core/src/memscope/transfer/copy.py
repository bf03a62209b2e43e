"""Copy one store into another, user by user: resumable, verified by counts and digests on both sides.

Vectors stay behind (``reembed --missing`` makes them anew). What is in the target already is left alone, but what the
source forgot is forgotten there too. A user who is there whole is not copied again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from io import BytesIO

from memscope.errors import StoreError
from memscope.records import Json, Select
from memscope.stores import Store
from memscope.transfer import Progress, in_parts
from memscope.transfer.jsonl import (
    ATTEMPTS,
    BATCH,
    UNLIMITED,
    ImportWriter,
    as_object,
    parsed,
    user_lines,
    write_user,
)

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
    async for line in user_lines(store, user):
        if line.kind == "receipt":  # a forget that the copy repeats leaves its own
            continue
        made = as_object(line)
        if line.kind == "turn":
            del made["turn"]["seq"]  # the store's own
        found.add(line.kind, made)
    return found


async def copy(source: Store, target: Store, *, user: str | None = None, progress: Progress | None = None) -> Copied:
    """Copy one user's memory, or everybody's. Breaking off does no harm: the next call goes on."""
    adopted = await target.adopt_secret(await source.secret())
    names = [user] if user is not None else await source.users(forgotten=True)
    counts: Counter[str] = Counter()
    skipped, unequal = 0, list[str]()
    for done, name in enumerate(names):
        if progress:
            progress(done, len(names))
        wanted = await digest(source, name)
        if await digest(target, name) == wanted:
            skipped += 1
            await target.bury(name, (), await source.receipts(name))
            continue
        await _copy_user(source, target, name, counts)
        if (made := await digest(target, name)) != wanted and made != await digest(source, name):
            unequal.append(name)
    if progress:
        progress(len(names), len(names))
    return Copied(len(names), skipped, dict(counts), tuple(unequal), adopted)


async def _copy_user(source: Store, target: Store, user: str, counts: Counter[str]) -> None:
    """Copy an export that is whole; again if something was forgotten meanwhile."""
    forgotten: list[str] | None = None
    for _ in range(ATTEMPTS):
        if forgotten == (now := await source.tombstones(user)):
            return
        forgotten = now
        for start in range(0, len(forgotten), BATCH):
            await target.forget(Select(user, ids=frozenset(forgotten[start : start + BATCH])))
        with BytesIO() as file:
            await write_user(source, file, user)
            file.seek(0)
            writer = ImportWriter(target, counts)
            async for line in in_parts(parsed(text, UNLIMITED) for text in file):
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
