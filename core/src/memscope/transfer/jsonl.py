"""JSON lines out of a store and into one: lossless, idempotent, a page at a time.

The first line is the header with the secret of the turn keys; then turns, observations, insights, tombstones, receipts,
blocks. A line is ``{"turn": {...}, "pending": true}``; the line of a memory or a block has its earlier ``versions``.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from memscope import validation
from memscope.errors import Conflict, InputError, MemscopeError, StoreBusy, StoreError
from memscope.records import (
    ChangeSet,
    Kind,
    Record,
    Revision,
    Select,
    Stage,
    Turn,
    TurnInsert,
)
from memscope.records.serialization import (
    block_from_json,
    from_json,
    receipt_from_json,
    to_json,
)
from memscope.stores import Store
from memscope.stores.block_rules import by_key, check_limit, without_sources
from memscope.stores.rules import Memory, record_id
from memscope.stores.unfinished import part_of
from memscope.transfer import Progress, in_parts
from memscope.transfer.checks import check_record
from memscope.validation import Limits

FORMAT = 3
READABLE = (1, 2, 3)  # format 1 has no blocks, 2 no receipts
BATCH = 500
ATTEMPTS = 5
SECRET_BYTES = range(16, 65)
# For lines that this memscope made a moment ago.
UNLIMITED = Limits(text=1 << 62, memory=1 << 62, keys=1 << 62, depth=1000)
KINDS: tuple[Kind, ...] = ("turn", "observation", "insight")
WAITS: dict[str, Stage] = {"turn": "consolidate", "observation": "reflect"}


@dataclass(frozen=True, slots=True)
class ExportLine:
    """One line. ``record``: a record, receipt or block, an id that was forgotten, or the secret in hexadecimal."""

    kind: str
    user: str
    record: Any
    versions: tuple[Any, ...] = ()
    pending: bool = False

    @property
    def id(self) -> str:
        return record_id(self.record)

    @property
    def done(self) -> bool:
        return self.kind in WAITS and not self.pending


async def export(
    store: Store, path: Path, *, user: str | None, progress: Progress | None, secret: bool = True
) -> Mapping[str, int]:
    """Write to a new file beside ``path`` and put it in its place when it is whole; mode 0600."""
    with usable(path):
        path = path.resolve()  # of a link, so that it stays one
        if path.exists() and not path.is_file():
            raise InputError(f"{str(path)!r} is no regular file", hint="export to a file, or to standard output")
    part = part_of(path)
    with usable(path):
        try:
            counts = await _write_lines(store, part, user, progress, secret)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)  # it holds what was said
            raise
    return dict(counts)


async def _write_lines(
    store: Store, part: Path, user: str | None, progress: Progress | None, secret: bool
) -> Counter[str]:
    counts: Counter[str] = Counter()
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(_encoded(ExportLine("header", "", (await store.secret()).hex() if secret else "")))
        for name in [user] if user is not None else await store.users(forgotten=True):
            counts += await write_user(store, file, name)
            if progress:
                progress(counts.total(), None)
        file.flush()
        os.fsync(file.fileno())
    return counts


async def write_user(store: Store, file: BinaryIO, user: str) -> Counter[str]:
    """Write a user's lines; anew if something was forgotten meanwhile, which gives turns back that were called done."""
    start = file.tell()
    for _ in range(ATTEMPTS):
        counts: Counter[str] = Counter()
        before = set(await store.tombstones(user))
        async for line in user_lines(store, user):
            file.write(_encoded(line))
            counts[line.kind] += 1
        if set(await store.tombstones(user)) == before:
            return counts
        file.seek(start)
        file.truncate()
    raise StoreBusy(f"memory of user {user!r} was forgotten during each of {ATTEMPTS} exports", hint="export again")


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` about the file into an ``InputError``."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{str(path)!r}: {error.strerror}", hint="see the path and its rights") from error


def _encoded(line: ExportLine) -> bytes:
    try:
        return json.dumps(as_object(line), ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except ValueError as error:
        raise StoreError(f"{line.kind} {line.id!r} holds what JSON cannot", hint="forget it, or update it") from error


def as_object(line: ExportLine) -> dict[str, Any]:
    if line.kind == "header":
        return {"memscope": FORMAT, **({"secret": line.record} if line.record else {})}
    if line.kind == "forgotten":
        return {"forgotten": line.record, "user": line.user}
    if line.kind == "receipt":
        return {"receipt": to_json(line.record)}
    if line.kind == "block":
        return {"block": to_json(line.record), "versions": [to_json(old) for old in line.versions]}
    versions = {"versions": [to_json(old) for old in line.versions]} if line.versions else {}
    return {line.kind: to_json(line.record), "pending": line.pending, **versions}


async def user_lines(store: Store, name: str) -> AsyncIterator[ExportLine]:
    for kind in KINDS:
        async for page in store.scan(Select(name, kinds=frozenset({kind}))):
            # asked after the page was read: what is added meanwhile waits, and what is done has its memories behind
            pending = await waiting(store, name, kind, frozenset(map(record_id, page)))
            for record in page:
                yield ExportLine(kind, name, record, await _versions(store, record), record_id(record) in pending)
    for id in await store.tombstones(name):
        yield ExportLine("forgotten", name, id)
    for receipt in await store.receipts(name):
        yield ExportLine("receipt", name, receipt)
    for history in by_key(await store.blocks(name, versions=True)).values():
        yield ExportLine("block", name, history[-1], tuple(history[:-1]))


async def waiting(store: Store, user: str, kind: str, ids: frozenset[str]) -> set[str]:
    """Returns the ids that wait for the stage of their kind."""
    if kind not in WAITS or not ids:
        return set()
    select = Select(user, ids=ids, pending=WAITS[kind])
    return {record_id(record) async for page in store.scan(select) for record in page}


async def _versions(store: Store, record: Record) -> tuple[Memory, ...]:
    if isinstance(record, Turn) or record.version == 1:
        return ()
    versions = await store.history(record.scope.user, record.id)
    return tuple(old for old in versions if old.id == record.id and old.version < record.version)


# --------------------------------------------------------------------------------------------------------------- import


async def import_(
    store: Store, path: Path, *, user: str | None, strict: bool, progress: Progress | None, limits: Limits
) -> Mapping[str, int]:
    """``strict``: every line is read before the first is written. Raises ``InputError`` naming the line."""
    counts: Counter[str] = Counter()
    if strict:
        await asyncio.to_thread(deque, _parsed(path, limits, strict=True, counts=Counter()), 0)
    writer = ImportWriter(store, counts)
    total = await asyncio.to_thread(_count_lines, path) if progress else 0
    async for number, line in in_parts(_parsed(path, limits, strict=strict, counts=counts)):
        if line.kind == "header" and line.record:
            counts["secret_adopted"] = int(await store.adopt_secret(bytes.fromhex(line.record)))
        elif line.kind != "header" and user in (None, line.user):
            await writer.add(line)
        elif line.kind != "header":
            counts["of_others"] += 1
        if progress and number % BATCH == 0:
            progress(number, total)
    await writer.finish()
    return dict(counts)


class ImportWriter:
    """Writes lines in their order, those of one user and kind together.

    What is here already keeps waiting as it does, unless the export knows everything that was forgotten here:
    ``forget`` may have given it back after the export was made.
    """

    def __init__(self, store: Store, counts: Counter[str]) -> None:
        self._store, self._counts = store, counts
        self._user = self._kind = ""
        self._lines: list[ExportLine] = []
        self._done_before: dict[str, set[str]] = {kind: set() for kind in WAITS}  # waiting here, done in the export
        self._forgotten: set[str] = set()

    async def add(self, line: ExportLine) -> None:
        if (line.user, line.kind) != (self._user, self._kind) or len(self._lines) >= BATCH:
            await self._write()
        if line.user != self._user:
            await self._settle()
        self._user, self._kind = line.user, line.kind
        self._lines.append(line)

    async def finish(self) -> None:
        await self._write()
        await self._settle()

    async def _write(self) -> None:
        written, self._lines = self._lines, []
        if not written:
            return
        if self._kind == "turn":
            await self._write_turns(written)
        elif self._kind == "forgotten":
            await self._write_tombstones([line.record for line in written])
        elif self._kind == "receipt":
            await self._store.bury(self._user, (), [line.record for line in written])
        elif self._kind == "block":
            await self._write_blocks(written)
        else:
            await self._write_memories(written)

    async def _write_turns(self, written: list[ExportLine]) -> None:
        change_set = ChangeSet(done=tuple(line.id for line in written if line.done))
        appended = await self._store.append(self._user, [TurnInsert(line.record) for line in written], change_set)
        self._counts.update(f"turn_{outcome}" for outcome in appended.outcomes)
        here = {key for key, outcome in zip(appended.keys, appended.outcomes, strict=True) if outcome == "duplicate"}
        await self._note_done(here.intersection(change_set.done))

    async def _write_tombstones(self, ids: list[str]) -> None:
        await self._store.bury(self._user, ids)
        self._forgotten.update(ids)
        self._counts["forgotten"] += len(ids)

    async def _write_blocks(self, written: list[ExportLine]) -> None:
        """A block that is here gets the versions that follow its own; one with another text stays as it is."""
        here = {block.key: block for block in await self._store.blocks(self._user)}
        buried = frozenset(await self._store.tombstones(self._user))
        for line in written:
            history = without_sources([*line.versions, line.record], buried, line.record.recorded)
            present = here.get(line.record.key)
            start = present.version if present is not None else 0
            if present is None or present in history[start - 1 : start]:
                await self._store.put_blocks(self._user, history[start:])
                self._counts["block"] += 1

    async def _write_memories(self, written: list[ExportLine]) -> None:
        """New ones with their first version; the later ones follow, also where an import was broken off."""
        here = (await self._store.fetch(self._user, [line.id for line in written])).records
        done = {line.id for line in written if line.done}
        first = tuple((*line.versions, line.record)[0] for line in written)
        fresh = ChangeSet(new=first, done=tuple(done - here.keys()))
        self._counts[self._kind] += await self._store.apply(self._user, fresh)
        for line in written:
            await self._revise(line, tuple({line.id}.intersection(fresh.done)))
        await self._note_done(done & here.keys())

    async def _revise(self, line: ExportLine, done: tuple[str, ...]) -> None:
        first, *later = (*line.versions, line.record)
        for version, memory in enumerate(later, first.version):
            try:
                await self._store.apply(self._user, ChangeSet(revised=(Revision(memory, version),), done=done))
            except Conflict:  # here already
                continue

    async def _note_done(self, ids: Set[str]) -> None:
        """Note those that still wait here: few, however much of a large import is here already."""
        for id in await waiting(self._store, self._user, self._kind, frozenset(ids)):
            self._done_before[self._kind].add(id)

    async def _settle(self) -> None:
        """Finish a user: mark records as done that the export knows as done."""
        done = [
            id
            for kind, ids in self._done_before.items()
            for id in await waiting(self._store, self._user, kind, frozenset(ids))
        ]
        whole = not self._counts["broken"]  # else memories of these may be missing
        if done and whole and self._forgotten.issuperset(await self._store.tombstones(self._user)):
            for start in range(0, len(done), BATCH):
                await self._store.apply(self._user, ChangeSet(done=tuple(done[start : start + BATCH])))
        self._done_before, self._forgotten = {kind: set() for kind in WAITS}, set()


# -------------------------------------------------------------------------------------------------------------- reading


def _parsed(path: Path, limits: Limits, *, strict: bool, counts: Counter[str]) -> Iterator[tuple[int, ExportLine]]:
    with usable(path), open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                line = parsed(text, limits)
                if (number == 1) != (line.kind == "header"):
                    raise InputError("the first line must be the header of an export, and only that")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                if strict or number == 1:
                    raise _refused(number, path, error) from error
                counts["broken"] += 1
                counts["first_broken_line"] = counts["first_broken_line"] or number
                continue
            yield number, line


def _count_lines(path: Path) -> int:
    with usable(path), path.open("rb") as file:
        return sum(1 for _ in file)


def _refused(number: int, path: Path, error: Exception) -> InputError:
    known = error if isinstance(error, MemscopeError) else MemscopeError(type(error).__name__)
    said = f"line {number} of {path.name!r} is not a line of an export: {known.message[:200]}"
    return InputError(said, hint=known.hint)


def parsed(text: str | bytes, limits: Limits) -> ExportLine:
    made = json.loads(text)
    if "memscope" in made:
        return ExportLine("header", "", _secret(made))
    if "forgotten" in made:
        user = validation.identifier("user", made["user"])
        return ExportLine("forgotten", user, validation.identifier("forgotten", made["forgotten"]))
    if "receipt" in made:
        receipt = check_record(receipt_from_json(made["receipt"]), limits)
        return ExportLine("receipt", receipt.scope.user, receipt)
    if "block" in made:
        return _block_line(made, limits)
    kind = next((kind for kind in KINDS if kind in made), None)
    if kind is None or made[kind]["kind"] != kind:
        raise InputError("a line without a record", hint="lines of turns are for 'memscope add - < FILE'")
    record = check_record(from_json(made[kind]), limits)
    versions = tuple(_version(old, record, limits) for old in made.get("versions", ()))
    if any(before.version >= after.version for before, after in pairwise(versions)):
        raise InputError("versions that do not rise")
    return ExportLine(kind, record.scope.user, record, versions, bool(made.get("pending")))


def _block_line(made: Mapping[str, Any], limits: Limits) -> ExportLine:
    history = [check_record(block_from_json(version), limits) for version in (*made["versions"], made["block"])]
    if [block.version for block in history] != list(range(1, len(history) + 1)) or len(by_key(history)) != 1:
        raise InputError("versions that do not follow each other")
    *older, block = history
    for version in history:
        check_limit(version)
    return ExportLine("block", block.scope.user, block, tuple(older))


def _secret(made: Mapping[str, Any]) -> str:
    if made["memscope"] not in READABLE:
        newer = isinstance(made["memscope"], int) and made["memscope"] > FORMAT
        hint = "it needs a newer memscope" if newer else ""
        raise InputError(f"format {str(made['memscope'])[:20]}, this memscope reads {FORMAT}", hint=hint)
    if "secret" not in made:  # an export for a user
        return ""
    secret: str = made["secret"]
    if len(bytes.fromhex(secret)) not in SECRET_BYTES:
        raise InputError("a secret that is none")
    return secret


def _version(made: Mapping[str, Any], record: Record, limits: Limits) -> Memory:
    old = check_record(from_json(made), limits)
    same = type(old) is type(record) and (old.scope.user, record_id(old)) == (record.scope.user, record_id(record))
    if isinstance(old, Turn) or isinstance(record, Turn) or not same or old.version >= record.version:
        raise InputError("a version of something else, or of a later time")
    return old
