"""Apply change sets: load the records they name, decide, write. New memories are written before those they close.

All of it happens under the user's lock (``user_lock.py``). Every write is idempotent: a change set whose writer died is
applied again from its write-ahead intent, with the same numbers and ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from memscope.errors import StoreBusy
from memscope.records import ChangeSet, Insight, Observation, Revision, Stage, Supersession, Turn
from memscope.stores.rules import check_revision, same_text, waits_for
from memscope_elasticsearch.client import Body, Operation, Outcome
from memscope_elasticsearch.documents import (
    Stored,
    blank,
    document_id,
    documents,
    encode,
    scope_hash,
    unit_id,
    without_vectors,
)
from memscope_elasticsearch.session import Session

Memory: TypeAlias = Observation | Insight
ATTEMPTS = 20


@dataclass(slots=True)
class MemoryWrite:
    """A memory as it shall stand: ``stored`` as it stands now, if it does."""

    record: Memory
    stored: Stored | None = None
    number: int = 0
    wait: Stage | None = None
    supersedes: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)  # bodies of its earlier versions, oldest first
    valid_to: str | None = None  # what closing replaced
    revised: bool = False
    touched: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What a plan changed; ``unsourced``: the sources of memories dropped because one of them is not here."""

    new: int
    other: int
    unsourced: frozenset[str]


