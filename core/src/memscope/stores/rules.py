"""Rules shared by all stores: pure functions over loaded records, without I/O.

A store loads the records of a call, lets these functions decide, and writes the result. Lease times are microseconds
since 1970.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol, TypeAlias, TypeVar
from unicodedata import normalize

from memscope.errors import Conflict, InputError, LeaseLost
from memscope.records import (
    MAX_WAIT_S,
    SUMMARY_NAMESPACE,
    ChangeSet,
    Claim,
    Insight,
    Interval,
    Kind,
    Observation,
    Record,
    Revision,
    Select,
    Stage,
    Supersession,
    Turn,
    TurnInsert,
)
from memscope.records.filters import record_matches
from memscope.records.identity import stated_fact
from memscope.records.serialization import turn_key
from memscope.search.units import microseconds
from memscope.stores import MAX_ATTEMPTS, RecordKey

Memory: TypeAlias = Observation | Insight
CLOCKS_APART_S = 60.0  # tolerated difference between the clocks of two hosts
CLOSING_FIELDS = ("closed", "closed_said", "superseded_by", "valid_to", "open_valid_to")
STAGES: tuple[Stage, ...] = ("embed", "consolidate", "reflect")

# ---- ownership of records


def check_user(user: str, inserts: Iterable[TurnInsert], change_set: ChangeSet | None) -> None:
    """Raise ``InputError`` if any record belongs to another user."""
    records = [(insert.turn.key, insert.turn.scope) for insert in inserts]
    if change_set is not None:
        records += [(memory.id, memory.scope) for memory in change_set.new]
    for id, scope in records:
        if scope.user != user:
            raise InputError(f"record {id!r} belongs to user {scope.user!r}, not {user!r}")


def record_id(record: Record) -> str:
    return record.key if isinstance(record, Turn) else record.id


def record_key(number: int, record: Record) -> RecordKey:
    if isinstance(record, Turn):
        return RecordKey(number, record.key, "turn", microseconds(record.time))
    kind: Kind = "insight" if isinstance(record, Insight) else "observation"
    return RecordKey(number, record.id, kind, microseconds(record.said))


def free_key(base: bytes, taken: Callable[[str], bool]) -> str:
    """Find the turn key with the lowest free number, by exponential, then binary search."""
    low, high = 0, 1
    while taken(turn_key(base, high - 1)):
        low, high = high, 2 * high
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken(turn_key(base, middle - 1)) else (low, middle)
    return turn_key(base, high - 1)


# ---- stages


def next_stage(record: Record | None) -> Stage | None:
    """Return the stage that processes a new record next; None for statements and named memories."""
    if isinstance(record, Turn):
        return None if record.statement else "consolidate"
    return "reflect" if isinstance(record, Observation) and record.current and record.name is None else None


def same_text(old: Record, new: Record) -> bool:
    """True if both versions have the same embedder input, so that the vectors stay valid."""
    if isinstance(old, Turn) or isinstance(new, Turn):
        return False
    same_subject = getattr(old, "subject", "") == getattr(new, "subject", "")
    return (old.text, old.sources, old.said) == (new.text, new.sources, new.said) and same_subject


# ---- change sets


@dataclass(slots=True)
class MemoryState:
    """A memory in its new state. ``stored``: its stored version, None for a new one; ``older``: versions to archive."""

    record: Memory
    stored: Memory | None = None
    valid_to: datetime | None = None  # ``Memory.open_valid_to``, where an earlier memscope closed the memory
    older: list[Memory] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return self.record is not self.stored


@dataclass(frozen=True, slots=True)
class Applied:
    """Counts of an applied change set; ``unsourced``: sources of memories dropped because one was missing."""

    new: int
    other: int
    unsourced: frozenset[str]


class PendingChanges:
    """The memories that a change set touches: ``apply`` decides, then the store writes the states of ``changed``.

    The store loads the records of ``ids_of`` and ``names_of``. ``turns``: keys of stored turns; ``forgotten``: those of
    the new ids that have a tombstone.
    """

    def __init__(
        self, states: Iterable[MemoryState] = (), turns: Collection[str] = (), forgotten: Collection[str] = ()
    ) -> None:
        self.states = {state.record.id: state for state in states}
        self.turns, self.forgotten = turns, forgotten

    def changed(self) -> list[MemoryState]:
        """States to write, new memories first."""
        return sorted(
            (state for state in self.states.values() if state.changed), key=lambda state: state.stored is not None
        )

    def stored(self, id: str) -> bool:
        return id in self.states or id in self.turns

    def apply(self, change_set: ChangeSet) -> Applied:
        """Apply the whole change set to the states; raise ``Conflict`` before any of them changes."""
        for id, version in change_set.expected.items():
            if id not in self.states or self.states[id].record.version != version:
                raise Conflict(f"memory {id!r} changed meanwhile", hint="nothing was written; try again")
        for revision in change_set.revised:
            self.check(revision)
        derived = {one.id for one in change_set.new if isinstance(one, Insight) and one.origin == "reflect"}
        for closing in change_set.closed:  # two insights on one subject would be current
            if closing.by in derived and (old := self.states.get(closing.id)):
                if old.record.superseded_by not in (None, closing.by):
                    raise Conflict(f"insight {closing.id!r} changed meanwhile", hint="read it again, then reflect")
        outcomes = [(memory, self._create(memory)) for memory in change_set.new]
        closed = sum([self.close(closing) for closing in change_set.closed])
        for revision in change_set.revised:
            self.revise(revision.memory)
        dropped = [source for memory, outcome in outcomes if outcome is None for source in memory.sources]
        return Applied(sum(bool(new) for _, new in outcomes), closed + len(change_set.revised), frozenset(dropped))

    def check(self, revision: Revision) -> None:
        """Raise ``Conflict`` unless the expected version and all sources of the new one are stored."""
        memory, state = revision.memory, self.states.get(revision.memory.id)
        expected = (revision.expected, memory.scope.user)
        same = state is not None and (state.record.version, state.record.scope.user) == expected
        if not same or not all(map(self.stored, memory.sources)):
            raise Conflict(f"memory {memory.id!r} changed meanwhile", hint="read it again, then update")

    def _create(self, memory: Memory) -> bool | None:
        """Add a new memory. Return False if it exists, None if one of its sources is not stored."""
        if self.stored(memory.id) or memory.id in self.forgotten:
            return False
        if not memory.sources or not all(map(self.stored, memory.sources)):
            return None
        self.states[memory.id] = MemoryState(memory)
        self.take_name(memory)
        return True

    def take_name(self, memory: Memory) -> None:
        """Let a current memory supersede the current one of the same name."""
        if memory.name is None or not memory.current:
            return
        for other in [state.record for state in self.states.values()]:
            if other.current and (other.name, other.namespace) == (memory.name, memory.namespace):
                self.close(Supersession(other.id, memory.id, memory.recorded, memory.said, memory.valid_from))

    def close(self, closing: Supersession) -> bool:
        """Close an open memory; do nothing if the superseding memory is not stored."""
        state, missing = self.states.get(closing.id), closing.by is not None and not self.stored(closing.by)
        if state is None or state.record.closed is not None or missing or closing.by == closing.id:
            return False
        old = state.record
        closed = replace(old, closed=closing.at, closed_said=closing.said, superseded_by=closing.by)
        state.record = replace(closed, valid_to=closing.valid_to or old.valid_to, open_valid_to=old.valid_to)
        return True

    def revise(self, memory: Memory) -> None:
        """Replace a memory and archive the old version. A revision may close a memory; it never reopens one."""
        state = self.states[memory.id]
        old = state.record
        new = replace(memory, version=max(memory.version, old.version + 1))  # an import skips a summary's old versions
        if old.closed is not None:
            new = replace(new, **{name: getattr(old, name) for name in CLOSING_FIELDS})
        if old.namespace != SUMMARY_NAMESPACE:
            state.older.append(old)
        state.record = new
        self.take_name(new)

    def reopen(self, removed: Mapping[str, str | None]) -> set[str]:
        """Relink memories that a removed one superseded to its surviving successor; return those current again.

        Memories whose end it announced have none. ``removed``: the ``superseded_by`` of each removed memory.
        """
        opened = set()
        for id, state in self.states.items():
            old = state.record
            if id not in removed and old.announced_by in removed:
                valid_to = None if old.open_valid_to in (None, old.valid_to) else old.valid_to
                state.record = replace(old, valid_to=valid_to, open_valid_to=None, announced_by=None)
            if id in removed or state.record.superseded_by not in removed:
                continue
            successor = surviving_successor(state.record.superseded_by, removed)
            if successor is not None and successor != id and self.stored(successor):
                state.record = replace(state.record, superseded_by=successor)
            else:
                current: dict[str, Any] = dict.fromkeys(CLOSING_FIELDS)
                current["valid_to"] = state.record.open_valid_to or state.valid_to
                state.record, state.valid_to = replace(state.record, **current), None
                opened.add(id)
        return opened


def memories_of(change_set: ChangeSet) -> list[Memory]:
    return [*change_set.new, *(revision.memory for revision in change_set.revised)]


def ids_of(change_set: ChangeSet) -> set[str]:
    """Return the ids of all records that a change set refers to."""
    memories, ids = memories_of(change_set), set(change_set.expected)
    ids |= {memory.id for memory in memories} | {source for memory in memories for source in memory.sources}
    return ids | {id for closing in change_set.closed for id in (closing.id, closing.by) if id is not None}


def names_of(change_set: ChangeSet) -> set[tuple[str, str | None]]:
    """Return the names and namespaces of a change set's memories."""
    return {(memory.name, memory.namespace) for memory in memories_of(change_set) if memory.name is not None}


