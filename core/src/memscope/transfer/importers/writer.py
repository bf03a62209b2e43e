"""Write imported items in batches, idempotently: turns as ``add_turns`` does, memories with their sources."""

from __future__ import annotations

import os
import re
from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memscope import validation
from memscope.errors import InputError, MemscopeError
from memscope.records import BLOCK_LABEL, BLOCK_LIMIT, Block, ChangeSet, Insight, Observation, Scope, TurnInsert
from memscope.records.identity import digest, statement
from memscope.stores import erased_blocks
from memscope.transfer import Progress, in_parts
from memscope.transfer.checks import check_record, document_namespace
from memscope.transfer.importers import (
    ImportedBlock,
    ImportedMemory,
    ImportedTurn,
    Importer,
    ImportReport,
    Item,
    NotTaken,
)

if TYPE_CHECKING:
    from memscope.services import MemoryOperations

TURNS_PER_WRITE = 500
ORIGIN = "import"  # origin of memories whose text differs from their source
MAX_COUNTED_REASONS = 100  # all other reasons are counted together
ITEMS = (ImportedTurn, ImportedMemory, ImportedBlock, NotTaken)


class ItemWriter:
    """Write the items of one source. ``user``, if set, owns all of them."""

    def __init__(self, runtime: MemoryOperations, name: str, user: str | None, *, dry_run: bool) -> None:
        self._runtime, self._services = runtime, runtime.services
        self._name, self._user, self._dry_run = name, user, dry_run
        self._counts: Counter[str] = Counter()
        self._not_taken: Counter[str] = Counter()
        self._users: set[str] = set()
        self._seen: dict[bytes, int] = {}  # equal turns without an id, counted over all writes

    def report(self) -> ImportReport:
        parts = ("turns", "observations", "insights", "known", "forgotten", "blocks")
        counts = {part: self._counts[part] for part in parts}
        return ImportReport(**counts, users=len(self._users), not_taken=dict(self._not_taken), dry_run=self._dry_run)

    def stored_so_far(self) -> int:
        """Count the source's records that are stored by now."""
        return sum(self._counts[part] for part in ("turns", "observations", "insights", "blocks", "known"))

    async def write(self, items: Iterable[Item]) -> None:
        for (kind, where), group in groupby(self._placed(items), key=lambda placed: placed[:2]):
            batch = [item for _, _, item in group]
            if kind is ImportedTurn:
                await self._write_turns(where, [dict(item.turn) for item in batch])
            elif kind is ImportedBlock:
                await self._write_blocks(where, batch)
            else:
                await self._write_memories(where, batch)

    def _placed(self, items: Iterable[Item]) -> Iterator[tuple[type, Scope, Any]]:
        """Yield items with their type and scope; count refused ones."""
        for item in items:
            if isinstance(item, NotTaken):
                self._not_take(item.reason, item.number)
                continue
            owner = self._user or item.user
            if owner is None:
                raise InputError(f"{self._name} does not name the user of this memory", hint="name the user")
            try:
                where = validation.scope(owner, item.agent)
            except InputError as error:
                self._refused(error)
                continue
            self._users.add(owner)
            yield type(item), where, item

    def _refused(self, error: InputError) -> None:
        self._not_take(str(error)[:200], 1)

    def _not_take(self, reason: str, number: int) -> None:
        known = reason in self._not_taken or len(self._not_taken) < MAX_COUNTED_REASONS
        self._not_taken[reason if known else "another reason"] += number

    # ---- turns

    async def _write_turns(self, where: Scope, turns: list[Mapping[str, Any]]) -> None:
        try:
            await self._add(where, turns)
        except InputError as error:
            if len(turns) == 1:
                return self._refused(error)
            for turn in turns:  # store all but the invalid ones
                await self._write_turns(where, [turn])

    async def _add(self, where: Scope, turns: list[Mapping[str, Any]]) -> None:
        if self._dry_run:
            services = self._services
            valid = validation.turns(turns, where, services.now(), services.zone, services.limits)
            self._counts["turns"] += len(valid.turns)
            return
        fresh: dict[bytes, int] = {}  # counted once they are stored
        added = await self._runtime.store_turns(turns, where, replay=True, seen=ChainMap(fresh, self._seen))
        self._seen |= fresh
        self._counts.update(turns=added.stored, known=added.duplicates, forgotten=added.forgotten)

    # ---- blocks

    async def _write_blocks(self, where: Scope, items: list[ImportedBlock]) -> None:
        """Write blocks that do not exist yet and were not erased here."""
        secret, forgotten = await self._runtime.secret(), set(await self._services.store.tombstones(where.user))
        for item in items:
            here = {block.key for block in await self._services.store.blocks(where.user)}
            if (where.agent, item.label) in here:
                self._counts["known"] += 1
                continue
            try:
                new = await self._block(where, item)
            except InputError as error:
                self._refused(error)
                continue
            if erased_blocks.import_tombstone(secret, new) in forgotten:
                self._counts["forgotten"] += 1
                continue
            if not self._dry_run:
                await self._services.store.put_blocks(where.user, [new])
            self._counts["blocks"] += 1

    async def _block(self, where: Scope, item: ImportedBlock) -> Block:
        if not re.fullmatch(BLOCK_LABEL, item.label):
            raise InputError("a block with an invalid label")
        turn, _ = await self._runtime.check_statement({"role": "user", "content": item.value}, where)
        block = Block(
            scope=where, label=item.label, recorded=turn.recorded, value=turn.text, version=1,
            limit=max(item.limit or BLOCK_LIMIT, len(turn.text)),
            description=validation.text("description", item.description[:BLOCK_LIMIT], self._services.limits.memory),
            read_only=item.read_only, order=item.order, reason=f"imported from {self._name}",
            author="model",  # Letta's agents edit their blocks, and its files do not say who did
        )  # fmt: skip
        masked: Block = self._services.redact(block)
        return check_record(masked, self._services.limits)

    # ---- memories

    async def _write_memories(self, where: Scope, items: list[ImportedMemory]) -> None:
        accepted = [records for item in items if (records := await self._checked(where, item)) is not None]
        if self._dry_run or not accepted:
            for _, memories in accepted:
                self._counts[kind_of(memories[-1])] += 1
            return
        inserts = [insert for insert, _ in accepted]
        memories = [memory for _, several in accepted for memory in several]
        here = (await self._services.store.fetch(where.user, [memory.id for memory in memories])).records
        sources = tuple(insert.turn.key for insert in inserts)
        changes = ChangeSet(new=tuple(memories), done=sources)
        appended = await self._services.store.append(where.user, inserts, changes)
        for (_, several), outcome in zip(accepted, appended.outcomes, strict=True):
            known = several[-1].id in here
            name = "forgotten" if outcome == "forgotten" else "known" if known else kind_of(several[-1])
            self._counts[name] += 1

    async def _checked(
        self, where: Scope, item: ImportedMemory
    ) -> tuple[TurnInsert, list[Observation | Insight]] | None:
        try:
            insert, memories = await self._build(where, item)
            redacted = (self._services.redact(memory) for memory in memories)
            return insert, [check_record(memory, self._services.limits) for memory in redacted]
        except InputError as error:
            self._refused(error)
            return None

    async def _build(self, where: Scope, item: ImportedMemory) -> tuple[TurnInsert, list[Observation | Insight]]:
        """Build the source turn and its memories; an insight gets a statement of its text as its source."""
        limits, secret = self._services.limits, await self._runtime.secret()
        source = {"role": item.role, "content": item.text, "time": item.said, "session": item.session}
        source |= item.source or {}
        source["id"] = source.get("id") or self._key(item.id)
        turn, _ = await self._runtime.check_statement(source, where)
        text = validation.text("text", item.text, limits.memory)
        id, successor = self._id(secret, where.user, item.id), None
        if item.superseded_by is not None:
            successor = self._id(secret, where.user, item.superseded_by)
        insert, observation = statement(
            secret, turn, timed=True, name=item.name and validation.identifier("name", item.name),
            namespace=item.namespace and document_namespace(item.namespace),
            data=validation.json_object("data", item.data, limits), expires=item.expires,
        )  # fmt: skip
        observation = replace(observation, closed=item.closed, closed_said=item.closed)
        if item.subject is not None:
            insight = Insight(
                id=id, scope=observation.scope, text=text, sources=(observation.id,),
                said=observation.said, recorded=observation.recorded,
                subject=validation.text("subject", item.subject, limits.query), closed=item.closed,
                closed_said=item.closed, superseded_by=successor, origin=ORIGIN,
            )  # fmt: skip
            return insert, [observation, insight]
        observation = replace(observation, id=id, superseded_by=successor, happened=item.happened)
        if item.source is None:
            return insert, [observation]
        insert = replace(insert, turn=replace(insert.turn, statement=False))
        origin = observation.origin if observation.by_machine else ORIGIN
        return insert, [replace(observation, text=text, origin=origin)]

    def _key(self, id: str) -> str:
        """Derive the key of a memory's source: the memory's id, or its digest if that is too long."""
        encoded = f"{self._name}:{_checked_id(id)}".encode()
        short = len(encoded) <= validation.MAX_IDENTIFIER_BYTES
        return encoded.decode() if short else f"{self._name}:{sha256(id.encode()).hexdigest()}"

    def _id(self, secret: bytes, user: str, id: str) -> str:
        return digest(secret, "imported", user, self._name, _checked_id(id)).hex()