class PendingWrites:
    """What a plan touches, as it is and as it becomes."""

    def __init__(self, session: Session, user: str) -> None:
        self.session, self.user, self.scope = session, user, scope_hash(user)
        self.entries: dict[str, MemoryWrite] = {}
        self.turns: dict[str, Stored] = {}
        self.taken: dict[str, str] = {}  # of new ids: the kind of document that has them
        self.names: dict[tuple[str, str | None], str] = {}  # who holds a name
        self.held: Mapping[tuple[str, str | None], str] = {}  # who held it before

    # ---- reading

    async def read(self, plan: ChangeSet) -> None:
        """All that the plan names, and the turns that units are made from."""
        named = {(one.name, one.namespace) for one in _memories(plan) if one.name is not None}
        holders = await self.holders(named)
        ids = {one.id for one in _memories(plan)} | {id for c in plan.closed for id in (c.id, c.by) if id is not None}
        ids |= {source for one in plan.new for source in one.sources} | set(holders.values())
        ids |= {source for one in plan.revised for source in one.memory.sources}
        self.held, self.names = holders, dict(holders)
        self.taken = await self.session.taken(self.user, [one.id for one in plan.new])
        await self.load(ids)

    async def load(self, record_ids: Iterable[str]) -> None:
        found = await self.session.load(self.user, set(record_ids) - self.entries.keys() - self.turns.keys())
        self._keep(found)
        roots = {root for one in found.values() if not isinstance(one.record, Turn) for root in one.source["roots"]}
        self._keep(await self.session.load(self.user, roots - self.turns.keys()))

    def _keep(self, found: Mapping[str, Stored]) -> None:
        for record_id, one in found.items():
            if isinstance(one.record, Turn):
                self.turns[record_id] = one
            else:
                older, valid_to = list(one.source.get("older") or ()), one.source.get("valid_to")
                wait = one.source.get("wait")
                self.entries[record_id] = MemoryWrite(one.record, one, one.number, wait, older=older, valid_to=valid_to)

    async def holders(self, named: Iterable[tuple[str | None, str | None]]) -> dict[tuple[str, str | None], str]:
        wanted = [(name, space) for name, space in named if name is not None]
        if not wanted:
            return {}
        found = await self.session.cluster.documents([self._name_at(name, space) for name, space in wanted])
        pairs = zip(wanted, found, strict=True)
        return {key: one["_source"]["state"]["holder"] for key, one in pairs if "_source" in one}

    def _name_at(self, name: str, namespace: str | None) -> Body:
        id = document_id(self.scope, "name", repr(namespace), name)
        return {"_index": self.session.names.work, "_id": id, "routing": self.scope}

    def roots(self, memory: Memory) -> list[tuple[int, Turn]]:
        found: dict[int, Turn] = {}
        for source in memory.sources:
            turn, entry = self.turns.get(source), self.entries.get(source)
            if turn is not None and isinstance(turn.record, Turn):
                found[turn.number] = turn.record
            elif entry is not None and entry.record.id != memory.id:
                stored = entry.stored.source["roots"] if entry.stored and not entry.touched else None
                found |= self._known_roots(stored) if stored is not None else dict(self.roots(entry.record))
        return sorted(found.items())

    def _known_roots(self, roots: Iterable[str]) -> dict[int, Turn]:
        found = (self.turns[root] for root in roots if root in self.turns)
        return {one.number: one.record for one in found if isinstance(one.record, Turn)}

    def places(self, roots: Iterable[tuple[int, Turn]]) -> list[int]:
        """Of the turns that a memory rests on."""
        turns = (self.turns[turn.key] for _, turn in roots)
        return [place for one in turns for place in one.source.get("places") or ()]

    def made(self, entry: MemoryWrite) -> dict[str, Body]:
        roots = self.roots(entry.record)
        return documents(
            entry.record, entry.number, roots, wait=entry.wait, places=self.places(roots), supersedes=entry.supersedes
        )

    def here(self, record_id: str) -> bool:
        return record_id in self.entries or record_id in self.turns

    # ---- deciding, as stores/memory.py does

    def check(self, plan: ChangeSet, token: str) -> None:
        for revision in plan.revised:
            entry = self.entries.get(revision.memory.id)
            ours = entry is not None and entry.stored is not None and entry.stored.source.get("stamp") == token
            if not ours:
                sourced = all(map(self.here, revision.memory.sources))
                check_revision(revision, entry.record if entry else None, sourced=sourced)

    def decide(self, plan: ChangeSet, first: int, token: str) -> Written:
        new, other, unsourced = 0, 0, set[str]()
        for ordinal, memory in enumerate(plan.new):
            if memory.id in self.entries:
                self._settle_in(self.entries[memory.id])  # its writer may have died before this
            if memory.id in self.taken or memory.id in self.entries:
                continue
            if not memory.sources or not all(map(self.here, memory.sources)):
                unsourced |= set(memory.sources)
                continue
            new += 1
            self._create(memory, first + ordinal)
        for closing in plan.closed:
            other += self.close(closing)
        for revision in plan.revised:
            other += self._revise(revision, token)
        for id in plan.done:
            self.done(id)
        return Written(new, other, frozenset(unsourced))

    def _create(self, memory: Memory, number: int) -> None:
        entry = self.entries[memory.id] = MemoryWrite(memory, number=number, wait=waits_for(memory), touched=True)
        self._settle_in(entry)

    def _settle_in(self, entry: MemoryWrite) -> None:
        """A memory that is current takes its name from the one that had it."""
        memory = entry.record
        if memory.name is None or not memory.current:
            return
        holder = self.names.get((memory.name, memory.namespace))
        if holder is not None and holder != memory.id:
            self.close(Supersession(holder, memory.id, memory.recorded, memory.said, memory.valid_from))
        self.names[memory.name, memory.namespace] = memory.id

    def close(self, closing: Supersession) -> bool:
        """Close a memory that is open, unless what shall supersede it is not here."""
        entry = self.entries.get(closing.id)
        if entry is None or entry.record.closed is not None or closing.by == closing.id:
            return False
        if closing.by is not None and not self.here(closing.by):
            return False
        old = entry.record
        closed = replace(old, closed=closing.at, closed_said=closing.said, superseded_by=closing.by)
        entry.record, entry.touched, entry.wait = replace(closed, valid_to=closing.valid_to or old.valid_to), True, None
        entry.valid_to = old.valid_to.isoformat() if old.valid_to else None
        if closing.by is not None and closing.by in self.entries:
            self.entries[closing.by].supersedes.append(closing.id)
        return True

    def _revise(self, revision: Revision, token: str) -> bool:
        """The old version goes to history. A revision may close a memory; it never opens one that was closed."""
        entry = self.entries[revision.memory.id]
        if entry.stored is not None and entry.stored.source.get("stamp") == token:
            return False  # done before
        old = entry.record
        new = replace(revision.memory, version=old.version + 1)
        if old.closed is not None:
            kept = {name: getattr(old, name) for name in ("closed", "closed_said", "superseded_by", "valid_to")}
            new = replace(new, **kept)
        entry.older.append(encode(old))
        entry.record, entry.touched, entry.revised, entry.wait = new, True, True, waits_for(new)
        self._settle_in(entry)
        return True

    def done(self, record_id: str) -> None:
        entry = self.entries.get(record_id)
        if entry is not None and entry.wait is not None:
            entry.wait, entry.touched = None, True

    # ---- writing

    async def flush(self, token: str) -> None:
        """New ones, changed ones, names: in this order in one request."""
        touched = [entry for entry in self.entries.values() if entry.touched]
        created = [op for entry in touched if entry.stored is None for op in self._new(entry)]
        changed = [entry for entry in touched if entry.stored is not None]
        operations = created + [op for entry in changed for op in self.changes(entry, token)] + self._naming()
        if not operations:
            return
        outcomes = await self._write(operations)
        behind = {op.id for op, outcome in zip(operations, outcomes, strict=True) if op.version and not outcome.ok}
        for entry in changed:
            if entry.stored is not None and entry.stored.id in behind:
                await self._again(entry, token)

    async def _write(self, operations: Sequence[Operation]) -> list[Outcome]:
        outcomes = await self.session.cluster.bulk(operations)
        self.session.wrote(self.user, (op.id for op in operations if op.index == self.session.names.memory))
        return outcomes

    def _new(self, entry: MemoryWrite) -> list[Operation]:
        made = self.made(entry)
        first = next(iter(made.values()))
        first["valid_to"] = entry.valid_to
        return self.session.creates(self.scope, made)

    def changes(self, entry: MemoryWrite, token: str) -> list[Operation]:
        """The units anew; a vector stays where the text does."""
        stored = entry.stored
        assert stored is not None
        made = self.made(entry)
        same = same_text(stored.record, entry.record)
        older = list(stored.source.get("supersedes") or ())
        operations = []
        for part, (id, body) in enumerate(made.items()):
            if part == 0:
                body |= {"supersedes": older + entry.supersedes, "older": entry.older, "valid_to": entry.valid_to}
                body |= {
                    "rev": stored.source.get("rev", 1) + 1,
                    "stamp": token if entry.revised else stored.source.get("stamp"),
                }
            if not same:
                body |= without_vectors(self.session.vectors.numbers())
            version = stored.version if part == 0 else None
            action = "update" if part < stored.parts else "index"
            operations.append(Operation(action, self.session.names.memory, id, self.scope, body, version))
        extra = range(len(made), stored.parts)
        return operations + [self._blank(unit_id(self.scope, entry.record.id, p, entry.number)) for p in extra]

    def _blank(self, id: str) -> Operation:
        return Operation("index", self.session.names.memory, id, self.scope, blank(self.scope, self.session.now()))

    def _naming(self) -> list[Operation]:
        operations = []
        for (name, namespace), holder in self.names.items():
            if self.held.get((name, namespace)) != holder:
                at = self._name_at(name, namespace)
                body = {"scope": self.scope, "kind": "name", "state": {"holder": holder}}
                operations.append(Operation("index", at["_index"], at["_id"], self.scope, body))
        return operations

    async def _again(self, entry: MemoryWrite, token: str) -> None:
        """A vector came in meanwhile, which is no reason to stop; anything else means that the lock was lost."""
        for _ in range(ATTEMPTS):
            assert entry.stored is not None
            now = (await self.session.load(self.user, [entry.record.id])).get(entry.record.id)
            if now is None or now.source.get("rev", 1) != entry.stored.source.get("rev", 1):
                raise StoreBusy("another process wrote for this user meanwhile", hint="try again")
            entry.stored = now
            outcomes = await self._write(self.changes(entry, token))
            if outcomes[0].ok:
                return
        raise StoreBusy("a memory changes all the time", hint="try again")


