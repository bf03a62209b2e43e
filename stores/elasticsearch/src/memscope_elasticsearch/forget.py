"""Forget the selected records, all records derived from them, and every trace of both.

A tombstone replaces a removed record under the same id, so a late worker's ``create`` fails and the key stays refused.
The bytes disappear when segments are merged (``compact``).

    selected ──▶ all derived records ──▶ intent in the lock ──▶ tombstones ──▶ remaining sources pending again
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from memscope.errors import StoreBusy
from memscope.records import ForgetReport, Receipt, Select, Stage, Turn
from memscope.records.serialization import receipt_from_json, to_json
from memscope.stores.block_rules import selects_blocks
from memscope.stores.removal import Removal, receipt, statements_of
from memscope.stores.rules import cascade, next_stage, sources_to_rederive, surviving_successor
from memscope.stores.rules import record_id as id_of
from memscope_elasticsearch import blocks, counters, reading, receipts, user_lock
from memscope_elasticsearch.apply import PendingWrites, set_waiting
from memscope_elasticsearch.client import BulkOperation
from memscope_elasticsearch.documents import (
    BLANK,
    DOCUMENT_KINDS,
    PART_BITS,
    Stored,
    blank,
    scope_hash,
    tombstone,
    unit_id,
)
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.user_lock import Batch, UserState, WriteIntent

PENDING_REASON = "deleted documents stay in their segments until these are merged; run 'memscope compact'"
MERGE_TIMEOUT_S = 3600.0  # timeout of one merge
MAX_MERGES, MERGE_PAUSE_S = 60, 0.7
RECORDS_PER_INTENT = 5000
NO_CHANGES: Mapping[str, Any] = {"gone": [], "again": [], "heirs": {}, "blocks": None}
MIN_BLANK_AGE_S = 600  # minimum age for deletion: no late request can refer to such a blank


async def forget(session: Session, select: Select, redo: Any, *, dry_run: bool) -> ForgetReport:
    await session.refresh()
    removal = await _plan(session, select)
    if dry_run or not removal.changes:
        return removal.report(dry_run=dry_run)
    done = await asyncio.shield(session.cluster.local().start(_forget(session, select, redo), "memscope-forget"))
    return done.report(dry_run=False, physical="pending", reason=PENDING_REASON)


async def _forget(session: Session, select: Select, redo: Any) -> Removal[Stored, str]:
    async with user_lock.writing(session, select.user, "forget", NO_CHANGES, 0, redo) as intent:
        await session.refresh()
        removal = await _plan(session, select)
        slices = _slices(removal, select)
        report = removal.report(dry_run=False)
        slices[-1]["receipt"] = to_json(receipt(select, report, removal.rows, session.clock()))
        for about in slices:
            intent.about = about
            await user_lock.change(session, select.user, lambda state: _begin_part(session, state, intent))
            await _remove(session, select.user, intent)
        await user_lock.clear(session, select.user, intent, lambda state: None)
    return removal


def _slices(removal: Removal[Stored, str], select: Select) -> list[dict[str, Any]]:
    """Split a removal into intents, derived records before their sources.

    "blocks" is the agent whose blocks are removed ("" for all agents, None for no blocks), "label" a single block.
    """
    whose = (select.agent or "") if selects_blocks(select) else None
    gone = list(reversed(removal.rows.items()))
    heirs = {record_id: entry.record.superseded_by for record_id, entry in gone if not isinstance(entry.record, Turn)}
    linked = {record_id: successor for record_id, successor in heirs.items() if successor is not None}
    slices: list[dict[str, Any]] = []
    for start in range(0, max(1, len(gone)), RECORDS_PER_INTENT):
        part = gone[start : start + RECORDS_PER_INTENT]
        memories = {record_id: entry.record for record_id, entry in part if not isinstance(entry.record, Turn)}
        about = {
            "gone": [[record_id, entry.parts, entry.number] for record_id, entry in part],
            "again": removal.again if start == 0 else [],
            "heirs": {**dict.fromkeys(memories), **linked},
            "announced": sorted({id for memory in memories.values() for id in memory.announces}),
            "blocks": whose,
            "label": select.block,
        }
        slices.append(about)
    return slices


async def _plan(session: Session, select: Select) -> Removal[Stored, str]:
    gone: dict[str, Stored] = {}
    fresh = {id_of(entry.record): entry async for page in reading.selected(session, select) for entry in page}
    while fresh:
        gone |= fresh
        fallen = await session.find_any(select.user, "sources", fresh)
        made_for = await session.load(select.user, statements_of(fresh.values(), gone))
        fallen = cascade(fallen, made_for.values(), *fresh.values())
        fresh = {id_of(entry.record): entry for entry in fallen if id_of(entry.record) not in gone}
    ordered = dict(sorted(gone.items(), key=lambda item: item[1].number))
    return Removal(
        ordered,
        await _fallen_from(session, select.user, ordered),
        await _vectors(session, select.user, ordered),
        await blocks.plan_removal(session, select, list(ordered)),
    )


async def _fallen_from(session: Session, user: str, gone: Mapping[str, Stored]) -> list[str]:
    sources = sources_to_rederive({record_id: entry.record for record_id, entry in gone.items()})
    left = await session.load(user, sources)
    return [record_id for record_id, entry in left.items() if next_stage(entry.record) is not None]


async def _vectors(session: Session, user: str, gone: Mapping[str, Stored]) -> int:
    active, numbers = session.vectors.active, [entry.number for entry in gone.values()]
    count = 0
    for start in range(0, len(numbers) if active else 0, 10_000):
        clauses = [{"term": {"scope": scope_hash(user)}}, {"terms": {"number": numbers[start : start + 10_000]}}]
        clauses += [{"exists": {"field": active.field}}, {"terms": {"kind": list(DOCUMENT_KINDS)}}]
        query = {"bool": {"filter": clauses}}
        count += await session.cluster.count(session.names.memory, query, routing=scope_hash(user))
    return count


def _begin_part(session: Session, state: UserState, intent: WriteIntent) -> None:
    """Store the intent of the next part with a new lease. Without the lock, the rest may not be what was planned."""
    if state.intent is None or state.intent.token != intent.token:
        raise StoreBusy("another process took over the lock of this user", hint="forget it again", retry_after=1.0)
    state.intent.about, state.intent.until = intent.about, user_lock.lease_end(session)
    _stop_work(state, intent)


def _stop_work(state: UserState, intent: WriteIntent) -> None:
    """End the batches with a forgotten record; embed batches only lose its units.

    The user's other batches lose lease and saved reply: the model was shown the user's memories beside each batch, so
    its reply may contain what was forgotten. The cost is at most one model call.
    """
    gone = {record_id for record_id, _, _ in intent.about["gone"]}
    numbers = {number for _, _, number in intent.about["gone"]}
    for batch in state.batches:
        if batch.stage == "embed":
            _drop_units(batch, numbers)
        else:
            batch.token, batch.until, batch.plan = "", 0, None
    state.batches = [batch for batch in state.batches if batch.items and gone.isdisjoint(batch.items)]


def _drop_units(batch: Batch, numbers: Set[int]) -> None:
    """Remove the units of these records from a batch of stage embed; its lease stays."""
    pairs = zip(batch.items, batch.units, strict=True)
    remaining = [(item, unit) for item, unit in pairs if int(item) >> PART_BITS not in numbers]
    batch.items, batch.units = [item for item, _ in remaining], [unit for _, unit in remaining]


async def carry_out(session: Session, user: str, intent: WriteIntent) -> None:
    """Carry out a removal; resume it after any step."""
    await _remove(session, user, intent)
    await user_lock.clear(session, user, intent, lambda state: None)


async def _remove(session: Session, user: str, intent: WriteIntent) -> None:
    about, scope = intent.about, scope_hash(user)
    ids = [record_id for record_id, _, _ in about["gone"]]
    agent = about.get("blocks")
    whose = Select(user, ids=frozenset(ids)) if agent is None else Select(user, agent or None, block=about.get("label"))
    await session.cluster.bulk(_burials(session, scope, about["gone"]))
    await blocks.remove(session, whose, ids)
    if saved := about.get("receipt"):
        await receipts.put(session, user, [receipt_from_json(saved)], only=agent == "" and not about.get("label"))
    if not ids:
        return
    session.wrote()
    await session.refresh()
    again: dict[str, Stage | None] = dict.fromkeys(about["again"])
    again |= await _reopen(session, user, ids, about, intent.token)
    entries = await session.load(user, again)
    await set_waiting(session, user, {record_id: next_stage(entry.record) for record_id, entry in entries.items()})
    await session.refresh()


def _burials(session: Session, scope: str, gone: Iterable[Sequence[Any]]) -> Iterable[BulkOperation]:
    for record_id, parts, number in gone:
        for part in range(parts):
            body = tombstone(scope, record_id) if part == 0 else blank(scope, session.now())
            yield BulkOperation("index", session.names.memory, unit_id(scope, record_id, part, number), scope, body)


async def _reopen(
    session: Session, user: str, ids: Sequence[str], about: Mapping[str, Any], token: str
) -> dict[str, Stage | None]:
    """Relink memories that a removed one superseded to its surviving successor, or make them current again.

    Take back the ends that removed ones announced.
    """
    superseded, announced = await session.find_any(user, "superseded_by", ids), about.get("announced", ())
    if not superseded and not announced:
        return {}
    heirs: Mapping[str, str | None] = about["heirs"]
    pending = PendingWrites(session, user)
    await pending.load({id_of(entry.record) for entry in superseded}.union(announced))
    await pending.load({next_one for id in ids if (next_one := surviving_successor(id, heirs)) is not None})
    opened = pending.changes.reopen(heirs)
    await pending.flush(token)
    return dict.fromkeys(opened)


async def add_tombstones(
    session: Session, user: str, ids: Sequence[str], made_elsewhere: Sequence[Receipt] = ()
) -> None:
    """Write tombstones and receipts of another store; skip tombstones of records that exist here."""
    await receipts.put(session, user, made_elsewhere)
    scope, names = scope_hash(user), session.names
    wanted = list(dict.fromkeys(ids))
    at = [session.at(scope, record_id)["_id"] for record_id in wanted]
    creates = [
        BulkOperation("create", names.memory, id, scope, tombstone(scope, record_id))
        for id, record_id in zip(at, wanted, strict=True)
    ]
    head = counters.save(names, user, counters.UserCounters())  # makes the user known; fails harmlessly if it exists
    await session.cluster.bulk([head, *creates])
    session.wrote(user, at)


async def compact(session: Session) -> ForgetReport:
    """Delete old blanks and merge deleted documents away."""
    await session.refresh()
    before = session.now() - MIN_BLANK_AGE_S * 1_000_000
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
    for _ in range(MAX_MERGES):  # a recent delete can be merged away only once all copies of the shard have it
        deleted = sum([await _merged(session, index) for index in (session.names.memory, session.names.work)])
        if not deleted:
            return ForgetReport(physical="wiped")
        await asyncio.sleep(MERGE_PAUSE_S)
    return ForgetReport(physical="pending", reason=f"{deleted} deleted documents are not merged away yet; try again")


async def _merged(session: Session, index: str) -> int:
    """Merge segments with deleted documents and return how many deleted documents are left."""
    await session.cluster.request("POST", f"/{index}/_flush", force="true")
    await session.cluster.request(
        "POST", f"/{index}/_forcemerge", only_expunge_deletes="true", timeout_s=MERGE_TIMEOUT_S
    )
    await session.cluster.refresh(index)
    stats = await session.cluster.request("GET", f"/{index}/_stats/docs", filter_path="_all.total.docs.deleted")
    return int(stats.get("_all", {}).get("total", {}).get("docs", {}).get("deleted", 0))