# ---- forgetting


class HasRecord(Protocol):
    @property
    def record(self) -> Record: ...


SomeRecord = TypeVar("SomeRecord", bound=HasRecord)


def cascade(derived: Iterable[SomeRecord], sources: Iterable[SomeRecord], *fallen: SomeRecord) -> list[SomeRecord]:
    """List what to remove with ``fallen``: what is derived from it, and of its sources statements and stated facts."""
    stated = {stated_fact(row.record) for row in fallen if isinstance(row.record, Insight)}
    statements = [row for row in sources if isinstance(row.record, Turn) and row.record.statement]
    return [*derived, *statements, *(row for row in sources if record_id(row.record) in stated)]


def sources_to_rederive(removed: Mapping[str, Record]) -> set[str]:
    """List the remaining sources of removed memories that lost another source, to process them again.

    A memory whose sources all remain was itself forgotten and is not derived again; nor is a summary.
    """
    memories = [record for record in removed.values() if not isinstance(record, Turn)]
    derived = [memory for memory in memories if memory.namespace != SUMMARY_NAMESPACE]
    fallen = [memory for memory in derived if any(source in removed for source in memory.sources)]
    return {source for memory in fallen for source in memory.sources} - removed.keys()


def surviving_successor(id: str | None, removed: Mapping[str, str | None]) -> str | None:
    """Follow the supersession of a removed memory to the first one that remains."""
    seen: set[str] = set()
    while id is not None and id in removed and id not in seen:
        seen.add(id)
        id = removed[id]
    return None if id in removed else id


