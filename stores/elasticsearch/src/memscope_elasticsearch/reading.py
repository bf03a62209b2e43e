"""Reads: records by id and by condition, their history, counts. Each request concerns one user, except for counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memscope.records import FetchResult, Handle, Insight, Observation, Select, Stats, Turn
from memscope.search.changes import RecordChanges
from memscope.search.units import microseconds, scope_key
from memscope.stores import RecordKey
from memscope.stores.rules import STAGES, expired, in_words, record_key
from memscope.stores.rules import record_id as id_of
from memscope_elasticsearch import blocks, counters, metadata_tokens, receipts, user_lock
from memscope_elasticsearch.client import PAGE_FILTER_PATH, Body
from memscope_elasticsearch.documents import BULKY_FIELDS, DOCUMENT_KINDS, GONE, Stored, decode, scope_hash, stored
from memscope_elasticsearch.mapping import health
from memscope_elasticsearch.session import Session

REREAD_WRITES = 200  # latest writes of a shard, which may become visible out of order

# ---- by id

LISTED_FIELDS = ("number", "rid", "kind", "time", "statement")


async def fetch(session: Session, user: str, ids: Sequence[Handle]) -> FetchResult:
    """Read records in real time; find derived memories by a search, plus this process's unrefreshed ones."""
    record_ids = [id for id in dict.fromkeys(ids) if isinstance(id, str)]
    if not record_ids:
        session.cluster.check_open()
        return FetchResult({}, {})
    ids = await session.fresh(user)
    fresh, records, derived_entries = await asyncio.gather(
        fresh_memories(session, user, ids),
        session.load(user, record_ids),
        session.find_any(user, "sources", record_ids),
    )
    known = {entry.id: entry for entry in derived_entries} | fresh
    memories = {id: entry for id, entry in known.items() if entry is not None}
    return FetchResult(
        {record_id: entry.record for record_id, entry in records.items()}, derived(records, memories.values())
    )


async def fresh_memories(session: Session, user: str, ids: Sequence[str]) -> dict[str, Stored | None]:
    """Read the memories among the unrefreshed writes by document id; None for removed ones."""
    scope = scope_hash(user)
    documents = await session.documents(scope, ids, excludes=BULKY_FIELDS)
    return {document["_id"]: stored(document, scope) for document in documents}


def derived(
    record_ids: Iterable[Handle], memories: Iterable[Stored]
) -> dict[Handle, tuple[Observation | Insight, ...]]:
    """Map records to the memories derived from them, in storing order."""
    memories_of: dict[Handle, list[Observation | Insight]] = {record_id: [] for record_id in record_ids}
    for entry in sorted(memories, key=lambda entry: entry.number):
        if not isinstance(entry.record, Turn):
            for source in dict.fromkeys(entry.record.sources):
                memories_of.get(source, []).append(entry.record)
    return {record_id: tuple(resting) for record_id, resting in memories_of.items() if resting}


async def history(session: Session, user: str, id: str) -> list[Observation | Insight]:
    """Follow supersession in both directions and return all versions, oldest first."""
    await session.settle()
    chain: dict[str, Stored] = {}
    waiting = {id}
    while waiting:
        entries = await session.load(user, waiting)
        chain |= {record_id: entry for record_id, entry in entries.items() if not isinstance(entry.record, Turn)}
        memories = [entry.record for entry in entries.values() if not isinstance(entry.record, Turn)]
        before = await session.find_any(user, "superseded_by", [memory.id for memory in memories])
        after = {memory.superseded_by for memory in memories if memory.superseded_by is not None}
        waiting = ({id_of(entry.record) for entry in before} | after) - chain.keys()
    ordered = sorted(chain.values(), key=lambda entry: entry.number)
    versions = [version for entry in ordered for version in _versions(entry)]
    return sorted(versions, key=lambda memory: memory.recorded)


def _versions(entry: Stored) -> list[Observation | Insight]:
    records = [*map(decode, entry.source.get("older") or ()), entry.record]
    return [record for record in records if not isinstance(record, Turn)]


# ---- by condition


