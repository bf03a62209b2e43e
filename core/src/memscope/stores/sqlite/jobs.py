"""Batches under a lease: pending -> leased -> extracted (plan saved) -> done; failed -> ... -> parked.

Every step is one statement of the writer's transaction and checks the token, so that of two workers who both believe to
have a batch only one can write.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from memscope.errors import Conflict, LeaseLost
from memscope.records import ChangeSet, Claim, Stage, Turn
from memscope.stores import PARK_AFTER
from memscope.stores.rules import furthest
from memscope.stores.sqlite import apply, queue, units, vectors
from memscope.stores.sqlite.checksummed import decode, decode_plan, encode_plan
from memscope.stores.sqlite.transaction import Transaction
from memscope.text.units import make_units, microseconds

USERS_AT_ONCE = 8
LOOKED_AT = 64
KEEP_DONE = timedelta(days=1) // timedelta(microseconds=1)


# ---- claims


def due_users(db: sqlite3.Connection, stage: Stage, now: int) -> list[tuple[int, str]]:
    """Users with something to claim, those who have waited longest first."""
    query = (
        "SELECT user, name FROM lane JOIN users USING(user) WHERE stage = ? AND (due <= ? OR due > ?)"
        " ORDER BY due LIMIT ?"
    )
    return db.execute(query, (stage, now, furthest(now), LOOKED_AT)).fetchall()


def claim(
    db: sqlite3.Connection, stage: Stage, limit: int, lease_s: float, now: datetime, user: tuple[int, str] | None
) -> list[Claim]:
    claims: list[Claim] = []
    for id, name in due_users(db, stage, microseconds(now)) if user is None else [user]:
        claims += _claim(db, id, name, stage, limit, now, now + timedelta(seconds=lease_s))
        if len(claims) == USERS_AT_ONCE:
            break
    return claims


def _claim(
    db: sqlite3.Connection, user: int, name: str, stage: Stage, limit: int, now: datetime, until: datetime
) -> list[Claim]:
    if queue.leased_until(db, user, stage, microseconds(now)) > microseconds(now):
        return []
    batch = queue.oldest_batch(db, user, stage) or _form(db, user, stage, limit)
    if batch is None or not _lease(db, user, stage, batch, microseconds(now), microseconds(until)):
        queue.refresh(db, user, stage, microseconds(now))
        return []
    row = db.execute("SELECT token, attempt, plan FROM batch WHERE user = ? AND batch = ?", (user, batch)).fetchone()
    items, texts = _texts(db, user, batch) if stage == "embed" else (_ids(db, user, batch), ())
    plan = decode_plan(row[2]) if row[2] else None
    return [Claim(str(batch), stage, name, row[0], until, row[1], items, texts, plan)]


def _form(db: sqlite3.Connection, user: int, stage: Stage, limit: int) -> int | None:
    """A new batch of what waits, in order."""
    query = "SELECT item FROM item WHERE user = ? AND stage = ? AND batch IS NULL ORDER BY item LIMIT ?"
    items = [item for (item,) in db.execute(query, (user, stage, limit))]
    if not items:
        return None
    made = "INSERT INTO batch(user, stage, first, last) VALUES (?, ?, ?, ?)"
    batch = db.execute(made, (user, stage, items[0], items[-1])).lastrowid
    taken = "UPDATE item SET batch = ? WHERE user = ? AND stage = ? AND batch IS NULL AND item BETWEEN ? AND ?"
    db.execute(taken, (batch, user, stage, items[0], items[-1]))
    return batch


def _lease(db: sqlite3.Connection, user: int, stage: Stage, batch: int, now: int, until: int) -> bool:
    """Give the batch a token; whoever held a lease of this lane that ran out has lost it for good."""
    if queue.paused_until(db, user, batch, now) > now:
        return False
    stages = json.dumps(queue.lane(stage))
    lost = "UPDATE batch SET token = NULL WHERE user = ? AND done IS NULL AND stage IN (SELECT value FROM json_each(?))"
    db.execute(lost, (user, stages))
    taken = "UPDATE batch SET token = ?, until = ?, attempt = attempt + 1 WHERE user = ? AND batch = ?"
    db.execute(taken, (secrets.token_hex(8), until, user, batch))
    waits = "UPDATE lane SET due = ? WHERE user = ? AND stage IN (SELECT value FROM json_each(?))"
    db.execute(waits, (until, user, stages))
    return True


_ITEMS = """
SELECT item FROM batch JOIN item USING(user, stage)
WHERE batch.user = :user AND batch.batch = :batch AND item.user = :user
    AND item.batch = :batch AND item BETWEEN first AND last ORDER BY item
"""


def _items(db: sqlite3.Connection, user: int, batch: int) -> list[int]:
    return [item for (item,) in db.execute(_ITEMS, {"user": user, "batch": batch})]


def _ids(db: sqlite3.Connection, user: int, batch: int) -> tuple[str, ...]:
    query = "SELECT id FROM record WHERE user = ? AND number = ?"
    return tuple(db.execute(query, (user, item)).fetchone()[0] for item in _items(db, user, batch))


def _texts(db: sqlite3.Connection, user: int, batch: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Unit ids of a batch and what an embedder gets for each, made from their records again."""
    items = _items(db, user, batch)
    made: dict[int, str] = {}
    for item in items:
        if item not in made:
            made |= _texts_of_record(db, user, item)
    return tuple(map(str, items)), tuple(made[item] for item in items)


