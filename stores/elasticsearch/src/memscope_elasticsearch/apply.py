"""Apply change sets: load the records they refer to, decide by ``stores/rules.py``, write.

Everything happens under the user's lock (``user_lock.py``). New memories are written before those they close, and every
write is idempotent: if the writer dies, the next one replays the change set from its write-ahead intent, with the same
numbers and ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from memscope.errors import StoreBusy
from memscope.records import ChangeSet, Stage, Turn
from memscope.stores.rules import (
    Applied,
    Memory,
    MemoryState,
    PendingChanges,
    ids_of,
    names_of,
    next_stage,
    same_text,
)
from memscope_elasticsearch.answers import OperationResult
from memscope_elasticsearch.client import Body, BulkOperation
from memscope_elasticsearch.documents import (
    Stored,
    blank,
    document_at,
    documents,
    encode,
    scope_hash,
    unit_id,
    without_vectors,
)
from memscope_elasticsearch.session import Session

Name: TypeAlias = tuple[str, str | None]  # name and namespace
MAX_APPLY_ATTEMPTS = 20


class PendingWrites:
    """The records that a change set touches, and the documents to write for them."""

    def __init__(self, session: Session, user: str) -> None:
        self.session, self.user, self.scope = session, user, scope_hash(user)
        self.turns: dict[str, Stored] = {}
        self.memories: dict[str, Stored] = {}
        self.changes = PendingChanges(turns=self.turns)
        self._numbers: dict[str, int] = {}  # numbers of new memories
        self._done: set[str] = set()  # ids of memories that no longer wait for a stage
        self._names: set[Name] = set()  # names that the change set assigns
        self._holders: dict[Name, str] = {}  # ids of the memories that had these names before

    # ---- reading

    async def read(self, change_set: ChangeSet) -> None:
        """Load the records that a change set refers to, and the turns for their units."""
        self._names = names_of(change_set)
        self._holders = await self._holders_of(self._names)
        self.changes.forgotten = await self.session.taken(self.user, [memory.id for memory in change_set.new])
        await self.load(ids_of(change_set) | set(self._holders.values()))

    async def load(self, record_ids: Iterable[str]) -> None:
        entries = await self.session.load(self.user, set(record_ids) - self.memories.keys() - self.turns.keys())
        self._keep(entries)
        memories = [entry for entry in entries.values() if not isinstance(entry.record, Turn)]
        roots = {root for entry in memories for root in entry.source["roots"]}
        self._keep(await self.session.load(self.user, roots - self.turns.keys()))

    def _keep(self, entries: Mapping[str, Stored]) -> None:
        for record_id, entry in entries.items():
            if isinstance(entry.record, Turn):
                self.turns[record_id] = entry
            else:
                self.memories[record_id] = entry
                before = entry.source.get("valid_to")
                valid_to = datetime.fromisoformat(before) if before else None
                self.changes.states[record_id] = MemoryState(entry.record, entry.record, valid_to)

    async def _holders_of(self, names: Iterable[Name]) -> dict[Name, str]:
        wanted = list(names)
        documents = await self.session.cluster.documents([self._name_at(name) for name in wanted])
        pairs = zip(wanted, documents, strict=True)
        return {name: document["_source"]["state"]["holder"] for name, document in pairs if "_source" in document}

    def _name_at(self, name: Name) -> Body:
        return document_at(self.session.names.work, self.scope, "name", repr(name[1]), name[0])

    # ---- deciding

    def decide(self, change_set: ChangeSet, first: int, token: str) -> Applied:
        """Apply a change set in memory, or raise ``Conflict``. Revisions stamped with ``token`` were written before."""
        self._numbers = {memory.id: first + place for place, memory in enumerate(change_set.new)}
        for memory in change_set.new:
            if memory.id in self.memories:  # a replay: the writer may have died before it wrote the name
                self.changes.take_name(self.changes.states[memory.id].record)
        left = tuple(revision for revision in change_set.revised if not self._written(revision.memory.id, token))
        expected = {id: one for id, one in change_set.expected.items() if not self._written(id, token)}
        applied = self.changes.apply(replace(change_set, revised=left, expected=expected))
        self._done = {id for id in change_set.done if id in self.changes.states}
        return applied

    def _written(self, memory_id: str, token: str) -> bool:
        return memory_id in self.memories and self.memories[memory_id].source.get("stamp") == token

    def _wait(self, state: MemoryState) -> Stage | None:
        stored = self.memories.get(state.record.id)
        if state.record.id in self._done:
            return None
        return next_stage(state.record) if state.changed or stored is None else stored.source.get("wait")

    def _superseded_by(self, memory: Memory) -> list[str]:
        """List the memories that this one supersedes in this change set."""
        return [
            state.record.id
            for state in self.changes.states.values()
            if state.record.superseded_by == memory.id and (state.stored is None or state.stored.superseded_by is None)
        ]

    # ---- documents

    def _roots(self, memory: Memory) -> list[tuple[int, Turn]]:
        roots: dict[int, Turn] = {}
        for source in memory.sources:
            turn, state = self.turns.get(source), self.changes.states.get(source)
            if turn is not None and isinstance(turn.record, Turn):
                roots[turn.number] = turn.record
            elif state is not None and source != memory.id:
                known = state.stored is not None and not state.changed
                roots |= self._known_roots(source) if known else dict(self._roots(state.record))
        return sorted(roots.items())

    def _known_roots(self, memory_id: str) -> dict[int, Turn]:
        turns = (self.turns[root] for root in self.memories[memory_id].source["roots"] if root in self.turns)
        return {entry.number: entry.record for entry in turns if isinstance(entry.record, Turn)}

    def _bodies(self, state: MemoryState) -> dict[str, Body]:
        """Build the documents of a memory, by id; the first contains the record."""
        memory, roots = state.record, self._roots(state.record)
        stored = self.memories.get(memory.id)
        number = stored.number if stored is not None else self._numbers[memory.id]
        places = [place for _, turn in roots for place in self.turns[turn.key].source.get("places") or ()]
        supersedes = self._superseded_by(memory)
        bodies = documents(memory, number, roots, wait=self._wait(state), places=places, supersedes=supersedes)
        next(iter(bodies.values()))["valid_to"] = state.valid_to.isoformat() if state.valid_to else None
        return bodies

    # ---- writing

    async def flush(self, token: str) -> None:
        """Write new memories, changed ones and names, in this order in one request."""
        changed = self.changes.changed()
        unchanged = (state for state in self.changes.states.values() if not state.changed)
        changed += [state for state in unchanged if self._wait(state) != self._waited(state)]
        created = [op for state in changed if state.stored is None for op in self._new(state)] + self._further_units()
        updated = {self.memories[state.record.id].id: state for state in changed if state.stored is not None}
        operations = created + [op for state in updated.values() for op in self._update(state, token)] + self._naming()
        if not operations:
            return
        outcomes = await self._write(operations)
        behind = {op.id for op, outcome in zip(operations, outcomes, strict=True) if op.version and not outcome.ok}
        for id in behind & updated.keys():
            await self._again(updated[id], token)

    def _waited(self, state: MemoryState) -> Stage | None:
        waited: Stage | None = self.memories[state.record.id].source.get("wait")
        return waited

    async def _write(self, operations: Sequence[BulkOperation]) -> list[OperationResult]:
        outcomes = await self.session.cluster.bulk(operations)
        self.session.wrote(self.user, (op.id for op in operations if op.index == self.session.names.memory))
        return outcomes

    def _new(self, state: MemoryState) -> list[BulkOperation]:
        return self.session.creates(self.scope, self._bodies(state))

    def _further_units(self) -> list[BulkOperation]:
        """Create the further units of a replay's stored memories: their writer may have died between two requests."""
        long = [id for id in self._numbers if id in self.memories and self.memories[id].parts > 1]
        return [operation for id in long for operation in self._new(self.changes.states[id])[1:]]

    def _update(self, state: MemoryState, token: str) -> list[BulkOperation]:
        """Replace the units; vectors stay if the text is the same."""
        stored, bodies = self.memories[state.record.id], self._bodies(state)
        first = next(iter(bodies.values()))
        first["supersedes"] = [*(stored.source.get("supersedes") or ()), *self._superseded_by(state.record)]
        first["older"] = [*(stored.source.get("older") or ()), *map(encode, state.older)]
        first["rev"] = stored.source.get("rev", 1) + 1
        first["stamp"] = token if state.older else stored.source.get("stamp")
        nothing = {} if same_text(stored.record, state.record) else without_vectors(self.session.vectors.numbers())
        operations = []
        for part, (id, body) in enumerate(bodies.items()):
            version = stored.version if part == 0 else None
            action = "update" if part < stored.parts else "index"
            operations.append(
                BulkOperation(action, self.session.names.memory, id, self.scope, {**body, **nothing}, version)
            )
        extra = range(len(bodies), stored.parts)
        return operations + [self._blank(unit_id(self.scope, state.record.id, p, stored.number)) for p in extra]

    def _blank(self, id: str) -> BulkOperation:
        return BulkOperation("index", self.session.names.memory, id, self.scope, blank(self.scope, self.session.now()))

    def _naming(self) -> list[BulkOperation]:
        """Build the operations that assign names to their new memories."""
        named = [(state.changed, state.record) for state in self.changes.states.values() if state.record.current]
        holders = {
            (memory.name, memory.namespace): memory.id
            for changed, memory in named
            if memory.name is not None and (changed or (memory.name, memory.namespace) in self._names)
        }
        operations = []
        for name, holder in holders.items():
            if self._holders.get(name) != holder:
                body = {"scope": self.scope, "kind": "name", "state": {"holder": holder}}
                at = self._name_at(name)
                operations.append(BulkOperation("index", at["_index"], at["_id"], self.scope, body))
        return operations

    async def _again(self, state: MemoryState, token: str) -> None:
        """Retry after a vector was written concurrently; any other change means that the lock was lost."""
        id = state.record.id
        for _ in range(MAX_APPLY_ATTEMPTS):
            now = (await self.session.load(self.user, [id])).get(id)
            if now is None or now.source.get("rev", 1) != self.memories[id].source.get("rev", 1):
                raise StoreBusy("another process wrote for the same user meanwhile", hint="try again")
            self.memories[id] = now
            outcomes = await self._write(self._update(state, token))
            if outcomes[0].ok:
                return
        raise StoreBusy("too many processes write the same memory at once", hint="try again")


