"""Forgetting: what is selected, all that was derived from it, and every trace of both.

selected ──▶ derived from it, to the last; the statements of removed memories ──▶ removed
left: tombstones of keys and ids · sources given back to their stage · memories that are current again
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.records import ForgetReport, Select, Stage, Turn
from memscope.stores.sqlite import apply, jobs, queue, reading, units
from memscope.stores.sqlite.transaction import Transaction

_IN = "IN (SELECT value FROM json_each(?))"


@dataclass(slots=True)
class Removal:
    """What goes. ``kinds`` and ``ids`` by number; ``again`` are numbers whose stage has to look at them again."""

    kinds: dict[int, int]
    ids: dict[int, str]
    again: set[int]
    vectors: int

    def report(self, *, dry_run: bool) -> ForgetReport:
        kinds = list(self.kinds.values())
        return ForgetReport(
            turns=kinds.count(0),
            observations=kinds.count(1),
            insights=kinds.count(2),
            vectors=self.vectors,
            rederive=len(self.again),
            dry_run=dry_run,
            ids=tuple(self.ids.values()) if dry_run else (),
        )


def plan(db: sqlite3.Connection, user: int, select: Select) -> Removal:
    """What a forget would remove; nothing is changed."""
    gone = _cascade(db, user, set(reading.numbers(db, user, select)))
    query = f"SELECT number, kind, id FROM record WHERE user = ? AND number {_IN} ORDER BY number"
    rows = db.execute(query, (user, _list(gone))).fetchall()
    vectors = (
        "SELECT count(*) FROM record JOIN vector v ON v.user = record.user AND v.seq >= unit AND v.seq < unit + units"
        f" WHERE record.user = ? AND number {_IN} AND space = (SELECT space FROM space WHERE active = 1)"
    )
    return Removal(
        kinds={number: kind for number, kind, _ in rows},
        ids={number: id for number, _, id in rows},
        again=_fallen_from(db, user, gone),
        vectors=db.execute(vectors, (user, _list(gone))).fetchone()[0],
    )


def _list(numbers: Iterable[int]) -> str:
    return json.dumps(sorted(numbers))


def _cascade(db: sqlite3.Connection, user: int, chosen: set[int]) -> set[int]:
    derived = f"SELECT memory FROM source WHERE user = ? AND source {_IN}"
    statements = (
        "SELECT source FROM source JOIN record ON record.user = source.user AND number = source"
        f" WHERE source.user = ? AND statement = 1 AND memory {_IN}"
    )
    gone, fresh = set(chosen), set(chosen)
    while fresh:
        found = [db.execute(query, (user, _list(fresh))).fetchall() for query in (derived, statements)]
        fresh = {number for rows in found for (number,) in rows} - gone
        gone |= fresh
    return gone


def _fallen_from(db: sqlite3.Connection, user: int, gone: set[int]) -> set[int]:
    """What stays of the sources of memories that fell with another source.

    A memory that was removed for itself, with all its sources left, is not made again: that was what to forget.
    """
    rows = db.execute(
        f"SELECT memory, source FROM source WHERE user = ? AND memory {_IN}", (user, _list(gone))
    ).fetchall()
    fell = {memory for memory, source in rows if source in gone}
    left = {source for memory, source in rows if memory in fell} - gone
    return {number for number, _ in _looked_at(db, user, left)}


def remove(w: Transaction, removal: Removal) -> None:
    """Everything of it goes in this transaction, and what runs on it loses its lease."""
    gone = set(removal.ids)
    _stop_work(w, gone)
    reopened = _reopen(w, removal)
    for number in sorted(gone):
        _remove_record(w, number)
    w.db.executemany("INSERT OR IGNORE INTO tombstone VALUES (?, ?)", [(w.user, id) for id in removal.ids.values()])
    kinds = list(removal.kinds.values())
    w.turns -= kinds.count(0)
    w.observations -= kinds.count(1)
    w.insights -= kinds.count(2)
    _look_again(w, removal.again | reopened)
    for stage in queue.STAGES:
        queue.refresh(w.db, w.user, stage, w.now)


def _remove_record(w: Transaction, number: int) -> None:
    query = "SELECT unit, units FROM record WHERE user = ? AND number = ?"
    units.drop(w, *w.db.execute(query, (w.user, number)).fetchone())
    for statement in (
        "DELETE FROM record WHERE user = ? AND number = ?",
        "DELETE FROM source WHERE user = ? AND memory = ?",
        "DELETE FROM history WHERE user = ? AND number = ?",
        "DELETE FROM item WHERE user = ? AND stage IN ('consolidate', 'reflect') AND item = ?",
    ):
        w.db.execute(statement, (w.user, number))


def _stop_work(w: Transaction, gone: set[int]) -> None:
    """Batches with something forgotten in them dissolve.

    The others of this user lose lease and saved reply too: a model was shown the user's memories beside the batch, and
    what it made of those must not come back. That costs one call at most.
    """
    touched = f"SELECT DISTINCT batch FROM item WHERE user = ? AND stage = ? AND batch IS NOT NULL AND item {_IN}"
    for stage in queue.lane("consolidate"):
        for (batch,) in w.db.execute(touched, (w.user, stage, _list(gone))).fetchall():
            jobs.release(w, stage, batch)
            w.db.execute("DELETE FROM batch WHERE user = ? AND batch = ?", (w.user, batch))
    w.db.execute(
        "UPDATE batch SET token = NULL, until = NULL, plan = NULL WHERE user = ? AND stage != 'embed' AND done IS NULL",
        (w.user,),
    )


def _reopen(w: Transaction, removal: Removal) -> set[int]:
    """What a removed memory had superseded is current again, or superseded by whatever superseded that one."""
    heirs = _heirs(w, removal)
    reopened: set[int] = set()
    for id, heir in heirs.items():
        query = "SELECT number, id, valid_to_before FROM record WHERE user = ? AND superseded_by = ?"
        for number, old_id, before in w.db.execute(query, (w.user, id)).fetchall():
            row = apply.find(w, old_id)
            if number in removal.ids or row is None or isinstance(row.record, Turn):
                continue
            if heir is not None:
                apply.change(w, row, replace(row.record, superseded_by=heir))
                continue
            valid_to = datetime.fromisoformat(before) if before else None
            open_again = replace(row.record, closed=None, closed_said=None, superseded_by=None, valid_to=valid_to)
            apply.change(w, row, open_again, valid_to_before=None)
            reopened.add(number)
    return reopened


def _heirs(w: Transaction, removal: Removal) -> dict[str, str | None]:
    """For each removed memory the first one after it in its line that stays."""
    query = f"SELECT id, superseded_by FROM record WHERE user = ? AND kind > 0 AND number {_IN}"
    after: dict[str, str | None] = dict(w.db.execute(query, (w.user, _list(removal.ids))).fetchall())
    heirs = dict(after)
    for id in heirs:
        seen = {id}
        while (heir := heirs[id]) in after and heir not in seen:
            seen.add(heir)
            heirs[id] = after[heir]
        if heir is not None and not apply.numbers(w, () if heir in after else (heir,)):
            heirs[id] = None
    return heirs


def _look_again(w: Transaction, numbers: set[int]) -> None:
    rows = _looked_at(w.db, w.user, numbers)
    stages: tuple[tuple[Stage, int], ...] = (("consolidate", 0), ("reflect", 1))
    for stage, kind in stages:
        queue.enqueue(w, stage, [number for number, found in rows if found == kind])


def _looked_at(db: sqlite3.Connection, user: int, numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Number and kind of those that wait for a stage when they are new; statements and documents wait for none."""
    query = (
        f"SELECT number, kind FROM record WHERE user = ? AND number {_IN}"
        " AND statement = 0 AND kind < 2 AND current = 1 AND name IS NULL"
    )
    return db.execute(query, (user, _list(numbers))).fetchall()


def bury(w: Transaction, ids: Iterable[str]) -> None:
    """Tombstones from elsewhere, except for what is here."""
    rows = [(w.user, id) for id in ids if not apply.numbers(w, [id])]
    w.db.executemany("INSERT OR IGNORE INTO tombstone VALUES (?, ?)", rows)
