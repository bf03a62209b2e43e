"""Forgetting: what is selected, all that was derived from it, and every trace of both.

A record that goes becomes a tombstone under its own id: a late worker's ``create`` finds the id taken, and the key is
refused for ever. The bytes go when segments are merged: ``compact``.

    selected ──▶ derived from it, to the last ──▶ intent in the lane ──▶ tombstones ──▶ what is left is looked at again
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memscope.records import ForgetReport, Insight, Observation, Select, Stage, Turn
from memscope.stores.rules import waits_for
from memscope_elasticsearch import lanes, reading
from memscope_elasticsearch.client import Operation
from memscope_elasticsearch.documents import (
    BLANK,
    KINDS,
    Stored,
    blank,
    record_id,
    scope_hash,
    tombstone,
    unit_id,
)
from memscope_elasticsearch.lanes import Intent, Lane
from memscope_elasticsearch.plans import Board, set_waiting
from memscope_elasticsearch.shop import Shop

PENDING = "deleted documents lie in their segments until these are merged; run 'memscope compact'"
MERGE_S = 3600.0  # one merge may take
MERGES, MERGE_PAUSE_S = 60, 0.7
SLICE = 5000  # records that one intent names
NOTHING: Mapping[str, Any] = {"gone": [], "again": [], "heirs": {}}
BLANKS_S = 600  # how long a late request may come


@dataclass(slots=True)
class Removal:
    """What goes, by id; ``again`` stays and has to be looked at again."""

    gone: dict[str, Stored]
    again: list[str]
    vectors: int = 0

    def report(self, *, dry_run: bool) -> ForgetReport:
        records = [one.record for one in self.gone.values()]
        return ForgetReport(
            turns=sum(isinstance(record, Turn) for record in records),
            observations=sum(isinstance(record, Observation) for record in records),
            insights=sum(isinstance(record, Insight) for record in records),
            vectors=self.vectors,
            rederive=len(self.again),
            dry_run=dry_run,
            physical="none" if dry_run or not records else "pending",
            reason="" if dry_run or not records else PENDING,
            ids=tuple(self.gone) if dry_run else (),
        )


async def forget(shop: Shop, select: Select, redo: Any, *, dry_run: bool) -> ForgetReport:
    await shop.refresh()
    removal = await _plan(shop, select)
    if dry_run or not removal.gone:
        return removal.report(dry_run=dry_run)
    return (await lanes.whole(_forget(shop, select, redo), name="memscope-forget")).report(dry_run=False)


async def _forget(shop: Shop, select: Select, redo: Any) -> Removal:
    async with lanes.writing(shop, select.user, "forget", NOTHING, 0, redo) as intent:
        await shop.refresh()
        removal = await _plan(shop, select)
        for about in _slices(removal):
            intent.about = about
            await lanes.change(shop, select.user, lambda lane: _stop_work(lane, intent))
            await _remove(shop, select.user, intent)
        await lanes.clear(shop, select.user, intent, lambda lane: None)
    return removal


def _slices(removal: Removal) -> Iterable[Mapping[str, Any]]:
    """What one intent after the other says: what was derived goes before what it was derived from."""
    gone = list(reversed(removal.gone.items()))
    heirs = {rid: one.record.superseded_by for rid, one in gone if not isinstance(one.record, Turn)}
    linked = {rid: heir for rid, heir in heirs.items() if heir is not None}
    for start in range(0, len(gone), SLICE):
        part = gone[start : start + SLICE]
        own = {rid: None for rid, one in part if not isinstance(one.record, Turn)}
        yield {
            "gone": [[rid, one.parts, one.number] for rid, one in part],
            "again": removal.again if start == 0 else [],
            "heirs": {**own, **linked},
        }


async def _plan(shop: Shop, select: Select) -> Removal:
    gone: dict[str, Stored] = {}
    fresh = {record_id(one.record): one async for page in reading.selected(shop, select) for one in page}
    while fresh:
        gone |= fresh
        found = await shop.find_any(select.user, "sources", fresh)
        sources = {
            source for one in fresh.values() if not isinstance(one.record, Turn) for source in one.record.sources
        }
        made_for = await shop.load(select.user, sources - gone.keys())
        found += [one for one in made_for.values() if isinstance(one.record, Turn) and one.record.statement]
        fresh = {record_id(one.record): one for one in found if record_id(one.record) not in gone}
    ordered = dict(sorted(gone.items(), key=lambda item: item[1].number))
    return Removal(ordered, await _fallen_from(shop, select.user, ordered), await _vectors(shop, select.user, ordered))


async def _fallen_from(shop: Shop, user: str, gone: Mapping[str, Stored]) -> list[str]:
    """What stays of the sources of memories that fell with another source.

    A memory that was removed for itself, with all its sources left, is not made again: that was what to forget.
    """
    memories = [one.record for one in gone.values() if not isinstance(one.record, Turn)]
    fell = [memory for memory in memories if any(source in gone for source in memory.sources)]
    left = await shop.load(user, {source for memory in fell for source in memory.sources} - gone.keys())
    return [rid for rid, one in left.items() if waits_for(one.record) is not None]


async def _vectors(shop: Shop, user: str, gone: Mapping[str, Stored]) -> int:
    active, numbers = shop.spaces.active, [one.number for one in gone.values()]
    count = 0
    for start in range(0, len(numbers) if active else 0, 10_000):
        clauses = [{"term": {"scope": scope_hash(user)}}, {"terms": {"number": numbers[start : start + 10_000]}}]
        clauses += [{"exists": {"field": active.field}}, {"terms": {"kind": list(KINDS)}}]
        body = {"query": {"bool": {"filter": clauses}}}
        answer = await shop.cluster.request("POST", f"/{shop.names.memory}/_count", body=body, routing=scope_hash(user))
        count += answer["count"]
    return count


def _stop_work(lane: Lane, intent: Intent) -> None:
    """Batches with something forgotten in them dissolve.

    The others of this user lose lease and saved reply too: a model was shown the user's memories beside the batch, and
    what it made of those must not come back. That costs one call at most.
    """
    if lane.intent is None or lane.intent.token != intent.token:
        return
    lane.intent.about = intent.about
    gone = {rid for rid, _, _ in intent.about["gone"]}
    lane.batches = [batch for batch in lane.batches if batch.stage == "embed" or gone.isdisjoint(batch.items)]
    for batch in lane.batches:
        if batch.stage != "embed":
            batch.token, batch.until, batch.plan = "", 0, None


async def carry_out(shop: Shop, user: str, intent: Intent) -> None:
    """What the intent says, from wherever another left it."""
    await _remove(shop, user, intent)
    await lanes.clear(shop, user, intent, lambda lane: None)


async def _remove(shop: Shop, user: str, intent: Intent) -> None:
    about, scope = intent.about, scope_hash(user)
    ids = [rid for rid, _, _ in about["gone"]]
    if not ids:
        return
    await shop.cluster.bulk(_burials(shop, scope, about["gone"]))
    shop.wrote()
    await shop.refresh()
    again: dict[str, Stage | None] = dict.fromkeys(about["again"])
    again |= await _reopen(shop, user, ids, about["heirs"], intent.token)
    found = await shop.load(user, again)
    await set_waiting(shop, user, {rid: waits_for(one.record) for rid, one in found.items()})
    await shop.refresh()


def _burials(shop: Shop, scope: str, gone: Iterable[Sequence[Any]]) -> Iterable[Operation]:
    for rid, parts, number in gone:
        for part in range(parts):
            body = tombstone(scope, rid) if part == 0 else blank(scope, shop.now())
            yield Operation("index", shop.names.memory, unit_id(scope, rid, part, number), scope, body)


async def _reopen(
    shop: Shop, user: str, ids: Sequence[str], heirs: Mapping[str, str | None], token: str
) -> dict[str, Stage | None]:
    """What a removed memory had superseded is current again, or superseded by whatever superseded that one."""
    superseded = await shop.find_any(user, "superseded_by", ids)
    if not superseded:
        return {}
    board = Board(shop, user)
    await board.load({record_id(one.record) for one in superseded})
    await board.load({heir for id in ids if (heir := _heir(id, heirs)) is not None})
    reopened: dict[str, Stage | None] = {}
    for one in superseded:
        entry = board.entries.get(record_id(one.record))
        if entry is None or entry.record.superseded_by not in heirs:
            continue
        heir = _heir(entry.record.superseded_by, heirs)
        entry.touched = True
        if heir is not None and board.here(heir):
            entry.record = replace(entry.record, superseded_by=heir)
            continue
        valid_to = datetime.fromisoformat(entry.valid_to) if entry.valid_to else None
        entry.record = replace(entry.record, closed=None, closed_said=None, superseded_by=None, valid_to=valid_to)
        entry.wait, reopened[entry.record.id] = waits_for(entry.record), None
        if entry.record.name is not None and entry.record.current:
            board.names[entry.record.name, entry.record.namespace] = entry.record.id
    await board.flush(token)
    return reopened


def _heir(id: str | None, heirs: Mapping[str, str | None]) -> str | None:
    """The first after it in its line that stays."""
    seen: set[str] = set()
    while id is not None and id in heirs and id not in seen:
        seen.add(id)
        id = heirs[id]
    return None if id in heirs else id


async def bury(shop: Shop, user: str, ids: Sequence[str]) -> None:
    """Tombstones from elsewhere, except for what is here."""
    scope, names = scope_hash(user), shop.names
    wanted = list(dict.fromkeys(ids))
    at = [shop.at(scope, rid)["_id"] for rid in wanted]
    made = [
        Operation("create", names.memory, id, scope, tombstone(scope, rid)) for id, rid in zip(at, wanted, strict=True)
    ]
    await shop.cluster.bulk(made)
    shop.wrote(user, at)


async def compact(shop: Shop) -> ForgetReport:
    """Merge the deleted away, and sweep the blanks that nothing late can meet any more."""
    await shop.refresh()
    before = shop.now() - BLANKS_S * 1_000_000
    clauses = [{"term": {"kind": BLANK}}, {"range": {"at": {"lte": before}}}]
    body = {"size": 1000, "query": {"bool": {"filter": clauses}}, "_source": ["scope"], "track_total_hits": False}
    while (
        hits := (await shop.cluster.search(shop.names.memory, body, paths="hits.hits._id,hits.hits._source"))
        .get("hits", {})
        .get("hits")
    ):
        sweep = [Operation("delete", shop.names.memory, hit["_id"], hit["_source"]["scope"]) for hit in hits]
        await shop.cluster.bulk(sweep)
        await shop.refresh()
    deleted = 0
    for _ in range(MERGES):  # what was deleted just now may be merged away once the shard knows it is safe everywhere
        deleted = sum([await _merged(shop, index) for index in (shop.names.memory, shop.names.work)])
        if not deleted:
            return ForgetReport(physical="wiped")
        await asyncio.sleep(MERGE_PAUSE_S)
    return ForgetReport(physical="pending", reason=f"{deleted} deleted documents are not merged away yet; try again")


async def _merged(shop: Shop, index: str) -> int:
    """Merge what holds deleted documents; how many are left."""
    await shop.cluster.request("POST", f"/{index}/_flush", force="true")
    await shop.cluster.request("POST", f"/{index}/_forcemerge", only_expunge_deletes="true", timeout_s=MERGE_S)
    await shop.cluster.refresh(index)
    found = await shop.cluster.request("GET", f"/{index}/_stats/docs", filter_path="_all.total.docs.deleted")
    return int(found.get("_all", {}).get("total", {}).get("docs", {}).get("deleted", 0))