def clauses(select: Select) -> list[Body]:
    """Build filter clauses for a selection; ``rules.in_words`` checks its text and filter."""
    clauses: list[Body] = []
    if select.agent is not None:
        clauses.append({"term": {"agent": str(scope_key(select.agent))}})
    if select.session is not None:
        clauses.append({"term": {"sessions": str(scope_key(select.session))}})
    for name in ("name", "namespace"):
        if getattr(select, name) is not None:
            clauses.append({"term": {name: getattr(select, name)}})
    if select.period is not None:
        clauses.append(_period(microseconds(select.period.start), microseconds(select.period.end)))
    if select.current:
        clauses.append({"term": {"current": True}})
    if select.pending is not None:
        clauses.append({"term": {"wait": select.pending}})
    if select.expired_by is not None:
        clauses.append({"range": {"expires": {"lte": microseconds(select.expired_by)}}})
    if select.live_at is not None:
        clauses.append({"bool": {"must_not": [{"range": {"expires": {"lte": microseconds(select.live_at)}}}]}})
    return clauses + (metadata_tokens.query(select.filter) if select.filter else [])


def _period(start: int, end: int) -> Body:
    within = {"range": {"time": {"gte": start, "lt": end}}}
    about = [{"range": {"start": {"lt": end}}}, {"range": {"end": {"gt": start}}}]
    return {"bool": {"should": [within, {"bool": {"filter": about}}], "minimum_should_match": 1}}


async def selected(session: Session, select: Select) -> AsyncIterator[list[Stored]]:
    """Yield pages of the selected records, by number."""
    scope = scope_hash(select.user)
    async for hits in _found(session, select):
        page = [entry for hit in hits if (entry := stored(hit, scope)) is not None and in_words(select, entry.record)]
        if page:
            yield page


async def keys(session: Session, select: Select) -> list[RecordKey]:
    """Decode records only for a condition on text or metadata."""
    if select.text is not None or select.filter is not None:
        return [record_key(entry.number, entry.record) async for page in selected(session, select) for entry in page]
    sources = [hit["_source"] async for hits in _found(session, select, LISTED_FIELDS) for hit in hits]
    return [RecordKey(source["number"], source["rid"], source["kind"], source["time"]) for source in sources]


async def _found(session: Session, select: Select, fields: Sequence[str] = ()) -> AsyncIterator[list[Body]]:
    """Yield pages of hits; some may not meet the conditions on text and metadata."""
    await session.settle()
    for ids in _portions(select.ids):
        narrowed = clauses(select) + ([{"terms": {"rid": ids}}] if ids is not None else [])
        async for hits in session.pages(select.user, narrowed, kinds=select.kinds, fields=fields):
            yield await _living(session, select, hits)


async def changed(session: Session, user: str, since: int) -> AsyncIterator[RecordChanges]:
    """Yield pages of records written and removed since a sequence number of the user's shard.

    Concurrent writes may become visible out of order, so the last ``REREAD_WRITES`` writes are repeated.
    """
    await session.settle()
    scope = scope_hash(user)
    query = {"filter": [{"term": {"part": 0}}, {"terms": {"kind": [*sorted(DOCUMENT_KINDS), GONE]}}]}
    fields: dict[str, Any] = {"seq_no_primary_term": True, "_source": {"excludes": BULKY_FIELDS.split(",")}}
    async for hits in session.walk(user, query, "_seq_no", search_after=[max(-1, since - REREAD_WRITES)], **fields):
        written = [entry.record for hit in hits if (entry := stored(hit, scope)) is not None]
        gone = [hit["_source"]["rid"] for hit in hits if hit["_source"]["kind"] == GONE]
        yield RecordChanges(hits[-1]["sort"][0], written, gone)


def _portions(ids: frozenset[str] | None) -> list[list[str] | None]:
    if ids is None:
        return [None]
    ordered = sorted(ids)
    return [ordered[start : start + 10_000] for start in range(0, len(ordered), 10_000)]


async def _living(session: Session, select: Select, hits: list[Body]) -> list[Body]:
    """Drop the statements of expired memories."""
    statements = [hit["_source"]["rid"] for hit in hits if hit["_source"].get("statement")]
    if select.live_at is None or not statements:
        return hits
    over = {
        source for entry in await session.find_any(select.user, "sources", statements)
        if not isinstance(entry.record, Turn) and expired(entry.record, select.live_at)
        for source in entry.record.sources
    }  # fmt: skip
    return [hit for hit in hits if not hit["_source"].get("statement") or hit["_source"]["rid"] not in over]


async def tombstones(session: Session, user: str) -> list[str]:
    await session.settle()
    scope = scope_hash(user)
    query = {"bool": {"filter": [{"term": {"scope": scope}}, {"term": {"kind": GONE}}]}}
    body = {"size": 5000, "sort": [{"rid": "asc"}], "search_after": [""], "_source": ["rid"], "query": query}
    pages = session.cluster.walk(session.names.memory, body, routing=scope, paths=PAGE_FILTER_PATH)
    return sorted([hit["_source"]["rid"] async for page in pages for hit in page])