# ---- selection


def selected(
    select: Select, record: Record, *, sessions: Callable[[], Collection[str | None]],
    waiting: Callable[[Stage], bool], derived: Callable[[], Iterable[Record]],
) -> bool:  # fmt: skip
    """Return whether a record meets all conditions.

    Callbacks, called only if a condition needs them: ``sessions`` of the turns it was derived from, ``waiting``
    (whether it waits for a stage), ``derived`` (memories derived from it).
    """
    return (
        _meets_fields(select, record)
        and (select.session is None or select.session in sessions())
        and (select.pending is None or (select.pending != "embed" and waiting(select.pending)))
        and not (select.live_at is not None and isinstance(record, Turn) and record.statement
                 and any(expired(memory, select.live_at) for memory in derived()))
        and in_words(select, record)
    )  # fmt: skip


def folded(text: str) -> str:
    """Fold case, and characters with accents, which macOS and some keyboards write as two code points."""
    return normalize("NFC", text).casefold()


def in_words(select: Select, record: Record) -> bool:
    """Return whether the record has the text and passes the metadata filter of the selection."""
    has_text = select.text is None or folded(select.text) in folded(record.text)
    return has_text and (select.filter is None or record_matches(select.filter, record))


def expired(record: Record, by: datetime) -> bool:
    return not isinstance(record, Turn) and record.expired(by)


def _meets_fields(select: Select, record: Record) -> bool:
    shared = select.agent in (None, record.scope.agent) and (select.ids is None or record_id(record) in select.ids)
    return shared and (_turn(select, record) if isinstance(record, Turn) else _memory(select, record))


def _turn(select: Select, turn: Turn) -> bool:
    of_memories = select.name is not None or select.namespace is not None or select.expired_by is not None
    return "turn" in select.kinds and not of_memories and (select.period is None or turn.time in select.period)


