"""Export a store to JSON lines and import them: lossless, idempotent, page by page.

The first line is the header with the secret of the turn keys. Turns, observations, insights, tombstones, receipts and
blocks follow. A line is ``{"turn": {...}, "pending": true}``; a memory or block also has its earlier ``versions``. The
last line, ``{"end": 12}``, counts the lines before it: a file without it is truncated.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from memscope.errors import Conflict, MemscopeError, StoreBusy
from memscope.records import Block, ChangeSet, Handle, Record, Revision, Select, Supersession, Turn, TurnInsert
from memscope.stores import Store, erased_blocks
from memscope.stores.block_rules import by_key, edits, without_sources
from memscope.stores.rules import CLOSING_FIELDS, Memory, next_stage, record_id
from memscope.transfer import LINES_PER_PART, MAX_PART_CHARS, Progress, file_errors, in_parts, refuse_open_store
from memscope.transfer.export_file import UNLIMITED_LINE_BYTES, checked, count_lines, replacing
from memscope.transfer.export_lines import LINE_KINDS, STAGE_OF_KIND, ExportLine, Redact, encoded, parsed, redacted
from memscope.validation import Limits

LINES_PER_WRITE = 200  # bounds the time that other users wait for a write
WRITES_PREPARED = 4  # writes whose units are computed ahead
MAX_LINE_TURNS = 64  # maximum line length, in turns of maximum length: a memory has all its versions
MAX_WRITE_ATTEMPTS = 5
UNLIMITED = Limits(text=1 << 62, memory=1 << 62, keys=1 << 62, depth=1000)  # for lines that this process wrote
FRAME_LINES = ("header", "end")


async def export(
    store: Store, path: Path, *, user: str | None, progress: Progress | None, secret: bool = True
) -> Mapping[str, int]:
    """Write an export, atomically replacing ``path``; mode 0600."""
    counts: Counter[str] = Counter()
    header = ExportLine("header", "", (await store.secret()).hex() if secret else "")
    with file_errors(path):
        await asyncio.to_thread(refuse_open_store, path)
        async with replacing(path) as file:
            await asyncio.to_thread(_write_lines, file, [header])
            for name in [user] if user is not None else await store.users(forgotten=True):
                counts += await write_user(store, file, name)
                if progress:
                    progress(counts.total(), None)
            await asyncio.to_thread(_write_lines, file, [ExportLine("end", "", None, number=counts.total() + 1)])
    return dict(counts)


def _write_lines(file: BinaryIO, lines: Iterable[ExportLine]) -> None:
    file.writelines(map(encoded, lines))


async def write_user(store: Store, file: BinaryIO, user: str) -> Counter[str]:
    """Write a user's lines; start over if records are forgotten meanwhile, since done turns become pending."""
    start = await asyncio.to_thread(file.tell)
    for _ in range(MAX_WRITE_ATTEMPTS):
        counts: Counter[str] = Counter()
        before = set(await store.tombstones(user))
        part: list[ExportLine] = []
        async for line in user_lines(store, user):
            counts[line.kind] += 1
            part.append(line)
            if len(part) == LINES_PER_PART:
                await asyncio.to_thread(_write_lines, file, part)
                part = []
        await asyncio.to_thread(_write_lines, file, part)
        if set(await store.tombstones(user)) == before:
            return counts
        await asyncio.to_thread(lambda: file.truncate(file.seek(start)))
    hint = "export again"
    raise StoreBusy(f"memory of user {user!r} was forgotten during each of {MAX_WRITE_ATTEMPTS} exports", hint=hint)


async def user_lines(store: Store, name: str) -> AsyncIterator[ExportLine]:
    for kind in LINE_KINDS:
        async for page in store.scan(Select(name, kinds=frozenset({kind}))):
            # read after the page: records done by now have their memories in later pages
            pending = await waiting(store, name, kind, frozenset(map(record_id, page)))
            for record in page:
                waits = record_id(record) in pending and next_stage(record) is not None  # a closed one need not be done
                yield ExportLine(kind, name, record, await _versions(store, record), waits)
    for id in await store.tombstones(name):
        yield ExportLine("forgotten", name, id)
    for receipt in await store.receipts(name):
        yield ExportLine("receipt", name, receipt)
    for history in by_key(await store.blocks(name, versions=True)).values():
        yield ExportLine("block", name, history[-1], tuple(history[:-1]))


async def waiting(store: Store, user: str, kind: str, ids: frozenset[str]) -> set[str]:
    """Find which of the ids wait for the stage of their kind."""
    if kind not in STAGE_OF_KIND or not ids:
        return set()
    select = Select(user, ids=ids, pending=STAGE_OF_KIND[kind])
    return {record_id(record) async for page in store.scan(select) for record in page}


async def _versions(store: Store, record: Record) -> tuple[Memory, ...]:
    if isinstance(record, Turn) or record.version == 1:
        return ()
    versions = await store.history(record.scope.user, record.id)
    return tuple(old for old in versions if old.id == record.id and old.version < record.version)


# --------------------------------------------------------------------------------------------------------------- import


