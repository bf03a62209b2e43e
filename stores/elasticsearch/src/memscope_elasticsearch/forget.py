"""Forgetting: the selected records, all records derived from them, and every trace of both.

A record that goes becomes a tombstone under its own id: a late worker's ``create`` finds the id taken, and the key is
refused for ever. The bytes go when segments are merged: ``compact``.

    selected ──▶ derived from it, to the last ──▶ intent in the lock ──▶ tombstones ──▶ what is left is looked at again
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from memscope.records import ForgetReport, Receipt, Select, Stage, Turn
from memscope.records.serialization import receipt_from_json, to_json
from memscope.stores.block_rules import selects_blocks
from memscope.stores.removal import Removal, receipt
from memscope.stores.rules import falls_with, heir, left_behind, waits_for
from memscope.stores.rules import record_id as id_of
from memscope_elasticsearch import blocks, counters, reading, receipts, user_lock
from memscope_elasticsearch.apply import PendingWrites, set_waiting
from memscope_elasticsearch.client import BulkOperation
from memscope_elasticsearch.documents import (
    BLANK,
    KINDS,
    PARTS,
    Stored,
    blank,
    scope_hash,
    tombstone,
    unit_id,
)
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.user_lock import Batch, UserState, WriteIntent

PENDING = "deleted documents lie in their segments until these are merged; run 'memscope compact'"
MERGE_S = 3600.0  # limit of one merge
MERGES, MERGE_PAUSE_S = 60, 0.7
SLICE = 5000  # records that one intent names
NOTHING: Mapping[str, Any] = {"gone": [], "again": [], "heirs": {}, "blocks": None}
BLANKS_S = 600  # how long a late request may come


async def forget(session: Session, select: Select, redo: Any, *, dry_run: bool) -> ForgetReport:
    await session.refresh()
    removal = await _plan(session, select)
    if dry_run or not removal.changes:
        return removal.report(dry_run=dry_run)
    done = await asyncio.shield(session.cluster.local().start(_forget(session, select, redo), "memscope-forget"))
    return done.report(dry_run=False, physical="pending", reason=PENDING)


async def _forget(session: Session, select: Select, redo: Any) -> Removal[Stored, str]:
    async with user_lock.writing(session, select.user, "forget", NOTHING, 0, redo) as intent:
        await session.refresh()
        removal = await _plan(session, select)
        slices = _slices(removal, select)
        report = removal.report(dry_run=False)
        slices[-1]["receipt"] = to_json(receipt(select, report, removal.rows, session.clock()))
        for about in slices:
            intent.about = about
            await user_lock.change(session, select.user, lambda state: _stop_work(state, intent))
            await _remove(session, select.user, intent)
        await user_lock.clear(session, select.user, intent, lambda state: None)
    return removal


def _slices(removal: Removal[Stored, str], select: Select) -> list[dict[str, Any]]:
    """Split a removal into intents: derived records go before their sources.

    "blocks" is the agent whose blocks go with it, "" for all agents, None for none; "label" that of the only block.
    """
    whose = (select.agent or "") if selects_blocks(select) else None
    gone = list(reversed(removal.rows.items()))
    heirs = {record_id: one.record.superseded_by for record_id, one in gone if not isinstance(one.record, Turn)}
    linked = {record_id: heir for record_id, heir in heirs.items() if heir is not None}
    slices: list[dict[str, Any]] = []
    for start in range(0, max(1, len(gone)), SLICE):
        part = gone[start : start + SLICE]
        own = {record_id: None for record_id, one in part if not isinstance(one.record, Turn)}
        about = {
            "gone": [[record_id, one.parts, one.number] for record_id, one in part],
            "again": removal.again if start == 0 else [],
            "heirs": {**own, **linked},
            "blocks": whose,
            "label": select.block,
        }
        slices.append(about)
    return slices


async def _plan(session: Session, select: Select) -> Removal[Stored, str]:
    gone: dict[str, Stored] = {}
    fresh = {id_of(one.record): one async for page in reading.selected(session, select) for one in page}
    while fresh:
        gone |= fresh
        found = await session.find_any(select.user, "sources", fresh)
        sources = {
            source for one in fresh.values() if not isinstance(one.record, Turn) for source in one.record.sources
        }
        made_for = await session.load(select.user, sources - gone.keys())
        found = falls_with(found, made_for.values())
        fresh = {id_of(one.record): one for one in found if id_of(one.record) not in gone}
    ordered = dict(sorted(gone.items(), key=lambda item: item[1].number))
    return Removal(
        ordered,
        await _fallen_from(session, select.user, ordered),
        await _vectors(session, select.user, ordered),
        await blocks.plan_removal(session, select, list(ordered)),
    )


async def _fallen_from(session: Session, user: str, gone: Mapping[str, Stored]) -> list[str]:
    left = await session.load(user, left_behind({record_id: one.record for record_id, one in gone.items()}))
    return [record_id for record_id, one in left.items() if waits_for(one.record) is not None]


async def _vectors(session: Session, user: str, gone: Mapping[str, Stored]) -> int:
    active, numbers = session.vectors.active, [one.number for one in gone.values()]
    count = 0
    for start in range(0, len(numbers) if active else 0, 10_000):
        clauses = [{"term": {"scope": scope_hash(user)}}, {"terms": {"number": numbers[start : start + 10_000]}}]
        clauses += [{"exists": {"field": active.field}}, {"terms": {"kind": list(KINDS)}}]
        query = {"bool": {"filter": clauses}}
        count += await session.cluster.count(session.names.memory, query, routing=scope_hash(user))
    return count


def _stop_work(state: UserState, intent: WriteIntent) -> None:
    """Dissolve batches that hold a forgotten record; those of the stage embed only lose its units.

    The user's other batches lose lease and saved reply too: the model was shown the user's memories beside them, and
    its reply may rest on a forgotten one. That costs one call at most.
    """
    if state.intent is None or state.intent.token != intent.token:
        return
    state.intent.about = intent.about
    gone = {record_id for record_id, _, _ in intent.about["gone"]}
    numbers = {number for _, _, number in intent.about["gone"]}
    for batch in state.batches:
        if batch.stage == "embed":
            _let_go(batch, numbers)
        else:
            batch.token, batch.until, batch.plan = "", 0, None
    state.batches = [batch for batch in state.batches if batch.items and gone.isdisjoint(batch.items)]


def _let_go(batch: Batch, numbers: Set[int]) -> None:
    """Remove units of these records from a batch of the stage embed; its lease stays."""
    kept = [pair for pair in zip(batch.items, batch.units, strict=True) if int(pair[0]) >> PARTS not in numbers]
    batch.items, batch.units = [item for item, _ in kept], [unit for _, unit in kept]


async def carry_out(session: Session, user: str, intent: WriteIntent) -> None:
    """Finish a removal, from whichever step was reached."""
    await _remove(session, user, intent)
    await user_lock.clear(session, user, intent, lambda state: None)


async def _remove(session: Session, user: str, intent: WriteIntent) -> None:
    about, scope = intent.about, scope_hash(user)
    ids = [record_id for record_id, _, _ in about["gone"]]
    agent = about.get("blocks")
    whose = Select(user, ids=frozenset(ids)) if agent is None else Select(user, agent or None, block=about.get("label"))
    await session.cluster.bulk(_burials(session, scope, about["gone"]))
    await blocks.remove(session, whose, ids)
    if made := about.get("receipt"):
        await receipts.put(session, user, [receipt_from_json(made)], only=agent == "" and not about.get("label"))
    if not ids:
        return
    session.wrote()
    await session.refresh()
    again: dict[str, Stage | None] = dict.fromkeys(about["again"])
    again |= await _reopen(session, user, ids, about["heirs"], intent.token)
    found = await session.load(user, again)
    await set_waiting(session, user, {record_id: waits_for(one.record) for record_id, one in found.items()})
    await session.refresh()


def _burials(session: Session, scope: str, gone: Iterable[Sequence[Any]]) -> Iterable[BulkOperation]:
    for record_id, parts, number in gone:
        for part in range(parts):
            body = tombstone(scope, record_id) if part == 0 else blank(scope, session.now())
            yield BulkOperation("index", session.names.memory, unit_id(scope, record_id, part, number), scope, body)


async def _reopen(
    session: Session, user: str, ids: Sequence[str], heirs: Mapping[str, str | None], token: str
) -> dict[str, Stage | None]:
    """Make memories current again whose superseder is removed, or superseded by the next of its line."""
    superseded = await session.find_any(user, "superseded_by", ids)
    if not superseded:
        return {}
    pending = PendingWrites(session, user)
    await pending.load({id_of(one.record) for one in superseded})
    await pending.load({next_one for id in ids if (next_one := heir(id, heirs)) is not None})
    opened = pending.changes.reopen(heirs)
    await pending.flush(token)
    return dict.fromkeys(opened)


async def bury(session: Session, user: str, ids: Sequence[str], made_elsewhere: Sequence[Receipt] = ()) -> None:
    """Write tombstones and receipts from another store, except for records that exist here."""
    await receipts.put(session, user, made_elsewhere)
    scope, names = scope_hash(user), session.names
    wanted = list(dict.fromkeys(ids))
    at = [session.at(scope, record_id)["_id"] for record_id in wanted]
    made = [
        BulkOperation("create", names.memory, id, scope, tombstone(scope, record_id))
        for id, record_id in zip(at, wanted, strict=True)
    ]
    head = counters.save(names, user, counters.UserCounters())  # names the user; refused where there is one
    await session.cluster.bulk([head, *made])
    session.wrote(user, at)


async def compact(session: Session) -> ForgetReport:
    """Merge deleted documents away, and sweep blanks that no late request can meet any more."""
    await session.refresh()
    before = session.now() - BLANKS_S * 1_000_000
    clauses = [{"term": {"kind": BLANK}}, {"range": {"at": {"lte": before}}}]
    body = {"size": 1000, "query": {"bool": {"filter": clauses}}, "_source": ["scope"], "track_total_hits": False}
    while (
        hits := (await session.cluster.search(session.names.memory, body, paths="hits.hits._id,hits.hits._source"))
        .get("hits", {})
        .get("hits")
    ):
        sweep = [BulkOperation("delete", session.names.memory, hit["_id"], hit["_source"]["scope"]) for hit in hits]
        await session.cluster.bulk(sweep)
        await session.refresh()
    deleted = 0
    for _ in range(MERGES):  # what was deleted just now may be merged away once the shard knows it is safe everywhere
        deleted = sum([await _merged(session, index) for index in (session.names.memory, session.names.work)])
        if not deleted:
            return ForgetReport(physical="wiped")
        await asyncio.sleep(MERGE_PAUSE_S)
    return ForgetReport(physical="pending", reason=f"{deleted} deleted documents are not merged away yet; try again")


async def _merged(session: Session, index: str) -> int:
    """Merge segments that hold deleted documents; returns the number left."""
    await session.cluster.request("POST", f"/{index}/_flush", force="true")
    await session.cluster.request("POST", f"/{index}/_forcemerge", only_expunge_deletes="true", timeout_s=MERGE_S)
    await session.cluster.refresh(index)
    found = await session.cluster.request("GET", f"/{index}/_stats/docs", filter_path="_all.total.docs.deleted")
    return int(found.get("_all", {}).get("total", {}).get("docs", {}).get("deleted", 0))
