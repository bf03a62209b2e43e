"""Records of one user: insert turns, apply change sets, read, forget.

Each function decides before it writes, so that an error leaves nothing half done even without a rollback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from memscope.stores import block_rules, rules
from memscope.stores.local.transaction import Row, UserTransaction
from memscope.stores.removal import Removal
from memscope.stores.rules import Applied, Memory, MemoryState, PendingChanges, record_id, waits_for
from memscope.text.units import Unit, make_units, numbered, units_version

LocalRemoval: TypeAlias = Removal[Row, Row]

# ---- records


def _insert(tx: UserTransaction, record: Record, valid_to: datetime | None = None, units: Sequence[Unit] = ()) -> int:
    tx.number += 1
    _put(tx, Row(tx.number, record, valid_to=valid_to), units)
    return tx.number


def _put(tx: UserTransaction, row: Row, made: Sequence[Unit] = ()) -> None:
    """Store a record with new units, or those ``made`` of a turn before. Its sources must be stored."""
    memory = None if isinstance(row.record, Turn) else row.record
    turns = roots(tx, memory) if memory else []
    seq = tx.revision + 1
    units = numbered(made, row.number, seq) or make_units(row.record, number=row.number, seq=seq, turns=turns)
    row.unit, row.units = tx.revision + 1, len(units)
    tx.revision += len(units)
    tx.put(row, numbers_of(tx, memory.sources) if memory else (), units)
    if tx.space is not None:
        tx.enqueue("embed", [unit.seq for unit in units])


def _change(tx: UserTransaction, row: Row, record: Record) -> None:
    """Replace a record by its new version; if its text did not change, the new units keep the vectors."""
    kept = tx.vectors(row) if record is row.record or rules.same_text(row.record, record) else []
    first, count = row.unit, row.units
    _drop_units(tx, row)
    row.record = record
    _put(tx, row)
    for space, unit, data in kept if row.units == count else ():
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
    """Returns the turns a memory rests on, with their numbers."""
    found: dict[int, Turn] = {}
    seen: set[str] = set()
    waiting = set(memory.sources)
    while waiting:
        seen |= waiting
        rows = list(tx.find(waiting).values())
        found.update((row.number, row.record) for row in rows if isinstance(row.record, Turn))
        waiting = {source for row in rows if not isinstance(row.record, Turn) for source in row.record.sources} - seen
    return sorted(found.items())


def turns_of(tx: UserTransaction, row: Row) -> list[Turn]:
    """Returns the turn itself, or those a memory rests on."""
    return [row.record] if isinstance(row.record, Turn) else [turn for _, turn in roots(tx, row.record)]


def numbers_of(tx: UserTransaction, ids: Iterable[str]) -> list[int]:
    """Returns the record numbers of the stored ids."""
    return sorted({number for number in tx.known(ids).values() if number})


def derive_units(tx: UserTransaction) -> None:
    """Rebuild all units of a user from the texts, after a change of the terms."""
    after: int | None = 0
    while after is not None:
        page, after = tx.select(Select(""), after)
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
    """``units``: those of each turn, if they were made before."""
    placed = _allot_keys(tx, inserts)
    triples = zip(inserts, placed, units or [()] * len(inserts), strict=True)
    fresh = [(key, one.turn, made) for one, (key, outcome), made in triples if outcome == "stored"]
    loaded = _load(tx, change_set, [key for key, *_ in fresh]) if change_set is not None else None
    if change_set is not None and loaded is not None:
        loaded.changes.apply(change_set)
    done = frozenset(change_set.done) if change_set is not None else frozenset()
    stored = [
        (_insert(tx, replace(turn, key=key, seq=tx.number + 1), units=made), key, turn) for key, turn, made in fresh
    ]
    waiting = [number for number, key, turn in stored if waits_for(turn) and key not in done]
    tx.enqueue("consolidate", waiting)
    if loaded is not None:
        _write(tx, loaded)
    return AppendResult(tuple(key for key, _ in placed), tuple(outcome for _, outcome in placed))


def _allot_keys(tx: UserTransaction, inserts: Sequence[TurnInsert]) -> list[tuple[str, AppendOutcome]]:
    first = [one.turn.key if one.base is None else turn_key(one.base, 0) for one in inserts]
    asked, known = set(first), tx.known(first)
    placed: list[tuple[str, AppendOutcome]] = []
    for one, key in zip(inserts, first, strict=True):
        if one.base is not None and key in known:
            key = rules.free_key(one.base, lambda key: key in known or (key not in asked and bool(tx.known([key]))))
        outcome: AppendOutcome = "stored" if key not in known else "duplicate" if known[key] else "forgotten"
        known.setdefault(key, -1)
        placed.append((key, outcome))
    return placed


@dataclass(slots=True)
class Loaded:
    """Records a change set touches: loaded for the decision, and as rows."""

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


def _loaded(rows: dict[str, Row], buried: Iterable[str] = (), fresh: Iterable[str] = ()) -> Loaded:
    memories = [(row, row.record) for row in rows.values() if not isinstance(row.record, Turn)]
    states = [MemoryState(memory, memory, row.valid_to) for row, memory in memories]
    turns = {id for id, row in rows.items() if isinstance(row.record, Turn)}
    return Loaded(PendingChanges(states, turns.union(fresh), set(buried)), rows)


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
        if (stage := waits_for(state.record)) is not None:
            tx.enqueue(stage, [number])


# ---- reading


def fetch(tx: UserTransaction, handles: Sequence[Handle]) -> FetchResult:
    rows = tx.find(handles)
    asked: dict[int, list[Handle]] = {}
    for handle, row in rows.items():
        asked.setdefault(row.number, []).append(handle)
    derived: dict[Handle, tuple[Memory, ...]] = {}
    for source, row in tx.derived(asked):
        if not isinstance(row.record, Turn):
            for handle in asked[source]:
                derived[handle] = (*derived.get(handle, ()), row.record)
    return FetchResult({handle: row.record for handle, row in rows.items()}, derived)


def history(tx: UserTransaction, id: str) -> list[Memory]:
    """Returns the versions of a memory and of those linked to it by supersession, oldest first."""
    seen, waiting, rows = set[str](), {id}, dict[int, Row]()
    while waiting:
        seen |= waiting
        found = [*tx.find(waiting).values(), *tx.superseded(waiting)]
        rows.update((row.number, row) for row in found if not isinstance(row.record, Turn))
        linked = {one for row in found for one in (record_id(row.record), getattr(row.record, "superseded_by", None))}
        waiting = {one for one in linked if one is not None} - seen
    memories = [(number, row.record) for number, row in sorted(rows.items()) if not isinstance(row.record, Turn)]
    versions = [version for number, memory in memories for version in [*tx.older(number), memory]]
    return sorted(versions, key=lambda memory: memory.recorded)


# ---- forgetting


def plan_removal(tx: UserTransaction, select: Select, serving: VectorSpace | None, now: datetime) -> LocalRemoval:
    """Returns a removal of the selected records, all derived from them, and the statements made for them."""
    gone: dict[str, Row] = {}
    fresh = {record_id(row.record): row for row in select_all(tx, select)}
    while fresh:
        gone |= fresh
        derived = [row for _, row in tx.derived([row.number for row in fresh.values()])]
        records = [row.record for row in fresh.values()]
        sources = {source for one in records if not isinstance(one, Turn) for source in one.sources}
        falling = rules.falls_with(derived, tx.find(sources - gone.keys()).values())
        fresh = {record_id(row.record): row for row in falling if record_id(row.record) not in gone}
    rows = dict(sorted(gone.items(), key=lambda pair: pair[1].number))
    left = tx.find(rules.left_behind({id: row.record for id, row in rows.items()}))
    again = [row for row in left.values() if waits_for(row.record) is not None]
    vectors = sum(space == serving for row in rows.values() for space, _, _ in tx.vectors(row))
    return Removal(rows, again, vectors, block_rules.plan_removal(select, rows, tx.blocks(versions=True), now))


def select_all(tx: UserTransaction, select: Select) -> list[Row]:
    rows: list[Row] = []
    after: int | None = 0
    while after is not None:
        page, after = tx.select(select, after)
        rows += page
    return rows


def remove(tx: UserTransaction, removal: LocalRemoval) -> None:
    """Remove the records, leave tombstones, and make the remaining sources pending again."""
    _stop_work(tx, {row.number for row in removal.rows.values()})
    _reopen(tx, removal)
    for row in removal.rows.values():
        _drop_units(tx, row)
        tx.remove(row)
    for block in removal.blocks.dropped:
        tx.drop_block(block)
    for block in removal.blocks.made:
        tx.put_block(block)
    tx.bury(removal.rows)
    for row in removal.again:
        if (stage := waits_for(row.record)) is not None:
            tx.enqueue(stage, [row.number])


def _stop_work(tx: UserTransaction, gone: set[int]) -> None:
    """Dissolve the batches with a forgotten item.

    The user's other batches lose lease and saved reply too: the model was shown the user's memories beside the batch,
    and its reply to them must not come back. The cost is at most one call.
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
    heirs = {one for id in removed if (one := rules.heir(id, removed)) is not None}
    rows = _rows(tx, heirs) | {record_id(row.record): row for row in tx.superseded(removed)}
    loaded = _loaded({id: row for id, row in rows.items() if id not in removed})
    loaded.changes.reopen(removed)
    _write(tx, loaded)