async def import_(
    store: Store, path: Path, *, user: str | None, strict: bool, progress: Progress | None, limits: Limits,
    redact: Redact | None = None,
) -> Mapping[str, int]:  # fmt: skip
    """Import an export. ``strict``: validate all lines before writing; ``InputError`` names a broken one."""
    counts: Counter[str] = Counter()
    most = min(MAX_LINE_TURNS * limits.text, UNLIMITED_LINE_BYTES)

    def read(counts: Counter[str]) -> Iterator[tuple[int, ExportLine]]:
        return checked(path, lambda text: redacted(parsed(text, limits), redact), most, strict=strict, counts=counts)

    if strict:
        await asyncio.to_thread(deque, read(Counter()), 0)
    total = await asyncio.to_thread(count_lines, path) if progress else 0
    try:
        await _write_all(store, read(counts), user, counts, progress and (lambda number: progress(number, total)))
    except MemscopeError as error:
        if counts:
            hint = error.hint or "try again"
            error.set_hint(f"{hint}; lines before it are stored, and repeating the import continues after them")
        raise
    return dict(counts)


async def _write_all(
    store: Store, lines: Iterator[tuple[int, ExportLine]], user: str | None, counts: Counter[str],
    progress: Callable[[int], None] | None,
) -> None:  # fmt: skip
    writer = ImportWriter(store, counts)
    async for part in in_parts(lines, LINES_PER_PART, lambda numbered: numbered[1].size):
        for number, line in part:
            if line.kind in FRAME_LINES:
                if line.record:  # the secret of a header
                    counts["secret_adopted"] = int(await store.adopt_secret(bytes.fromhex(line.record)))
            elif user in (None, line.user):
                await writer.add(line)
            else:
                counts["of_others"] += 1
            if progress and number % LINES_PER_WRITE == 0:
                progress(number)
    await writer.finish()


