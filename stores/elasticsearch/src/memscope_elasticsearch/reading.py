"""Reads: records by id and by condition, their history, counts. A request is about one user, except for counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memscope.records import FetchResult, Handle, Insight, Observation, Select, Stats, Turn
from memscope.search.changes import RecordChanges
from memscope.stores import RecordKey
from memscope.stores.rules import STAGES, expired, in_words, record_key
from memscope.stores.rules import record_id as id_of
from memscope.text.units import microseconds, scope_key
from memscope_elasticsearch import blocks, counters, metadata_tokens, receipts, user_lock
from memscope_elasticsearch.client import LEAN, Body
from memscope_elasticsearch.documents import BULKY, GONE, KINDS, Stored, decode, scope_hash, stored
from memscope_elasticsearch.mapping import health
from memscope_elasticsearch.session import Session

OVERLAP = 200  # writes of a shard that may become visible out of order

# ---- by id

LISTED = ("number", "rid", "kind", "time", "statement")


async def fetch(session: Session, user: str, ids: Sequence[Handle]) -> FetchResult:
    """Returns current records; derived ones as a search finds them, plus those just written by this process."""
    record_ids = [id for id in dict.fromkeys(ids) if isinstance(id, str)]
    if not record_ids:
        session.cluster.check_open()
        return FetchResult({}, {})
    ids = await session.fresh(user)
    fresh, records, found = await asyncio.gather(
        fresh_memories(session, user, ids),
        session.load(user, record_ids),
        session.find_any(user, "sources", record_ids),
    )
    known = {one.id: one for one in found} | fresh
    memories = {id: one for id, one in known.items() if one is not None}
    return FetchResult(
        {record_id: one.record for record_id, one in records.items()}, derived(records, memories.values())
    )


async def fresh_memories(session: Session, user: str, ids: Sequence[str]) -> dict[str, Stored | None]:
    """Returns memories among the unrefreshed writes, None for removed ones."""
    scope = scope_hash(user)
    documents = await session.documents(scope, ids, excludes=BULKY)
    return {document["_id"]: stored(document, scope) for document in documents}


def derived(
    record_ids: Iterable[Handle], memories: Iterable[Stored]
) -> dict[Handle, tuple[Observation | Insight, ...]]:
    """Returns per record the memories that name it as a source, in the order stored."""
    made: dict[Handle, list[Observation | Insight]] = {record_id: [] for record_id in record_ids}
    for one in sorted(memories, key=lambda one: one.number):
        if not isinstance(one.record, Turn):
            for source in dict.fromkeys(one.record.sources):
                made.get(source, []).append(one.record)
    return {record_id: tuple(resting) for record_id, resting in made.items() if resting}


async def history(session: Session, user: str, id: str) -> list[Observation | Insight]:
    """Returns earlier versions and those linked by supersession, in both directions."""
    await session.settle()
    chain: dict[str, Stored] = {}
    waiting = {id}
    while waiting:
        found = await session.load(user, waiting)
        chain |= {record_id: one for record_id, one in found.items() if not isinstance(one.record, Turn)}
        before = await session.find_any(user, "superseded_by", [record_id for record_id in found if record_id in chain])
        after = {one.record.superseded_by for record_id, one in found.items() if not isinstance(one.record, Turn)}
        waiting = {id_of(one.record) for one in before} | {record_id for record_id in after if record_id is not None}
        waiting -= chain.keys()
    versions = [version for one in sorted(chain.values(), key=lambda one: one.number) for version in _versions(one)]
    return sorted(versions, key=lambda memory: memory.recorded)


def _versions(one: Stored) -> list[Observation | Insight]:
    records = [*map(decode, one.source.get("older") or ()), one.record]
    return [record for record in records if not isinstance(record, Turn)]


# ---- by condition


def clauses(select: Select) -> list[Body]:
    """Returns filter clauses for a selection of records; ``rules.in_words`` judges the rest of it."""
    found: list[Body] = []
    if select.agent is not None:
        found.append({"term": {"agent": str(scope_key(select.agent))}})
    if select.session is not None:
        found.append({"term": {"sessions": str(scope_key(select.session))}})
    for name in ("name", "namespace"):
        if getattr(select, name) is not None:
            found.append({"term": {name: getattr(select, name)}})
    if select.period is not None:
        found.append(_period(microseconds(select.period.start), microseconds(select.period.end)))
    if select.current:
        found.append({"term": {"current": True}})
    if select.pending is not None:
        found.append({"term": {"wait": select.pending}})
    if select.expired_by is not None:
        found.append({"range": {"expires": {"lte": microseconds(select.expired_by)}}})
    if select.live_at is not None:
        found.append({"bool": {"must_not": [{"range": {"expires": {"lte": microseconds(select.live_at)}}}]}})
    return found + (metadata_tokens.query(select.filter) if select.filter else [])


def _period(start: int, end: int) -> Body:
    said = {"range": {"time": {"gte": start, "lt": end}}}
    about = [{"range": {"start": {"lt": end}}}, {"range": {"end": {"gt": start}}}]
    return {"bool": {"should": [said, {"bool": {"filter": about}}], "minimum_should_match": 1}}


async def selected(session: Session, select: Select) -> AsyncIterator[list[Stored]]:
    """Yields pages of the selection, by rising number."""
    scope = scope_hash(select.user)
    async for hits in _found(session, select):
        page = [one for hit in hits if (one := stored(hit, scope)) is not None and in_words(select, one.record)]
        if page:
            yield page


async def keys(session: Session, select: Select) -> list[RecordKey]:
    """Only records with a condition on words or metadata are decoded."""
    if select.text is not None or select.filter is not None:
        return [record_key(one.number, one.record) async for page in selected(session, select) for one in page]
    sources = [hit["_source"] async for hits in _found(session, select, LISTED) for hit in hits]
    return [RecordKey(one["number"], one["rid"], one["kind"], one["time"]) for one in sources]


async def _found(session: Session, select: Select, fields: Sequence[str] = ()) -> AsyncIterator[list[Body]]:
    """Yields pages of hits on what is selected, but for conditions on words and metadata."""
    await session.settle()
    for ids in _portions(select.ids):
        narrowed = clauses(select) + ([{"terms": {"rid": ids}}] if ids is not None else [])
        async for hits in session.pages(select.user, narrowed, kinds=select.kinds, fields=fields):
            yield await _living(session, select, hits)


async def changed(session: Session, user: str, since: int) -> AsyncIterator[RecordChanges]:
    """Yields pages of what was written and removed since, by sequence number of the user's shard.

    Of concurrent writes a later one may be seen first, so that the last ``OVERLAP`` come again.
    """
    await session.settle()
    scope, query = scope_hash(user), {"filter": [{"term": {"part": 0}}, {"terms": {"kind": [*sorted(KINDS), GONE]}}]}
    fields: dict[str, Any] = {"seq_no_primary_term": True, "_source": {"excludes": BULKY.split(",")}}
    async for hits in session.walk(user, query, "_seq_no", after=max(-1, since - OVERLAP), **fields):
        written = [one.record for hit in hits if (one := stored(hit, scope)) is not None]
        gone = [hit["_source"]["rid"] for hit in hits if hit["_source"]["kind"] == GONE]
        yield RecordChanges(hits[-1]["sort"][0], written, gone)


def _portions(ids: frozenset[str] | None) -> list[list[str] | None]:
    if ids is None:
        return [None]
    ordered = sorted(ids)
    return [ordered[start : start + 10_000] for start in range(0, len(ordered), 10_000)]


async def _living(session: Session, select: Select, hits: list[Body]) -> list[Body]:
    """Drop statements whose memory has expired."""
    statements = [hit["_source"]["rid"] for hit in hits if hit["_source"].get("statement")]
    if select.live_at is None or not statements:
        return hits
    over = {
        source for one in await session.find_any(select.user, "sources", statements)
        if not isinstance(one.record, Turn) and expired(one.record, select.live_at)
        for source in one.record.sources
    }  # fmt: skip
    return [hit for hit in hits if not hit["_source"].get("statement") or hit["_source"]["rid"] not in over]


async def tombstones(session: Session, user: str) -> list[str]:
    await session.settle()
    scope = scope_hash(user)
    query = {"bool": {"filter": [{"term": {"scope": scope}}, {"term": {"kind": GONE}}]}}
    body = {"size": 5000, "sort": [{"rid": "asc"}], "search_after": [""], "_source": ["rid"], "query": query}
    pages = session.cluster.walk(session.names.memory, body, routing=scope, paths=LEAN)
    return sorted([hit["_source"]["rid"] async for page in pages for hit in page])


async def users(session: Session, *, forgotten: bool = False) -> list[str]:
    await session.settle()
    found = [*await blocks.counts(session), *(await receipts.users(session) if forgotten else ())]
    kinds = [*KINDS, GONE] if forgotten else list(KINDS)
    after: dict[str, Any] = {}
    while True:
        sources = {"size": 1000, "sources": [{"scope": {"terms": {"field": "scope"}}}], **after}
        body = {"size": 0, "query": {"terms": {"kind": kinds}}, "aggs": {"scopes": {"composite": sources}}}
        answer = await session.cluster.search(session.names.memory, body, paths="aggregations.scopes.buckets.key")
        buckets = answer.get("aggregations", {}).get("scopes", {}).get("buckets", [])
        found += (
            await counters.names_of(session.cluster, session.names, [one["key"]["scope"] for one in buckets])
        ).values()
        if len(buckets) < 1000:
            return sorted(set(found))
        after = {"after": buckets[-1]["key"]}


# ---- counts


async def stats(session: Session, user: str | None) -> Stats:
    await session.settle()
    await session.vectors.meta()
    kinds: Body = {"terms": {"kind": list(KINDS)}}
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
    found = answer["aggregations"]
    records = {one["key"]: one["doc_count"] for one in found["records"]["kinds"]["buckets"]}
    waits = {one["key"]: one["doc_count"] for one in found["waits"]["buckets"]} | {"embed": found["embed"]["doc_count"]}
    troubles = await _troubles(session, user)
    with_blocks = await blocks.counts(session, user)
    return Stats(
        users=len(await users(session)) if user is None else int(bool(records or with_blocks)),
        turns=records.get("turn", 0),
        observations=records.get("observation", 0),
        insights=records.get("insight", 0),
        blocks=sum(with_blocks.values()),
        units=answer["hits"]["total"]["value"],
        vectors=found["vectors"]["doc_count"],
        pending={stage: max(0, waits.get(stage, 0) - troubles.waiting[stage]) for stage in STAGES},
        failed={stage: troubles.failed[stage] for stage in STAGES},
        parked={stage: troubles.parked[stage] for stage in STAGES},
        errors=dict(troubles.codes),
        space=active.space if active else None,
        details=await health(session.cluster, session.names) if user is None else {},
    )


@dataclass(slots=True)
class _Troubles:
    """Items of batches that failed or are parked, by stage, the codes of these batches, and the items that still wait.

    What was closed since is in its batch, but waits no more.
    """

    failed: Counter[str] = field(default_factory=Counter)
    parked: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)


async def _troubles(session: Session, user: str | None) -> _Troubles:
    found = _Troubles()
    states = (
        [(user, await user_lock.load(session, user))]
        if user is not None
        else [one async for one in user_lock.troubled(session)]
    )
    wanted: list[tuple[str, Body]] = []  # stage, and where the document of an item is
    for name, batch in ((name, batch) for name, state in states for batch in state.batches if batch.code):
        (found.parked if batch.parked else found.failed)[batch.stage] += len(batch.items)
        found.codes[batch.code] += 1
        if batch.stage == "embed":
            found.waiting[batch.stage] += len(batch.items)
        else:
            wanted += [(batch.stage, session.at(scope_hash(name), id)) for id in batch.items]
    documents = await session.cluster.documents([at for _, at in wanted], includes="wait")
    for (stage, _), document in zip(wanted, documents, strict=True):
        found.waiting[stage] += document.get("_source", {}).get("wait") == stage
    return found
