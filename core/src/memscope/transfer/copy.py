"""Copy one store into another, user by user: resumable, verified by counts and digests on both sides.

Vectors are not copied (``reembed --missing`` makes new ones). Existing records of the target stay unchanged, but
records forgotten in the source are forgotten there too. Users with equal digests are skipped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from io import BytesIO

from memscope.errors import StoreError
from memscope.records import Json, Select
from memscope.records.serialization import to_json
from memscope.stores import Store
from memscope.stores.block_rules import edits
from memscope.stores.rules import CLOSING_FIELDS
from memscope.transfer import LINES_PER_PART, Progress, in_parts
from memscope.transfer.export_lines import as_object, parsed
from memscope.transfer.jsonl import LINES_PER_WRITE, MAX_WRITE_ATTEMPTS, UNLIMITED, ImportWriter, user_lines, write_user

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
    """Report of a copy. ``unequal``: users whose source and target still differ."""

    users: int
    skipped: int
    counts: Mapping[str, int]
    unequal: tuple[str, ...]
    secret_adopted: bool


async def digest(store: Store, user: str) -> Digest:
    total = Digest()
    async for line in user_lines(store, user):
        if line.kind == "receipt":  # forgetting again in the target leaves its own receipts
            continue
        if line.kind == "block":
            total.add(line.kind, [to_json(replace(one, version=0)) for one in edits((*line.versions, line.record))])
            continue
        content = as_object(line)
        if line.kind == "turn":
            del content["turn"]["seq"]  # differs between stores
        for old in content.get("versions", ()):  # whether a memory is closed, its last version says
            for name in CLOSING_FIELDS:
                old.pop(name, None)
        total.add(line.kind, content)
    return total


async def copy(source: Store, target: Store, *, user: str | None = None, progress: Progress | None = None) -> Copied:
    """Copy the memory of one user or of all. The next call resumes an interrupted copy."""
    adopted = await target.adopt_secret(await source.secret())
    names = [name for name in await source.users(forgotten=True) if user in (None, name)]
    counts: Counter[str] = Counter()
    skipped, unequal = 0, list[str]()
    for done, name in enumerate(names):
        if progress:
            progress(done, len(names))
        wanted = await digest(source, name)
        if await digest(target, name) == wanted:
            skipped += 1
            await target.add_tombstones(name, (), await source.receipts(name))
            continue
        await _copy_user(source, target, name, counts)
        if (copied := await digest(target, name)) != wanted and copied != await digest(source, name):
            unequal.append(name)
    if progress:
        progress(len(names), len(names))
    return Copied(len(names), skipped, dict(counts), tuple(unequal), adopted)


async def _copy_user(source: Store, target: Store, user: str, counts: Counter[str]) -> None:
    """Copy a user through an export; repeat it if something was forgotten meanwhile."""
    forgotten: list[str] | None = None
    for _ in range(MAX_WRITE_ATTEMPTS):
        if forgotten == (now := await source.tombstones(user)):
            return
        forgotten = now
        for start in range(0, len(forgotten), LINES_PER_WRITE):
            await target.forget(Select(user, ids=frozenset(forgotten[start : start + LINES_PER_WRITE])))
        with BytesIO() as file:
            await write_user(source, file, user)
            file.seek(0)
            writer = ImportWriter(target, counts)
            async for part in in_parts(
                (parsed(text, UNLIMITED) for text in file), LINES_PER_PART, lambda line: line.size
            ):
                for line in part:
                    await writer.add(line)
            await writer.finish()


def check(copied: Copied) -> None:
    """Raise ``StoreError`` if source and target differ for some users."""
    if copied.unequal:
        names = ", ".join(map(repr, copied.unequal[:5]))
        raise StoreError(
            f"the target differs for {len(copied.unequal)} of {copied.users} users: {names}",
            hint="it had other memory of theirs, or the source changed meanwhile; copy again to find out",
        )