async def users(session: Session, *, forgotten: bool = False) -> list[str]:
    await session.settle()
    names = [*await blocks.counts(session), *(await receipts.users(session) if forgotten else ())]
    kinds = [*DOCUMENT_KINDS, GONE] if forgotten else list(DOCUMENT_KINDS)
    after: dict[str, Any] = {}
    while True:
        sources = {"size": 1000, "sources": [{"scope": {"terms": {"field": "scope"}}}], **after}
        body = {"size": 0, "query": {"terms": {"kind": kinds}}, "aggs": {"scopes": {"composite": sources}}}
        answer = await session.cluster.search(session.names.memory, body, paths="aggregations.scopes.buckets.key")
        buckets = answer.get("aggregations", {}).get("scopes", {}).get("buckets", [])
        names += (
            await counters.names_of(session.cluster, session.names, [bucket["key"]["scope"] for bucket in buckets])
        ).values()
        if len(buckets) < 1000:
            return sorted(set(names))
        after = {"after": buckets[-1]["key"]}


# ---- counts


async def stats(session: Session, user: str | None) -> Stats:
    await session.settle()
    await session.vectors.meta()
    kinds: Body = {"terms": {"kind": list(DOCUMENT_KINDS)}}
    scope = scope_hash(user) if user is not None else None
    filters = [kinds] if scope is None else [kinds, {"term": {"scope": scope}}]
    active = session.vectors.active
    counts: dict[str, Body] = {
        "records": {"filter": {"term": {"part": 0}}, "aggs": {"kinds": {"terms": {"field": "kind"}}}},
        "waits": {"terms": {"field": "wait"}},
        "embed": {"filter": {"bool": session.vectors.waiting("embed")}},
        "vectors": {"filter": {"exists": {"field": active.field}} if active else {"match_none": {}}},
    }
    body = {"size": 0, "track_total_hits": True, "query": {"bool": {"filter": filters}}, "aggs": counts}
    answer = await session.cluster.search(session.names.memory, body, routing=scope)
    aggregations = answer["aggregations"]
    records = {bucket["key"]: bucket["doc_count"] for bucket in aggregations["records"]["kinds"]["buckets"]}
    waits = {bucket["key"]: bucket["doc_count"] for bucket in aggregations["waits"]["buckets"]}
    waits["embed"] = aggregations["embed"]["doc_count"]
    troubles = await _troubles(session, user)
    with_blocks = await blocks.counts(session, user)
    return Stats(
        users=len(await users(session)) if user is None else int(bool(records or with_blocks)),
        turns=records.get("turn", 0),
        observations=records.get("observation", 0),
        insights=records.get("insight", 0),
        blocks=sum(with_blocks.values()),
        units=answer["hits"]["total"]["value"],
        vectors=aggregations["vectors"]["doc_count"],
        pending={stage: max(0, waits.get(stage, 0) - troubles.waiting[stage]) for stage in STAGES},
        failed={stage: troubles.failed[stage] for stage in STAGES},
        parked={stage: troubles.parked[stage] for stage in STAGES},
        errors=dict(troubles.codes),
        space=active.space if active else None,
        details=await health(session.cluster, session.names) if user is None else {},
    )


@dataclass(slots=True)
class _Troubles:
    """Failed and parked batches: their error codes and, by stage, the items that still wait.

    A memory that was closed meanwhile stays in its batch but no longer waits.
    """

    failed: Counter[str] = field(default_factory=Counter)
    parked: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)


async def _troubles(session: Session, user: str | None) -> _Troubles:
    troubles = _Troubles()
    states = (
        [(user, await user_lock.load(session, user))]
        if user is not None
        else [pair async for pair in user_lock.troubled(session)]
    )
    wanted: list[tuple[str, Body]] = []  # stage and document per item
    for name, batch in ((name, batch) for name, state in states for batch in state.batches if batch.code):
        (troubles.parked if batch.parked else troubles.failed)[batch.stage] += len(batch.items)
        troubles.codes[batch.code] += 1
        if batch.stage == "embed":
            troubles.waiting[batch.stage] += len(batch.items)
        else:
            wanted += [(batch.stage, session.at(scope_hash(name), id)) for id in batch.items]
    documents = await session.cluster.documents([at for _, at in wanted], includes="wait")
    for (stage, _), document in zip(wanted, documents, strict=True):
        troubles.waiting[stage] += document.get("_source", {}).get("wait") == stage
    return troubles