async def settle(session: Session, user: str, record_ids: Sequence[str], wait: Stage) -> None:
    """Take records off the waiting list of a stage."""
    await set_waiting(session, user, dict.fromkeys(record_ids), only=wait)


async def set_waiting(
    session: Session, user: str, waits: Mapping[str, Stage | None], *, only: Stage | None = None
) -> None:
    """Set the stage that each record waits for; ``only``: leave records that wait for another stage."""
    left = dict(waits)
    for _ in range(MAX_APPLY_ATTEMPTS):
        entries = await session.load(user, left)
        todo = [
            entry
            for record_id, entry in entries.items()
            if entry.source.get("wait") != left[record_id] and only in (None, entry.source.get("wait"))
        ]
        if not todo:
            return
        scope = scope_hash(user)
        operations = [
            BulkOperation(
                "update", session.names.memory, entry.id, scope, {"wait": left[str(entry.source["rid"])]}, entry.version
            )
            for entry in todo
        ]
        outcomes = await session.cluster.bulk(operations)
        session.wrote()
        left = {
            str(entry.source["rid"]): left[str(entry.source["rid"])]
            for entry, done in zip(todo, outcomes, strict=True)
            if not done.ok
        }
        if not left:
            return
    raise StoreBusy("too many processes write these records at once", hint="try again")
