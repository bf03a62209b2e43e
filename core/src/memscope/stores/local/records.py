"""Records of one user: insert turns, apply change sets, read, forget.

Each function decides before it writes, so that an error leaves no partial change even without a rollback.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from memscope.records import (
    AppendOutcome,
    AppendResult,
    ChangeSet,
    FetchResult,
    Handle,
    Record,
    Select,
    Turn,
    TurnInsert,
    VectorSpace,
)
from memscope.records.serialization import turn_key
from memscope.search.units import Unit, make_units, numbered, units_version
from memscope.stores import block_rules, rules
from memscope.stores.local.transaction import RecordRows, Row, UserTransaction
from memscope.stores.removal import Removal, statements_of
from memscope.stores.rules import Applied, Memory, MemoryState, PendingChanges, next_stage, record_id

LocalRemoval: TypeAlias = Removal[Row, Row]

# ---- records


def _insert(tx: UserTransaction, record: Record, valid_to: datetime | None = None, units: Sequence[Unit] = ()) -> int:
    tx.number += 1
    _put(tx, Row(tx.number, record, valid_to=valid_to), units)
    return tx.number


def _put(tx: UserTransaction, row: Row, precomputed: Sequence[Unit] = ()) -> None:
    """Store a record with its units, ``precomputed`` for some turns. Its sources must be stored already."""
    memory = None if isinstance(row.record, Turn) else row.record
    turns = roots(tx, memory) if memory else []
    seq = tx.revision + 1
    units = numbered(precomputed, row.number, seq) or make_units(row.record, number=row.number, seq=seq, turns=turns)
    row.unit, row.units = tx.revision + 1, len(units)
    tx.revision += len(units)
    tx.put(row, numbers_of(tx, memory.sources) if memory else (), units)
    if tx.space is not None:
        tx.enqueue("embed", [unit.seq for unit in units])


def _change(tx: UserTransaction, row: Row, record: Record) -> None:
    """Replace a record by its new version; vectors stay if the text is unchanged."""
    vectors = tx.vectors(row) if record is row.record or rules.same_text(row.record, record) else []
    first, count = row.unit, row.units
    _drop_units(tx, row)
    row.record = record
    _put(tx, row)
    for space, unit, data in vectors if row.units == count else ():
        put_vector(tx, space, unit - first + row.unit, data)


def put_vector(tx: UserTransaction, space: VectorSpace, unit: int, data: bytes) -> None:
    tx.revision += 1
    tx.put_vector(space, unit, data)
    if space == tx.space:
        tx.dequeue("embed", [unit], batched=True)


def _drop_units(tx: UserTransaction, row: Row) -> None:
    if row.units:
        tx.revision += 1
        tx.drop_units(row)


def roots(tx: UserTransaction, memory: Memory) -> list[tuple[int, Turn]]:
    """Find the numbered turns from which a memory was derived, directly or through other memories."""
    turns: dict[int, Turn] = {}
    seen: set[str] = set()
    waiting = set(memory.sources)
    while waiting:
        seen |= waiting
        rows = list(tx.find(waiting).values())
        turns.update((row.number, row.record) for row in rows if isinstance(row.record, Turn))
        waiting = {source for row in rows if not isinstance(row.record, Turn) for source in row.record.sources} - seen
    return sorted(turns.items())


def turns_of(tx: UserTransaction, row: Row) -> list[Turn]:
    """Return the turn itself, or the turns from which a memory was derived."""
    return [row.record] if isinstance(row.record, Turn) else [turn for _, turn in roots(tx, row.record)]


def numbers_of(tx: UserTransaction, ids: Iterable[str]) -> list[int]:
    return sorted({number for number in tx.known(ids).values() if number})


def derive_units(tx: UserTransaction) -> None:
    """Rebuild all units of a user from the texts after a change of ``units_version``."""
    for page in _pages(tx, Select("")):
        for row in page:
            _change(tx, row, row.record)
    tx.revision += 1
    tx.floor, tx.terms = tx.revision, units_version


# ---- turns and change sets


def append(
    tx: UserTransaction,
    inserts: Sequence[TurnInsert],
    change_set: ChangeSet | None,
    units: Sequence[Sequence[Unit]] = (),
) -> AppendResult:
    """``units``: precomputed units per insert."""
    placed = _allot_keys(tx, inserts)
    triples = zip(inserts, placed, units or [()] * len(inserts), strict=True)
    fresh = [(key, insert.turn, precomputed) for insert, (key, outcome), precomputed in triples if outcome == "stored"]
    loaded = _load(tx, change_set, [key for key, *_ in fresh]) if change_set is not None else None
    if change_set is not None and loaded is not None:
        loaded.changes.apply(change_set)
    done = frozenset(change_set.done) if change_set is not None else frozenset()
    waiting: list[int] = []
    for key, turn, precomputed in fresh:
        number = _insert(tx, replace(turn, key=key, seq=tx.number + 1), units=precomputed)
        if next_stage(turn) and key not in done:
            waiting.append(number)
    tx.enqueue("consolidate", waiting)
    if loaded is not None:
        _write(tx, loaded)
    return AppendResult(tuple(key for key, _ in placed), tuple(outcome for _, outcome in placed))


def first_keys(inserts: Iterable[TurnInsert]) -> list[str]:
    """List the keys that ``append`` looks up first."""
    return [insert.turn.key if insert.base is None else turn_key(insert.base, 0) for insert in inserts]


def _allot_keys(tx: UserTransaction, inserts: Sequence[TurnInsert]) -> list[tuple[str, AppendOutcome]]:
    first = first_keys(inserts)
    requested, known = set(first), tx.known(first)
    placed: list[tuple[str, AppendOutcome]] = []
    for insert, key in zip(inserts, first, strict=True):
        if insert.base is not None and key in known:
            key = rules.free_key(
                insert.base, lambda key: key in known or (key not in requested and bool(tx.known([key])))
            )
        outcome: AppendOutcome = "stored" if key not in known else "duplicate" if known[key] else "forgotten"
        known.setdefault(key, -1)
        placed.append((key, outcome))
    return placed


@dataclass(slots=True)
class Loaded:
    """The records that a change set touches, as stored rows and as ``PendingChanges``."""

    changes: PendingChanges
    rows: dict[str, Row]


def _load(tx: UserTransaction, change_set: ChangeSet, fresh: Iterable[str] = ()) -> Loaded:
    rows = _rows(tx, rules.ids_of(change_set))
    for name, namespace in rules.names_of(change_set):
        rows |= {record_id(row.record): row for row in tx.holders(name, namespace)}
    known = tx.known(memory.id for memory in change_set.new if memory.id not in rows)
    return _loaded(rows, {id for id, number in known.items() if not number}, fresh)


def _rows(tx: UserTransaction, ids: Iterable[str]) -> dict[str, Row]:
    return {record_id(row.record): row for row in tx.find(ids).values()}


def _loaded(rows: dict[str, Row], forgotten: Iterable[str] = (), fresh: Iterable[str] = ()) -> Loaded:
    memories = [(row, row.record) for row in rows.values() if not isinstance(row.record, Turn)]
    states = [MemoryState(memory, memory, row.valid_to) for row, memory in memories]
    turns = {id for id, row in rows.items() if isinstance(row.record, Turn)}
    return Loaded(PendingChanges(states, turns.union(fresh), set(forgotten)), rows)


def apply(tx: UserTransaction, change_set: ChangeSet) -> int:
    applied = write(tx, change_set)
    done = numbers_of(tx, change_set.done)
    for stage in rules.lane("consolidate"):
        tx.dequeue(stage, done)
    return applied.new + applied.other


def write(tx: UserTransaction, change_set: ChangeSet) -> Applied:
    loaded = _load(tx, change_set)
    applied = loaded.changes.apply(change_set)
    _write(tx, loaded)
    return applied


def _write(tx: UserTransaction, loaded: Loaded) -> None:
    for state in loaded.changes.changed():
        row = loaded.rows.get(state.record.id)
        if row is None:
            number = _insert(tx, state.record, state.valid_to)
        else:
            number, row.valid_to = row.number, state.valid_to
            for older in state.older:
                tx.keep_older(number, older)
            _change(tx, row, state.record)
            tx.dequeue("reflect", [number])
        if (stage := next_stage(state.record)) is not None:
            tx.enqueue(stage, [number])


# ---- reading


def fetch(tx: RecordRows, handles: Sequence[Handle]) -> FetchResult:
    rows = tx.find(handles)
    handles_of: dict[int, list[Handle]] = {}
    for handle, row in rows.items():
        handles_of.setdefault(row.number, []).append(handle)
    derived: dict[Handle, tuple[Memory, ...]] = {}
    for source, row in tx.derived(handles_of):
        if not isinstance(row.record, Turn):
            for handle in handles_of[source]:
                derived[handle] = (*derived.get(handle, ()), row.record)
    return FetchResult({handle: row.record for handle, row in rows.items()}, derived)


def history(tx: UserTransaction, id: str) -> list[Memory]:
    """Return the versions of a memory and of those linked to it by supersession, oldest first."""
    seen, waiting, rows = set[str](), {id}, dict[int, Row]()
    while waiting:
        seen |= waiting
        linked = [*tx.find(waiting).values(), *tx.superseded(waiting)]
        rows.update((row.number, row) for row in linked if not isinstance(row.record, Turn))
        ids = {id for row in linked for id in (record_id(row.record), getattr(row.record, "superseded_by", None))}
        waiting = {id for id in ids if id is not None} - seen
    memories = [(number, row.record) for number, row in sorted(rows.items()) if not isinstance(row.record, Turn)]
    versions = [version for number, memory in memories for version in [*tx.older(number), memory]]
    return sorted(versions, key=lambda memory: memory.recorded)


# ---- forgetting


def plan_removal(tx: UserTransaction, select: Select, serving: VectorSpace | None, now: datetime) -> LocalRemoval:
    """Plan the removal of the selected records and of the memories and statements that depend on them."""
    gone: dict[str, Row] = {}
    fresh = {record_id(row.record): row for row in select_all(tx, select)}
    while fresh:
        gone |= fresh
        derived = [row for _, row in tx.derived([row.number for row in fresh.values()])]
        sources = tx.find(statements_of(fresh.values(), gone)).values()
        falling = rules.cascade(derived, sources, *fresh.values())
        fresh = {record_id(row.record): row for row in falling if record_id(row.record) not in gone}
    rows = dict(sorted(gone.items(), key=lambda pair: pair[1].number))
    left = tx.find(rules.sources_to_rederive({id: row.record for id, row in rows.items()}))
    again = [row for row in left.values() if next_stage(row.record) is not None]
    vectors = sum(space == serving for row in rows.values() for space, _, _ in tx.vectors(row))
    return Removal(rows, again, vectors, block_rules.plan_removal(select, rows, tx.blocks(versions=True), now))


def select_all(tx: UserTransaction, select: Select) -> list[Row]:
    return [row for page in _pages(tx, select) for row in page]


def _pages(tx: UserTransaction, select: Select) -> Iterator[list[Row]]:
    after: int | None = 0
    while after is not None:
        page, after = tx.select(select, after)
        yield page


def remove(tx: UserTransaction, removal: LocalRemoval) -> None:
    """Remove the records, leave tombstones, and make the remaining sources pending again."""
    _stop_work(tx, {row.number for row in removal.rows.values()})
    _reopen(tx, removal)
    for row in removal.rows.values():
        _drop_units(tx, row)
        tx.remove(row)
    for block in removal.blocks.dropped:
        tx.drop_block(block)
    for block in removal.blocks.replacements:
        tx.put_block(block)
    tx.add_tombstones(removal.rows)
    for row in removal.again:
        if (stage := next_stage(row.record)) is not None:
            tx.enqueue(stage, [row.number])


def _stop_work(tx: UserTransaction, gone: set[int]) -> None:
    """End the batches with a forgotten item; the user's other batches lose lease and saved reply.

    The model was shown the user's memories beside each batch, so its reply may contain what was forgotten. The cost is
    at most one model call.
    """
    for batch in [batch for batch in tx.batches() if batch.stage != "embed"]:
        if gone.isdisjoint(tx.items(batch)):
            batch.token, batch.until = "", 0
            tx.save(batch)
            tx.keep_reply(batch, None)
        else:
            tx.end(batch, done=False)


def _reopen(tx: UserTransaction, removal: LocalRemoval) -> None:
    memories = [(id, row.record) for id, row in removal.rows.items() if not isinstance(row.record, Turn)]
    removed = {id: memory.superseded_by for id, memory in memories}
    if not removed:
        return
    successors = {id for removed_id in removed if (id := rules.surviving_successor(removed_id, removed)) is not None}
    announced = {id for _, memory in memories for id in memory.announces}
    rows = _rows(tx, successors | announced) | {record_id(row.record): row for row in tx.superseded(removed)}
    loaded = _loaded({id: row for id, row in rows.items() if id not in removed})
    loaded.changes.reopen(removed)
    _write(tx, loaded)