def _memory(select: Select, memory: Memory) -> bool:
    kind = "observation" if isinstance(memory, Observation) else "insight"
    return (
        kind in select.kinds
        and (select.period is None or _within(memory, select.period))
        and select.name in (None, memory.name)
        and select.namespace in (None, memory.namespace)
        and (memory.current or not select.current)
        and (select.expired_by is None or expired(memory, select.expired_by))
        and (select.live_at is None or not expired(memory, select.live_at))
    )


def _within(memory: Memory, period: Interval) -> bool:
    return memory.said in period or (memory.happened is not None and memory.happened.overlaps(period))


# ---- batches under a lease


@dataclass(slots=True)
class Batch:
    """State of a batch: pending (no token), leased (token, until), failed (code, not_before) or parked."""

    id: str
    stage: Stage
    token: str = ""
    until: int = 0
    attempt: int = 0
    code: str = ""
    not_before: int = 0
    parked: bool = False

    def leased(self, now: int) -> bool:
        return bool(self.token) and holds(self.until, now)

    def paused(self, now: int) -> bool:
        return holds(self.not_before, now)


SomeBatch = TypeVar("SomeBatch", bound=Batch)


def lane(stage: Stage) -> tuple[Stage, ...]:
    """Return the stages that share one lease per user."""
    return ("embed",) if stage == "embed" else ("consolidate", "reflect")


def latest_valid_lease(now: int, granted_s: float = MAX_WAIT_S) -> int:
    """Return the latest plausible end of a lease; a later one was written by a clock that ran ahead."""
    return now + int((granted_s + CLOCKS_APART_S) * 1e6)


def holds(until: int, now: int, granted_s: float = MAX_WAIT_S) -> bool:
    """True while a lease, or a pause before the next attempt, that ends at ``until`` is valid."""
    return now < until <= latest_valid_lease(now, granted_s)


def unfinished(batches: Iterable[SomeBatch], stage: Stage) -> SomeBatch | None:
    """Return the stage's oldest batch that is not parked."""
    return next((batch for batch in batches if batch.stage == stage and not batch.parked), None)


def claimable(batches: Collection[Batch], stage: Stage, now: int) -> bool:
    """True if the stage's lane has no live lease and its oldest batch is not paused."""
    first = unfinished(batches, stage)
    held = any(batch.leased(now) for batch in batches if batch.stage in lane(stage))
    return not held and (first is None or not first.paused(now))


def due(batches: Collection[Batch], stage: Stage, now: int, *, waiting: bool) -> int | None:
    """Compute when the stage can next be claimed; None without work. ``waiting``: unbatched items exist."""
    first = unfinished(batches, stage)
    if first is None and not waiting:
        return None
    leases = [batch.until for batch in batches if batch.stage in lane(stage) and batch.leased(now)]
    return max(now, *leases, first.not_before if first is not None and first.paused(now) else 0)


def lease(batches: Iterable[SomeBatch], batch: SomeBatch, until: int) -> list[SomeBatch]:
    """Lease a batch under a new token and revoke other leases of its lane; return the changed batches."""
    lost = [other for other in batches if other is not batch and other.token and other.stage in lane(batch.stage)]
    for other in lost:
        other.token = ""
    batch.token, batch.until, batch.attempt = secrets.token_hex(8), until, batch.attempt + 1
    return [*lost, batch]


def owned(batches: Iterable[SomeBatch], claim: Claim) -> SomeBatch:
    """Find the claim's batch; ``LeaseLost`` unless its token is the latest. An expired lease still counts."""
    for batch in batches:
        if (batch.id, batch.token, batch.stage) == (claim.id, claim.token, claim.stage):
            return batch
    raise LeaseLost(f"batch {claim.id!r} is another worker's now", hint="discard the result")


def fail(batch: Batch, code: str, not_before: int, *, counted: bool) -> bool:
    """End a lease with an error. Return True to drop the saved reply, since a conflicting one fails again."""
    batch.token, batch.until, batch.code, batch.not_before = "", 0, code, not_before
    batch.parked = counted and batch.attempt >= MAX_ATTEMPTS
    batch.attempt -= not counted
    return code == Conflict.code


def give_back(batch: Batch) -> None:
    batch.token, batch.until, batch.attempt = "", 0, batch.attempt - 1


def unpark(batch: Batch) -> None:
    batch.parked, batch.attempt, batch.not_before = False, 0, 0