def _texts_of_record(db: sqlite3.Connection, user: int, seq: int) -> dict[int, str]:
    query = (
        "SELECT record.number, unit, body FROM unit JOIN record USING(user, number)"
        " WHERE unit.user = ? AND seq = ? AND record.user = ?"
    )
    number, first, body = db.execute(query, (user, seq, user)).fetchone()
    record = decode(body)
    turns = [] if isinstance(record, Turn) else units.roots(db, user, number)
    return {unit.seq: unit.text for unit in make_units(record, number=number, seq=first, turns=turns)}


# ---- leases


def _owned(db: sqlite3.Connection, user: int, claim: Claim) -> tuple[int, str | None, int | None]:
    """The batch, its saved plan, and when it was done; ``LeaseLost`` when the token is another's."""
    query = "SELECT batch, plan, done FROM batch WHERE user = ? AND stage = ? AND token = ? AND batch = ?"
    row = db.execute(query, (user, claim.stage, claim.token, _number(claim.id))).fetchone()
    if row is None:
        raise LeaseLost(f"batch {claim.id!r} is another worker's now", hint="discard the result")
    batch, plan, done = row
    return batch, plan, done


def _open(db: sqlite3.Connection, user: int, claim: Claim) -> int:
    batch, _, done = _owned(db, user, claim)
    if done is not None:
        raise LeaseLost(f"batch {claim.id!r} is done", hint="claim another")
    return batch


def _number(id: str) -> int:
    return int(id) if id.isdecimal() and len(id) < 19 else -1


def extend(db: sqlite3.Connection, user: int, claim: Claim, until: datetime) -> Claim:
    batch = _open(db, user, claim)
    db.execute("UPDATE batch SET until = ? WHERE user = ? AND batch = ?", (microseconds(until), user, batch))
    waits = "UPDATE lane SET due = ? WHERE user = ? AND stage IN (SELECT value FROM json_each(?))"
    db.execute(waits, (microseconds(until), user, json.dumps(queue.lane(claim.stage))))
    return replace(claim, until=until)


def save_reply(db: sqlite3.Connection, user: int, claim: Claim, plan: ChangeSet) -> None:
    body = encode_plan(plan)
    batch = _open(db, user, claim)
    db.execute("UPDATE batch SET plan = ? WHERE user = ? AND batch = ?", (body, user, batch))


def complete(w: Transaction, claim: Claim, plan: ChangeSet | None) -> int:
    batch, saved, done = _owned(w.db, w.user, claim)
    if done is not None:
        return 0
    if plan is None:
        plan = decode_plan(saved) if saved else ChangeSet()
    written = apply.write(w, plan)
    if claim.stage == "embed":
        vectors.put_vectors(w, plan.vectors)
    dealt = _numbers(w, claim.stage, [item for item in plan.done if item not in written.unsourced])
    _close(w, claim.stage, batch, dealt)
    for stage in queue.STAGES:
        queue.refresh(w.db, w.user, stage, w.now)
    return written.new


def _numbers(w: Transaction, stage: Stage, items: Iterable[str]) -> list[int]:
    return [_number(item) for item in items] if stage == "embed" else apply.numbers(w, items)


def _close(w: Transaction, stage: Stage, batch: int, dealt: Sequence[int]) -> None:
    """The batch is done; items that are not are pending again. It stays a day, so that its worker can ask twice."""
    finished = "DELETE FROM item WHERE user = ? AND stage = ? AND item = ? AND batch = ?"
    w.db.executemany(finished, [(w.user, stage, item, batch) for item in dealt])
    release(w, stage, batch)
    w.db.execute("UPDATE batch SET done = ?, plan = NULL WHERE user = ? AND batch = ?", (w.now, w.user, batch))
    w.db.execute("DELETE FROM batch WHERE user = ? AND done < ?", (w.user, w.now - KEEP_DONE))


def release(w: Transaction, stage: Stage, batch: int) -> None:
    left = [(w.user, stage, item) for item in _items(w.db, w.user, batch)]
    w.db.executemany("UPDATE item SET batch = NULL WHERE user = ? AND stage = ? AND item = ?", left)


def fail(w: Transaction, claim: Claim, code: str, not_before: datetime, counted: bool) -> None:
    """A reply that conflicts with what is stored now would do so for ever: it goes, and the model is asked again."""
    batch = _open(w.db, w.user, claim)
    w.db.execute(
        "UPDATE batch SET token = NULL, until = NULL, code = ?, not_before = ?, parked = ? AND attempt >= ?,"
        " attempt = attempt - ?, plan = CASE WHEN ? THEN NULL ELSE plan END WHERE user = ? AND batch = ?",
        (code, microseconds(not_before), counted, PARK_AFTER, not counted, code == Conflict.code, w.user, batch),
    )
    for stage in queue.lane(claim.stage):
        queue.refresh(w.db, w.user, stage, w.now)


def give_back(w: Transaction, claim: Claim) -> None:
    batch = _open(w.db, w.user, claim)
    w.db.execute(
        "UPDATE batch SET token = NULL, until = NULL, attempt = attempt - 1 WHERE user = ? AND batch = ?",
        (w.user, batch),
    )
    for stage in queue.lane(claim.stage):
        queue.refresh(w.db, w.user, stage, w.now)


def parked_users(db: sqlite3.Connection) -> list[str]:
    query = "SELECT DISTINCT name FROM batch JOIN users USING(user) WHERE parked = 1"
    return [name for (name,) in db.execute(query)]


def unpark(w: Transaction, stages: Iterable[Stage]) -> int:
    count = 0
    for stage in stages:
        query = (
            "UPDATE batch SET parked = 0, attempt = 0, not_before = NULL WHERE user = ? AND stage = ? AND parked = 1"
        )
        count += w.db.execute(query, (w.user, stage)).rowcount
        queue.refresh(w.db, w.user, stage, w.now)
    return count