def _checked_id(id: str) -> str:
    if validation.text("id", id, len(id) * 4) != id:
        raise InputError("id has characters that are not text")
    return id


def kind_of(memory: Observation | Insight) -> str:
    return "insights" if isinstance(memory, Insight) else "observations"


# ---------------------------------------------------------------------------------------------------------------- whole


async def import_items(
    runtime: MemoryOperations, name: str, importer: Importer, sources: Sequence[Any], *,
    user: str | None, dry_run: bool, progress: Progress | None,
) -> ImportReport:  # fmt: skip
    """Read items in a thread, batch by batch, and write those that do not exist yet.

    Items before an error are written, as the error says; repeating the import continues after them.
    """
    writer, done = ItemWriter(runtime, name, user, dry_run=dry_run), 0
    try:
        async for batch in in_parts(_items(name, importer, sources), TURNS_PER_WRITE, _size):
            await writer.write(batch)
            done += len(batch)
            if progress:
                progress(done, None)
    except MemscopeError as error:
        if (stored := writer.stored_so_far()) and not dry_run:
            hint = error.hint or "try again"
            error.set_hint(f"{hint}; records stored before it: {stored:,}; repeating the import continues after them")
        raise
    return writer.report()


def _items(name: str, importer: Importer, sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the importer's items; convert its untyped errors to an ``InputError`` that names the sources."""
    try:
        for item in importer(sources):
            if not isinstance(item, ITEMS):
                raise TypeError(f"{type(item).__name__} is not an item of an import")
            yield item
    except MemscopeError:
        raise
    except Exception as error:
        files = ", ".join(repr(str(source)[:200]) for source in sources if isinstance(source, str | os.PathLike))
        message = f"importer {name!r} cannot read {files or 'its source'}: {type(error).__name__}"
        raise InputError(message, hint="check that it is complete, and a source of this importer") from error


def _size(item: Item) -> int:
    size, left = 0, [getattr(item, name) for name in item.__slots__]
    while left:
        value = left.pop()
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, Mapping):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
    return size
