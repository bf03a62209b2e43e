"""Upgrade indices of older formats and outdated derived fields; both resume after an interruption.

An index of an old format is write-blocked and copied into a new one; then the alias is switched atomically. Units of
another ``DERIVED_VERSION`` are renewed from their records, in place.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any

from memscope.errors import StoreGone
from memscope.records import Turn
from memscope_elasticsearch import mapping
from memscope_elasticsearch.client import Body, BulkOperation, Cluster, version_of
from memscope_elasticsearch.documents import DERIVED_VERSION, DOCUMENT_KINDS, Place, Stored, documents, stored
from memscope_elasticsearch.mapping import META, IndexNames
from memscope_elasticsearch.session import Session

DOCUMENTS_PER_PAGE = 500
FIELDS = (
    "columns",
    "packed",
    "words",
    "header",
    "length",
    "topics",
    "personal",
    "meaning",
    "named",
    "facts",
    "terms",
)  # fields derived from a record

# ---- the format


async def upgrade(cluster: Cluster, names: IndexNames) -> None:
    """Upgrade each index of an older format."""
    for alias in (names.memory, names.work):
        index, about = await mapping.described(cluster, alias)
        version = mapping.notes(about).get("version", mapping.MAPPING_VERSION)
        if index == alias or version == mapping.MAPPING_VERSION:
            continue
        if version <= mapping.LAST_COPIED_VERSION:
            with suppress(StoreGone):  # another process was faster
                await _move(cluster, names, alias, index, about)
        elif version < mapping.MAPPING_VERSION:
            await _extend(cluster, names, alias, index, about)


async def _extend(cluster: Cluster, names: IndexNames, alias: str, index: str, about: Mapping[str, Any]) -> None:
    """Add the missing fields of an older index; processes of the older version can no longer open it."""
    wanted = mapping.MEMORY_FIELDS if alias == names.memory else mapping.WORK_FIELDS
    have, meta = about["mappings"].get("properties", {}), about["mappings"]["_meta"]
    lacking = {name: field for name, field in wanted.items() if name not in have}
    changed = {**meta, META: {**meta[META], "version": mapping.MAPPING_VERSION}}
    await cluster.request("PUT", f"/{index}/_mapping", body={"properties": lacking, "_meta": changed})


async def _move(cluster: Cluster, names: IndexNames, alias: str, old: str, about: Mapping[str, Any]) -> None:
    new = names.index(alias)
    await cluster.request("PUT", f"/{old}/_settings", body={"index.blocks.write": True})
    if not await mapping.exists(cluster, new):
        await mapping.create(cluster, alias, names, alone=True)
        fields = about["mappings"].get("properties", {})
        vectors = {name: field for name, field in fields.items() if field.get("type") == "dense_vector"}
        if vectors:
            await cluster.request("PUT", f"/{new}/_mapping", body={"properties": vectors})
    await cluster.refresh(old)
    async with aclosing(_everything(cluster, old)) as pages:
        async for hits in pages:  # ``create`` skips what an earlier attempt copied
            copies = ((hit["_id"], hit["_routing"], hit["_source"]) for hit in hits)
            await cluster.bulk(BulkOperation("create", new, *copy, by_alias=False) for copy in copies)
    await cluster.refresh(new)
    swap = [
        {"add": {"index": new, "alias": alias, "is_write_index": True}},
        {"remove_index": {"index": old}},
    ]
    await cluster.request("POST", "/_aliases", body={"actions": swap})


async def _everything(cluster: Cluster, index: str) -> AsyncGenerator[list[Mapping[str, Any]], None]:
    """Yield pages of all documents, vectors included, from one point-in-time view."""
    opened = await cluster.request("POST", f"/{index}/_pit", keep_alive="10m")
    pit, after = opened["id"], None
    try:
        while True:
            body: Body = {
                "size": DOCUMENTS_PER_PAGE,
                "pit": {"id": pit, "keep_alive": "10m"},
                "sort": [{"_shard_doc": "asc"}],
            }
            body |= {"_source": {"exclude_vectors": False}} | ({"search_after": after} if after is not None else {})
            answer = await cluster.request("POST", "/_search", body=body)
            hits = answer["hits"]["hits"]
            if not hits:
                return
            yield hits
            pit, after = answer.get("pit_id", pit), hits[-1]["sort"]
    finally:
        await cluster.request("DELETE", "/_pit", body={"id": pit})


# ---- derived fields


async def renew(session: Session) -> int:
    """Renew units of another ``DERIVED_VERSION`` while the store is in use; return the number of records."""
    index, about = await mapping.described(session.cluster, session.names.memory)
    meta, count = about["mappings"]["_meta"], 0
    outdated = meta[META].get("terms") != DERIVED_VERSION
    if outdated:
        await session.refresh()
    while hits := await _outdated(session):
        for scope in dict.fromkeys(hit["_source"]["scope"] for hit in hits):
            of_scope = [entry for hit in hits if (entry := stored(hit, scope)) is not None]
            count += await _again(session, scope, of_scope)
        await session.refresh()
    if outdated:
        meta[META] = {**meta[META], "terms": DERIVED_VERSION}
        await session.cluster.request("PUT", f"/{index}/_mapping", body={"_meta": meta})
    return count


async def _outdated(session: Session) -> list[Mapping[str, Any]]:
    clauses = {"filter": [{"term": {"part": 0}}, {"terms": {"kind": list(DOCUMENT_KINDS)}}]}
    body = {
        "size": DOCUMENTS_PER_PAGE,
        "query": {"bool": {**clauses, "must_not": [{"term": {"terms": DERIVED_VERSION}}]}},
    }
    answer = await session.cluster.search(
        session.names.memory, {**body, "seq_no_primary_term": True}, paths="hits.hits"
    )
    hits: list[Mapping[str, Any]] = answer.get("hits", {}).get("hits", [])
    return hits


async def _again(session: Session, scope: str, entries: Sequence[Stored]) -> int:
    """Renew units in place; their texts do not change, so vectors stay."""
    if not entries:
        return 0
    user = entries[0].record.scope.user
    roots = await session.load(user, {record_id for entry in entries for record_id in entry.source.get("roots") or ()})
    bodies = {entry.id: _derived(entry, roots) for entry in entries}
    further = [id for units in bodies.values() for id in list(units)[1:]]
    known = {entry["_id"]: entry for entry in await session.documents(scope, further, includes="kind")}
    rest = [
        BulkOperation("update", session.names.memory, id, scope, units[id], version_of(known[id]))
        for units in bodies.values()
        for id in list(units)[1:]
        if known[id].get("_source", {}).get("kind") in DOCUMENT_KINDS  # not forgotten meanwhile
    ]
    behind = {op.id for op, outcome in zip(rest, await session.cluster.bulk(rest), strict=True) if not outcome.ok}
    whole = [entry for entry in entries if behind.isdisjoint(bodies[entry.id])]
    await session.cluster.bulk(  # the first unit last: its ``terms`` mark the record as renewed
        BulkOperation("update", session.names.memory, entry.id, scope, bodies[entry.id][entry.id], entry.version)
        for entry in whole
    )
    return len(whole)


def _derived(entry: Stored, roots: Mapping[str, Stored]) -> dict[str, Body]:
    """Compute the derived fields of a record's documents, by id."""
    on = [roots[record_id] for record_id in entry.source.get("roots") or () if record_id in roots]
    turns = [(root.number, root.record) for root in on if isinstance(root.record, Turn)]
    place = Place.at(entry.source["places"][0]) if isinstance(entry.record, Turn) else None
    bodies = documents(entry.record, entry.number, sorted(turns), place=place)
    return {id: {name: body[name] for name in FIELDS} for id, body in bodies.items()}
