"""Write imported items: turns as ``add_turns`` does, memories with their sources, batch by batch, nothing twice."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from hashlib import sha256
from itertools import groupby, islice
from typing import Any, Protocol

from memscope import validation
from memscope.errors import InputError
from memscope.records import (
    BLOCK_LABEL,
    BLOCK_LIMIT,
    AddReport,
    Block,
    ChangeSet,
    Insight,
    Observation,
    Scope,
    Turn,
    TurnInsert,
)
from memscope.records.identity import digest, statement
from memscope.stores import Store
from memscope.transfer import Progress
from memscope.transfer.importers import ImportedBlock, ImportedMemory, ImportedTurn, ImportReport, Item, NotTaken
from memscope.validation import Limits

BATCH = 500
ORIGIN = "import"  # of memories that do not say their own words


class Edge(Protocol):
    """The part of a ``Runtime`` that validates what is written and passes it through the plugins' hooks."""

    store: Store
    limits: Limits
    zone: tzinfo | None

    def now(self, zone: tzinfo | None = None) -> datetime: ...
    async def secret(self) -> bytes: ...
    async def store_turns(
        self, turns: Sequence[Mapping[str, Any] | Turn], where: Scope, *, replay: bool = False
    ) -> AddReport: ...
    async def check_statement(self, given: Mapping[str, Any], where: Scope) -> tuple[Turn, bool]: ...