def _memories(plan: ChangeSet) -> list[Memory]:
    return [*plan.new, *(revision.memory for revision in plan.revised)]


async def settle(session: Session, user: str, record_ids: Sequence[str], wait: Stage) -> None:
    """These records wait for that stage no more."""
    await set_waiting(session, user, dict.fromkeys(record_ids), only=wait)


async def set_waiting(
    session: Session, user: str, waits: Mapping[str, Stage | None], *, only: Stage | None = None
) -> None:
    """What each record waits for from now on; with ``only``, of those that wait for that."""
    left = dict(waits)
    for _ in range(ATTEMPTS):
        found = await session.load(user, left)
        todo = [
            one
            for record_id, one in found.items()
            if one.source.get("wait") != left[record_id] and only in (None, one.source.get("wait"))
        ]
        if not todo:
            return
        scope = scope_hash(user)
        operations = [
            Operation(
                "update", session.names.memory, one.id, scope, {"wait": left[str(one.source["rid"])]}, one.version
            )
            for one in todo
        ]
        outcomes = await session.cluster.bulk(operations)
        session.wrote()
        left = {
            str(one.source["rid"]): left[str(one.source["rid"])]
            for one, done in zip(todo, outcomes, strict=True)
            if not done.ok
        }
        if not left:
            return
    raise StoreBusy("records change all the time", hint="try again")


__all__ = ["MemoryWrite", "PendingWrites", "Written", "set_waiting", "settle"]
