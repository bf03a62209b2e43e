"""Batches under a lease, and vector spaces.

pending -> leased -> reply saved -> done, or failed -> leased -> ... -> parked
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from memscope.records import ChangeSet, Claim, Stage, Turn, VectorSpace
from memscope.search.units import microseconds, unit_texts
from memscope.stores import rules
from memscope.stores.local import records
from memscope.stores.local.transaction import Transaction, UserTransaction
from memscope.stores.rules import STAGES, Batch, check_user, record_id, record_key
from memscope.stores.spaces import Spaces, check_declared, checked_vectors

USERS_PER_CLAIM = 8

# ---- claims


def claim(
    tx: Transaction, names: Iterable[str], stage: Stage, limit: int, now: datetime, lease_s: float
) -> list[Claim]:
    """Claim at most one batch per user, for the first ``USERS_PER_CLAIM`` users with work."""
    until = now + timedelta(seconds=lease_s)
    users = ((name, tx.find_user(name)) for name in names)
    claims = (_claim(user, name, stage, limit, now, until) for name, user in users if user is not None)
    return list(islice((claim for claim in claims if claim is not None), USERS_PER_CLAIM))


def _claim(tx: UserTransaction, name: str, stage: Stage, limit: int, now: datetime, until: datetime) -> Claim | None:
    batch = _lease(tx, stage, limit, microseconds(now), microseconds(until))
    refresh(tx, rules.lane(stage), microseconds(now))
    if batch is None:
        return None
    items = tx.items(batch)
    claimed = {row.number: row.record for row in tx.find(items).values()} if stage != "embed" else {}
    if stage == "reflect":
        items.sort(key=lambda item: (record_key(item, claimed[item]).said, item))
    texts = _texts(tx, items) if stage == "embed" else ()
    named = tuple(record_id(claimed[item]) for item in items) if stage != "embed" else tuple(map(str, items))
    return Claim(batch.id, stage, name, batch.token, until, batch.attempt, named, texts, tx.reply(batch))


def _lease(tx: UserTransaction, stage: Stage, limit: int, now: int, until: int) -> Batch | None:
    batches = tx.batches()
    if not rules.claimable(batches, stage, now):
        return None
    batch = rules.unfinished(batches, stage)
    if batch is None:
        items = tx.waiting(stage, limit, by_said=stage == "reflect")
        batch = tx.form(stage, items) if items else None
    for changed in rules.lease(batches, batch, until) if batch is not None else ():
        tx.save(changed)
    return batch


def refresh(tx: UserTransaction, stages: Iterable[Stage], now: int) -> None:
    """Update when the user is next due in these stages."""
    batches = tx.batches()
    for stage in stages:
        tx.set_due(stage, rules.due(batches, stage, now, waiting=bool(tx.waiting(stage, 1))))


def _texts(tx: UserTransaction, units: list[int]) -> tuple[str, ...]:
    """Rebuild the embedder's input of each unit from its record."""
    texts: dict[int, str] = {}
    for row in tx.rows_of(units):
        turns = [] if isinstance(row.record, Turn) else records.roots(tx, row.record)
        texts |= dict(enumerate(unit_texts(row.record, turns), row.unit))
    return tuple(texts[unit] for unit in units)


def extend(tx: UserTransaction, claim: Claim, until: datetime, now: int) -> Claim:
    batch = rules.owned(tx.batches(), claim)
    batch.until = microseconds(until)
    _saved(tx, batch, now)
    return replace(claim, until=until)


def _saved(tx: UserTransaction, batch: Batch, now: int) -> None:
    tx.save(batch)
    refresh(tx, rules.lane(batch.stage), now)


def save_reply(tx: UserTransaction, claim: Claim, change_set: ChangeSet) -> None:
    tx.keep_reply(rules.owned(tx.batches(), claim), change_set)


def complete(
    tx: UserTransaction, claim: Claim, change_set: ChangeSet | None, declared: VectorSpace | None, now: int
) -> int:
    """Apply the change set and end the batch; items not in ``done`` are pending again."""
    if tx.was_done(claim):
        return 0
    batch = rules.owned(tx.batches(), claim)
    change_set = change_set or tx.reply(batch) or ChangeSet()
    check_user(claim.user, (), change_set)
    if claim.stage == "embed":
        check_declared(tx.space, declared)
        new, done = 0, _complete_embed(tx, change_set)
    else:
        applied = records.write(tx, change_set)
        new, done = applied.new, records.numbers_of(tx, set(change_set.done) - applied.unsourced)
    items = set(tx.items(batch))
    tx.dequeue(claim.stage, items.intersection(done), batched=True)
    tx.end(batch, done=True)
    refresh(tx, STAGES, now)
    return new


def _complete_embed(tx: UserTransaction, change_set: ChangeSet) -> list[int]:
    vectors = checked_vectors(change_set.vectors, tx.space)
    if tx.space is not None and vectors:
        import numpy as np

        from memscope.search.vectors import stored_rows

        for id, row in zip(vectors, stored_rows(np.stack([*vectors.values()])), strict=True):
            records.put_vector(tx, tx.space, int(id), row)
    return [int(item) for item in change_set.done if item.isdecimal()]


def fail(tx: UserTransaction, claim: Claim, code: str, not_before: datetime, counted: bool, now: int) -> None:
    batch = rules.owned(tx.batches(), claim)
    if rules.fail(batch, code, microseconds(not_before), counted=counted):
        tx.keep_reply(batch, None)
    _saved(tx, batch, now)


def give_back(tx: UserTransaction, claim: Claim, now: int) -> None:
    batch = rules.owned(tx.batches(), claim)
    rules.give_back(batch)
    _saved(tx, batch, now)


def unpark(tx: UserTransaction, stage: Stage | None, now: int) -> int:
    parked = [batch for batch in tx.batches() if batch.parked and stage in (None, batch.stage)]
    for batch in parked:
        rules.unpark(batch)
        tx.save(batch)
    refresh(tx, STAGES, now)
    return len(parked)


# ---- vector spaces


def declare(tx: Transaction, space: VectorSpace, *, replace: bool) -> None:
    before = tx.spaces()
    spaces = before.declare(space, has_vectors=tx.has_vectors(), replace=replace)
    if spaces is not before:
        tx.set_spaces(spaces)
        tx.fill()
        switch_when_filled(tx)


def switch_when_filled(tx: Transaction) -> None:
    """Activate the space being filled once no unit of any user waits for it; every index is then rebuilt."""
    filling = tx.spaces().filling
    if filling is not None and tx.is_filled():
        tx.set_spaces(Spaces(filling))
        tx.renew_indexes()
