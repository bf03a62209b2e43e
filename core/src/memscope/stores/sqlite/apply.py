"""Turns come in; plans are written: new memories, closed ones, revised ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from memscope.records import (
    AppendResult,
    ChangeSet,
    Insight,
    Observation,
    Record,
    Revision,
    Supersession,
    Turn,
    TurnInsert,
)
from memscope.records.serialization import turn_key
from memscope.stores.rules import check_revision, check_user, same_text
from memscope.stores.sqlite import queue, units
from memscope.stores.sqlite.checksummed import decode, encode
from memscope.stores.sqlite.transaction import Transaction
from memscope.text.units import microseconds

Memory: TypeAlias = Observation | Insight
Outcome: TypeAlias = Literal["stored", "duplicate", "forgotten"]

# ---- turns


def append(w: Transaction, inserts: Sequence[TurnInsert], plan: ChangeSet | None) -> AppendResult:
    check_user(w.name, inserts, plan)
    waiting: list[int] = []
    done = frozenset(plan.done) if plan is not None else frozenset()
    placed = [_place(w, draft, done, waiting) for draft in inserts]
    queue.enqueue(w, "consolidate", waiting)
    if plan is not None:
        write(w, plan)
    return AppendResult(tuple(key for key, _ in placed), tuple(outcome for _, outcome in placed))


def _place(w: Transaction, draft: TurnInsert, done: frozenset[str], waiting: list[int]) -> tuple[str, Outcome]:
    key = draft.turn.key if draft.base is None else free_key(draft.base, lambda key: _taken(w, key) is not None)
    taken = _taken(w, key) if draft.base is None else None
    if taken is not None:
        return key, taken
    number = _insert(w, replace(draft.turn, key=key, seq=w.number + 1), ())
    w.turns += 1
    if not draft.turn.statement and key not in done:
        waiting.append(number)
    return key, "stored"


_TAKEN = """
SELECT 1 FROM record WHERE user = :user AND id = :id UNION ALL SELECT 0 FROM tombstone WHERE user = :user AND id = :id
"""


def _taken(w: Transaction, id: str) -> Literal["duplicate", "forgotten"] | None:
    row = w.db.execute(_TAKEN, {"user": w.user, "id": id}).fetchone()
    return None if row is None else "duplicate" if row[0] else "forgotten"


def free_key(base: bytes, taken: Callable[[str], bool]) -> str:
    """The key with the first free n: doubling, then halving."""
    free, step = 0, 1
    while taken(turn_key(base, free)):
        free, step = free + step, step * 2
    low = free - step // 2 if free else 0
    while low < free:
        middle = (low + free) // 2
        if taken(turn_key(base, middle)):
            low = middle + 1
        else:
            free = middle
    return turn_key(base, free)


# ---- records


class Row(NamedTuple):
    """A record as it is kept, with its place and its units."""

    number: int
    unit: int
    units: int
    record: Record


def find(w: Transaction, id: str) -> Row | None:
    query = "SELECT number, unit, units, body FROM record WHERE user = ? AND id = ?"
    row = w.db.execute(query, (w.user, id)).fetchone()
    return Row(row[0], row[1], row[2], decode(row[3])) if row else None


def numbers(w: Transaction, ids: Iterable[str]) -> list[int]:
    """Of those that are here."""
    query = "SELECT number FROM record WHERE user = ? AND id = ?"
    found = (w.db.execute(query, (w.user, id)).fetchone() for id in dict.fromkeys(ids))
    return [row[0] for row in found if row]


def _insert(w: Transaction, record: Record, sources: Iterable[int]) -> int:
    w.number += 1
    _link(w, w.number, sources)
    made = units.put(w, w.number, record)
    fields = {"user": w.user, "number": w.number, **_columns(record), "unit": made[0], "units": made[1]}
    names, marks = ", ".join(f'"{name}"' for name in fields), ", ".join("?" * len(fields))
    w.db.execute(f"INSERT INTO record({names}) VALUES ({marks})", tuple(fields.values()))
    return w.number


def change(w: Transaction, row: Row, memory: Memory, **extra: str | None) -> None:
    """Put a memory in the place of its older self, with new units."""
    same = same_text(row.record, memory)
    unit, count = units.replace(w, row.number, memory, row.unit, row.units, same_text=same)
    fields = {**_columns(memory), **extra, "unit": unit, "units": count}
    names = ", ".join(f'"{name}" = ?' for name in fields)
    w.db.execute(f"UPDATE record SET {names} WHERE user = ? AND number = ?", (*fields.values(), w.user, row.number))


def _link(w: Transaction, number: int, sources: Iterable[int]) -> None:
    rows = [(w.user, number, source) for source in sources]
    w.db.executemany("INSERT INTO source(user, memory, source) VALUES (?, ?, ?)", rows)


def _columns(record: Record) -> dict[str, Any]:
    """What a record is selected by, and its body."""
    shared = {"agent": record.scope.agent, "body": encode(record)}
    if isinstance(record, Turn):
        time = microseconds(record.time)
        own = {
            "kind": 0,
            "id": record.key,
            "session": record.scope.session,
            "time": time,
            "statement": record.statement,
        }
        return {**shared, **own, "current": True}
    happened = record.happened
    return {
        **shared,
        "kind": 1 if isinstance(record, Observation) else 2,
        "id": record.id,
        "session": None,
        "time": microseconds(record.said),
        "start": _micros(happened.start if happened else None),
        "end": _micros(happened.end if happened else None),
        "statement": False,
        "current": record.current,
        "expires": _micros(record.expires),
        "name": record.name,
        "namespace": record.namespace,
        "superseded_by": record.superseded_by,
    }


def _micros(when: datetime | None) -> int | None:
    return None if when is None else microseconds(when)


# ---- plans


class Written(NamedTuple):
    """What a plan changed; ``unsourced``: the sources of memories dropped because one of them is not here."""

    new: int
    other: int
    unsourced: frozenset[str]


def write(w: Transaction, plan: ChangeSet) -> Written:
    """Write a plan; ``Conflict`` before anything is written when a revision expects another version."""
    check_user(w.name, (), plan)
    revised = [(_expected(w, revision), revision) for revision in plan.revised]
    outcomes = [(memory, _create(w, memory)) for memory in plan.new]
    closed = sum(_close(w, closing) for closing in plan.closed)
    for row, revision in revised:
        _revise(w, row, revision.memory)
    dropped = (memory.sources for memory, outcome in outcomes if outcome == "unsourced")
    new = sum(outcome == "new" for _, outcome in outcomes)
    return Written(new, closed + len(revised), frozenset(source for sources in dropped for source in sources))


def _create(w: Transaction, memory: Memory) -> Literal["new", "known", "unsourced"]:
    if _taken(w, memory.id) is not None:
        return "known"
    sources = numbers(w, memory.sources)
    if not sources or len(sources) < len(set(memory.sources)):
        return "unsourced"
    number = _insert(w, memory, sources)
    if isinstance(memory, Observation):
        w.observations += 1
    else:
        w.insights += 1
    _settle_in(w, number, memory)
    return "new"


def _settle_in(w: Transaction, number: int, memory: Memory) -> None:
    """A memory that is current takes its name from others and is looked at by reflection; documents are not."""
    if memory.current and memory.name is not None:
        _take_name(w, memory)
    elif memory.current and isinstance(memory, Observation):
        queue.enqueue(w, "reflect", [number])


def _take_name(w: Transaction, memory: Memory) -> None:
    query = "SELECT id FROM record WHERE user = ? AND name = ? AND namespace IS ? AND current = 1 AND id != ?"
    for (id,) in w.db.execute(query, (w.user, memory.name, memory.namespace, memory.id)).fetchall():
        _close(w, Supersession(id, memory.id, memory.recorded, memory.said, memory.valid_from))


def _close(w: Transaction, closing: Supersession) -> bool:
    """Close a memory that is open, unless what shall supersede it was not stored."""
    row = find(w, closing.id)
    if row is None or isinstance(row.record, Turn) or row.record.closed is not None or closing.by == closing.id:
        return False
    if closing.by is not None and not numbers(w, [closing.by]):
        return False
    old = row.record
    closed = replace(old, closed=closing.at, closed_said=closing.said, superseded_by=closing.by)
    before = old.valid_to.isoformat() if old.valid_to else None
    change(w, row, replace(closed, valid_to=closing.valid_to or old.valid_to), valid_to_before=before)
    queue.withdraw(w, "reflect", row.number)
    return True


def _expected(w: Transaction, revision: Revision) -> Row:
    row = find(w, revision.memory.id)
    sourced = len(numbers(w, revision.memory.sources)) == len(set(revision.memory.sources))
    check_revision(revision, row.record if row else None, sourced=sourced)
    assert row is not None
    return row


def _revise(w: Transaction, row: Row, memory: Memory) -> None:
    """The old version goes to history. A revision may close a memory; it never opens one that was closed meanwhile."""
    old = row.record
    if isinstance(old, Turn):
        return
    w.db.execute("INSERT INTO history VALUES (?, ?, ?, ?)", (w.user, row.number, old.version, encode(old)))
    new = replace(memory, version=old.version + 1)
    if old.closed is not None:
        closed = {name: getattr(old, name) for name in ("closed", "closed_said", "superseded_by", "valid_to")}
        new = replace(new, **closed)
    w.db.execute("DELETE FROM source WHERE user = ? AND memory = ?", (w.user, row.number))
    _link(w, row.number, numbers(w, new.sources))
    change(w, row, new)
    queue.withdraw(w, "reflect", row.number)
    _settle_in(w, row.number, new)