class ImportWriter:
    """Write lines in order, batching consecutive lines of one user and kind.

    A memory that was closed since an earlier export is closed here too, unless it has another version here.

    Existing records that wait here but are done in the export become done only if the export contains all tombstones of
    this store; otherwise a later ``forget`` may have made them pending again.
    """

    def __init__(self, store: Store, counts: Counter[str]) -> None:
        self._store, self._counts = store, counts
        self._user = self._kind = ""
        self._lines: list[ExportLine] = []
        self._size = 0  # bytes of the batched lines
        self._ready = deque[tuple[list[ExportLine], list[TurnInsert]]]()  # turns whose units are being computed
        self._done_before = defaultdict[str, set[str]](set)  # by kind: waiting here, done in the export
        self._forgotten: set[str] = set()
        self._closed: list[Memory] = []  # closed in the export and open here, until what superseded them is here

    async def add(self, line: ExportLine) -> None:
        other = (line.user, line.kind) != (self._user, self._kind)
        if other or len(self._lines) >= LINES_PER_WRITE or self._size >= MAX_PART_CHARS:
            await self._write()
        if other:
            await self._write_ready(0)
        if line.user != self._user:
            await self._settle()
        self._user, self._kind = line.user, line.kind
        self._lines.append(line)
        self._size += line.size

    async def finish(self) -> None:
        await self._write()
        await self._write_ready(0)
        await self._settle()

    async def _write(self) -> None:
        written, self._lines, self._size = self._lines, [], 0
        if not written:
            return
        if self._kind == "turn":
            inserts = [TurnInsert(line.record) for line in written]
            if prepare := getattr(self._store, "prepare", None):
                await prepare(self._user, inserts)
            self._ready.append((written, inserts))
            await self._write_ready(WRITES_PREPARED)
        elif self._kind == "forgotten":
            await self._write_tombstones([line.record for line in written])
        elif self._kind == "receipt":
            await self._store.add_tombstones(self._user, (), [line.record for line in written])
        elif self._kind == "block":
            await self._write_blocks(written)
        else:
            await self._write_memories(written)

    async def _write_ready(self, left: int) -> None:
        while len(self._ready) > left:
            await self._write_turns(*self._ready.popleft())

    async def _write_turns(self, written: list[ExportLine], inserts: list[TurnInsert]) -> None:
        change_set = ChangeSet(done=tuple(line.id for line in written if line.done))
        appended = await self._store.append(self._user, inserts, change_set)
        self._counts.update(f"turn_{outcome}" for outcome in appended.outcomes)
        here = {key for key, outcome in zip(appended.keys, appended.outcomes, strict=True) if outcome == "duplicate"}
        await self._note_done(here.intersection(change_set.done))

    async def _write_tombstones(self, ids: list[str]) -> None:
        if present := (await self._store.fetch(self._user, ids)).records:
            report = await self._store.forget(Select(self._user, ids=frozenset(map(str, present))))
            self._counts["removed"] += report.turns + report.observations + report.insights
        await self._store.add_tombstones(self._user, ids)
        await erased_blocks.erase(self._store, self._user, ids)
        self._forgotten.update(ids)
        self._counts["forgotten"] += len(ids)

    async def _write_blocks(self, written: list[ExportLine]) -> None:
        """Append the edits after the stored ones; skip a block that was erased or edited otherwise here."""
        here = by_key(await self._store.blocks(self._user, versions=True))
        forgotten = frozenset(await self._store.tombstones(self._user))
        for line in written:
            history = without_sources([*line.versions, line.record], forgotten, line.record.recorded)
            if erased_blocks.tombstone(history[0]) in forgotten:
                continue
            if versions := later_edits(here.get(line.record.key, ()), history):
                await self._store.put_blocks(self._user, versions)
                self._counts["block"] += 1

    async def _write_memories(self, written: list[ExportLine]) -> None:
        """Write memories; where some here were closed since, current documents only after that: each takes its name."""
        here = (await self._store.fetch(self._user, [line.id for line in written])).records
        closed_since = any(line.record.closed and getattr(here.get(line.id), "current", False) for line in written)
        if closed_since or self._closed:
            documents = [line for line in written if line.record.name is not None and line.record.current]
            await self._write_versions([line for line in written if line not in documents], here)
            await self._close()
            await self._write_versions(documents, here)
        else:
            await self._write_versions(written, here)

    async def _write_versions(self, written: Sequence[ExportLine], here: Mapping[Handle, Record]) -> None:
        """Write the first version of new memories, then the later ones, also after an interrupted import."""
        done = {line.id for line in written if line.done}
        first = tuple(map(_first_version, written))
        fresh = ChangeSet(new=first, done=tuple(done - here.keys()))
        self._counts[self._kind] += await self._store.apply(self._user, fresh)
        for line in written:
            await self._revise(line, here.get(line.id), tuple({line.id}.intersection(fresh.done)))
            if line.record.closed is not None and is_open(here.get(line.id), line.record.version):
                self._closed.append(line.record)
        await self._note_done(done & here.keys())

    async def _revise(self, line: ExportLine, stored: Record | None, done: tuple[str, ...]) -> None:
        """Write the versions after the first. A summary has only its last one, which may be later than the stored."""
        first, *later = (*line.versions, line.record)
        expected = first.version
        if stored is not None and not isinstance(stored, Turn) and stored.version < first.version:
            later, expected = [first, *later], stored.version
        for memory in later:
            try:
                await self._store.apply(self._user, ChangeSet(revised=(Revision(memory, expected),), done=done))
            except Conflict:  # this version is stored already
                pass
            expected = memory.version

    async def _note_done(self, ids: Set[str]) -> None:
        """Remember which of these ids still wait here."""
        self._done_before[self._kind].update(await waiting(self._store, self._user, self._kind, frozenset(ids)))

    async def _close(self) -> None:
        """Close what is closed in the export, as far as what superseded it is here."""
        for start in range(0, len(self._closed), LINES_PER_WRITE):
            closed = tuple(map(supersession_of, self._closed[start : start + LINES_PER_WRITE]))
            await self._store.apply(self._user, ChangeSet(closed=closed))

    async def _settle(self) -> None:
        """Finish a user: close what is closed in the export, and mark what is done there as done here."""
        await self._close()
        self._closed = []
        kinds = self._done_before.items()
        waits = [await waiting(self._store, self._user, kind, frozenset(ids)) for kind, ids in kinds]
        done = [id for ids in waits for id in ids]
        whole = not self._counts["broken"]  # a broken line may be a memory derived from them
        if done and whole and self._forgotten.issuperset(await self._store.tombstones(self._user)):
            for start in range(0, len(done), LINES_PER_WRITE):
                await self._store.apply(self._user, ChangeSet(done=tuple(done[start : start + LINES_PER_WRITE])))
        self._done_before.clear()
        self._forgotten = set()


def _first_version(line: ExportLine) -> Memory:
    """Return the first version, closed if the last one is: it must not take a name that has passed on since."""
    last: Memory = line.record
    if not line.versions:
        return last
    first: Memory = line.versions[0]
    return first if last.closed is None else replace(first, **{name: getattr(last, name) for name in CLOSING_FIELDS})


def later_edits(here: Sequence[Block], there: Sequence[Block]) -> list[Block]:
    """Return the versions to append to a block: all if there is none here, none if the edits here are others."""
    ours, theirs = edits(here), edits(there)
    if not here:
        return [*there]
    if ours and [replace(ours[-1], version=0)] != [replace(one, version=0) for one in theirs[len(ours) - 1 :][:1]]:
        return []
    return [replace(one, version=len(here) + number) for number, one in enumerate(theirs[len(ours) :], 1)]


def is_open(stored: Record | None, version: int) -> bool:
    return stored is not None and not isinstance(stored, Turn) and (stored.version, stored.closed) == (version, None)


def supersession_of(memory: Memory) -> Supersession:
    """Return the supersession that closed a memory."""
    assert memory.closed is not None
    told_at = memory.closed_said or memory.closed
    return Supersession(memory.id, memory.superseded_by, memory.closed, told_at, memory.valid_to)


__all__ = ["LINE_KINDS", "STAGE_OF_KIND", "UNLIMITED", "export", "import_"]