class ItemWriter:
    """Writes the items of one source. ``user`` owns all of it, where given."""

    def __init__(self, edge: Edge, name: str, user: str | None, *, dry_run: bool) -> None:
        self._edge, self._name, self._user, self._dry_run = edge, name, user, dry_run
        self._counts: Counter[str] = Counter()
        self._not_taken: Counter[str] = Counter()
        self._users: set[str] = set()

    def report(self) -> ImportReport:
        parts = ("turns", "observations", "insights", "known", "forgotten", "blocks")
        counts = {part: self._counts[part] for part in parts}
        return ImportReport(**counts, users=len(self._users), not_taken=dict(self._not_taken), dry_run=self._dry_run)

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
        """Every item with its kind and its place; what has none is counted."""
        for item in items:
            if isinstance(item, NotTaken):
                self._not_taken[item.reason] += item.number
                continue
            try:
                owner = self._user or item.user
                if owner is None:
                    raise InputError(f"{self._name} does not say whose memory this is", hint="name the user")
                where = validation.scope(owner, item.agent)
            except InputError as error:
                if self._user is None and item.user is None:
                    raise
                self._refused(error)
                continue
            self._users.add(owner)
            yield type(item), where, item

    def _refused(self, error: InputError) -> None:
        self._not_taken[str(error)[:200]] += 1

    # ---- turns

    async def _write_turns(self, where: Scope, turns: list[Mapping[str, Any]]) -> None:
        try:
            await self._add(where, turns)
        except InputError as error:
            if len(turns) == 1:
                return self._refused(error)
            for turn in turns:  # one of them cannot be taken: the others are
                await self._write_turns(where, [turn])

    async def _add(self, where: Scope, turns: list[Mapping[str, Any]]) -> None:
        if self._dry_run:
            edge = self._edge
            valid = validation.turns(turns, where, edge.now(), edge.zone, edge.limits)
            self._counts["turns"] += len(valid.turns)
            return
        added = await self._edge.store_turns(turns, where, replay=True)
        self._counts.update(turns=added.stored, known=added.duplicates, forgotten=added.forgotten)

    # ---- blocks

    async def _write_blocks(self, where: Scope, items: list[ImportedBlock]) -> None:
        """A block that is here stays as it is."""
        for item in items:
            here = {block.key for block in await self._edge.store.blocks(where.user)}
            if (where.agent, item.label) in here:
                self._counts["known"] += 1
                continue
            try:
                made = await self._block(where, item)
            except InputError as error:
                self._refused(error)
                continue
            if not self._dry_run:
                await self._edge.store.put_blocks(where.user, [made])
            self._counts["blocks"] += 1

    async def _block(self, where: Scope, item: ImportedBlock) -> Block:
        if not re.fullmatch(BLOCK_LABEL, item.label):
            raise InputError("a block whose label is none here")
        turn, _ = await self._edge.check_statement({"role": "user", "content": item.value}, where)
        return Block(
            scope=where, label=item.label, recorded=turn.recorded, value=turn.text, version=1,
            limit=max(item.limit or BLOCK_LIMIT, len(turn.text)), description=item.description[:BLOCK_LIMIT],
            read_only=item.read_only, order=item.order, reason=f"imported from {self._name}",
        )  # fmt: skip

    # ---- memories

    async def _write_memories(self, where: Scope, items: list[ImportedMemory]) -> None:
        made = [one for item in items if (one := await self._made(where, item)) is not None]
        if self._dry_run or not made:
            for _, memories in made:
                self._counts[kind_of(memories[-1])] += 1
            return
        inserts = [insert for insert, _ in made]
        memories = [memory for _, several in made for memory in several]
        here = (await self._edge.store.fetch(where.user, [memory.id for memory in memories])).records
        sources = tuple(insert.turn.key for insert in inserts)
        changes = ChangeSet(new=tuple(memories), done=sources)
        appended = await self._edge.store.append(where.user, inserts, changes)
        for (_, several), outcome in zip(made, appended.outcomes, strict=True):
            known = several[-1].id in here
            name = "forgotten" if outcome == "forgotten" else "known" if known else kind_of(several[-1])
            self._counts[name] += 1

    async def _made(self, where: Scope, item: ImportedMemory) -> tuple[TurnInsert, list[Observation | Insight]] | None:
        """The source and the memory that rests on it; an insight rests on a statement of its own words."""
        given = {
            "role": "user",
            "content": item.text,
            "time": item.said,
            "session": item.session,
            **(item.source or {}),
        }
        given["id"] = given.get("id") or self._key(item.id)
        try:
            turn, _ = await self._edge.check_statement(given, where)
            text = validation.text("text", item.text, self._edge.limits.text)
            secret = await self._edge.secret()
            successor = item.superseded_by and self._id(secret, where.user, item.superseded_by)
            insert, said = statement(
                secret, turn, timed=True, name=item.name and validation.identifier("name", item.name),
                namespace=item.namespace and validation.identifier("namespace", item.namespace),
                data=validation.json_object("data", item.data, self._edge.limits), expires=item.expires,
            )  # fmt: skip
        except InputError as error:
            self._refused(error)
            return None
        id = self._id(secret, where.user, item.id)
        said = replace(said, closed=item.closed, closed_said=item.closed)
        if item.subject is not None:
            insight = Insight(
                id=id, scope=said.scope, text=text, sources=(said.id,), said=said.said, recorded=said.recorded,
                subject=item.subject, closed=item.closed, closed_said=item.closed, superseded_by=successor,
                origin=ORIGIN,
            )  # fmt: skip
            return insert, [said, insight]
        said = replace(said, id=id, superseded_by=successor, happened=item.happened)
        if item.source is None:
            return insert, [said]
        return replace(insert, turn=replace(insert.turn, statement=False)), [replace(said, text=text, origin=ORIGIN)]

    def _key(self, id: str) -> str:
        """The key of a memory's own source: its id, or a digest where that is no identifier."""
        short = len(f"{self._name}:{id}".encode()) <= validation.MAX_IDENTIFIER
        return f"{self._name}:{id if short else sha256(id.encode()).hexdigest()}"

    def _id(self, secret: bytes, user: str, id: str) -> str:
        return digest(secret, "imported", user, self._name, id).hex()


def kind_of(memory: Observation | Insight) -> str:
    return "insights" if isinstance(memory, Insight) else "observations"


async def import_items(
    edge: Edge, name: str, items: Iterable[Item], *, user: str | None, dry_run: bool, progress: Progress | None
) -> ImportReport:
    """Read ``items`` on a thread, batch by batch, and write them. What is here already is left alone."""
    writer, source, done = ItemWriter(edge, name, user, dry_run=dry_run), iter(items), 0
    while batch := await asyncio.to_thread(lambda: list(islice(source, BATCH))):
        await writer.write(batch)
        done += len(batch)
        if progress:
            progress(done, None)
    return writer.report()
