"""The two indices: records (``-mem``) and state of the work (``-work``), with explicit mappings, checked on open.

Each has an alias, so that a new index can replace it. Dynamic mapping is off: no user content becomes a field.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from memscope.errors import MemscopeError, StoreCorrupt, StoreError, StoreTooNew
from memscope.search.bm25 import BM25_K1
from memscope.text.vectors import DIMENSIONS
from memscope_elasticsearch.client import Body, Cluster
from memscope_elasticsearch.documents import DERIVED_VERSION

MAPPING_VERSION = 3
LAST_COPIED_VERSION = 0  # indices up to this format are copied; later ones get their missing fields
META = "memscope"
META_ID, META_ROUTING = "meta", "meta"
ANOTHER_PREFIX = "choose another prefix, as in elasticsearch://host/PREFIX"

_KEYWORD_FIELD, _LONG_FIELD, _FLAG_FIELD, _STORED_FIELD = (
    {"type": "keyword"},
    {"type": "long"},
    {"type": "boolean"},
    {"type": "object", "enabled": False},
)
# "words" is scored by BM25; "words.count" has no length normalization, so its score reveals the term frequency.
_COUNT = {"type": "text", "analyzer": "whitespace", "index_options": "freqs", "norms": False, "similarity": "count"}
_TERMS = {"type": "text", "analyzer": "whitespace", "fields": {"count": _COUNT}}
# Exact search in one user's units: a graph (HNSW) pays off only from hundreds of thousands of units per user.
_MEANING_FIELD = {
    "type": "dense_vector", "element_type": "byte", "dims": DIMENSIONS, "similarity": "cosine", "index": True,
    "index_options": {"type": "flat"},
}  # fmt: skip
SIMILARITY = {"count": {"type": "BM25", "k1": BM25_K1, "b": 0.0}}

# One document per unit; the first unit of a record contains the record.
MEMORY_FIELDS: Mapping[str, Body] = {
    "scope": _KEYWORD_FIELD,  # hashed user: first sort key, in every filter, and the routing
    "kind": _KEYWORD_FIELD,  # turn, observation, insight; gone (a tombstone), blank (its other units)
    "rid": _KEYWORD_FIELD,  # the record's key or id
    "part": {"type": "integer"},
    "number": _LONG_FIELD,
    "seq": _LONG_FIELD,
    "target": _KEYWORD_FIELD,  # record that a hit on this unit returns
    "agent": _KEYWORD_FIELD, "session": _KEYWORD_FIELD, "role": _KEYWORD_FIELD, "speaker": _LONG_FIELD,
    "time": _LONG_FIELD, "closed": _LONG_FIELD, "expires": _LONG_FIELD,  # microseconds since 1970
    "proposed": _FLAG_FIELD, "spare": _FLAG_FIELD,
    "place": _LONG_FIELD, "sitting": _LONG_FIELD, "length": {"type": "integer"},
    "size": {"type": "integer"},  # bytes of the record, to plan the second request
    "words": _TERMS,
    "header": {"type": "text", "analyzer": "whitespace", "index_options": "docs", "norms": False},
    # text.topics, languages.flags, text.vectors
    "topics": _KEYWORD_FIELD, "personal": _FLAG_FIELD, "meaning": _MEANING_FIELD,
    "named": {"type": "long_range"},  # intervals that it mentions
    "facts": _KEYWORD_FIELD,  # tokens of metadata or data, see metadata_tokens.py
    "space": {"type": "integer"},  # vector space of its latest vector
    "terms": _KEYWORD_FIELD,  # documents.DERIVED_VERSION
    "columns": _STORED_FIELD,  # base64 of the columns of search.units, without the built-in vector
    "packed": _STORED_FIELD,  # the built-in vector, for unrefreshed units
    "sessions": _KEYWORD_FIELD, "start": _LONG_FIELD, "end": _LONG_FIELD, "current": _FLAG_FIELD,
    "statement": _FLAG_FIELD,
    "name": _KEYWORD_FIELD, "namespace": _KEYWORD_FIELD, "sources": _KEYWORD_FIELD, "roots": _KEYWORD_FIELD,
    "superseded_by": _KEYWORD_FIELD, "supersedes": _KEYWORD_FIELD, "wait": _KEYWORD_FIELD,
    "places": _LONG_FIELD,  # of the units of a turn, or of the turns of a memory
    "body": _STORED_FIELD, "older": _STORED_FIELD, "at": _LONG_FIELD,
}  # fmt: skip
WORK_FIELDS: Mapping[str, Body] = {
    "scope": _KEYWORD_FIELD, "kind": _KEYWORD_FIELD, "user": _KEYWORD_FIELD,
    "due": _LONG_FIELD,  # when others may replay the open intent
    "troubled": _FLAG_FIELD,  # has failed or parked batches
    "state": _STORED_FIELD,
}  # fmt: skip


class IndexNames:
    """Aliases and indices of one store."""

    def __init__(self, prefix: str) -> None:
        self.memory, self.work = f"{prefix}-mem", f"{prefix}-work"

    def index(self, alias: str) -> str:
        return f"{alias}-{MAPPING_VERSION:06d}"


def definition(alias: str, names: IndexNames, *, shards: int, replicas: int | None) -> Body:
    index: Body = {
        "number_of_shards": shards, "translog.durability": "request",
        "merge.policy.expunge_deletes_allowed": 0,  # for compact
    }  # fmt: skip
    if replicas is not None:
        index["number_of_replicas"] = replicas
    if alias == names.memory:
        index |= {"similarity": SIMILARITY, "refresh_interval": "1s", "sort.field": ["scope"], "sort.order": ["asc"]}
    else:
        index |= {"refresh_interval": "200ms"}
    fields = MEMORY_FIELDS if alias == names.memory else WORK_FIELDS
    about = {META: {"version": MAPPING_VERSION, "terms": DERIVED_VERSION}}
    mappings = {"dynamic": False, "_routing": {"required": True}, "_meta": about, "properties": dict(fields)}
    return {"settings": {"index": index}, "mappings": mappings, "aliases": {alias: {"is_write_index": True}}}


async def prepare(cluster: Cluster, names: IndexNames) -> None:
    """Create missing indices."""
    for alias in (names.memory, names.work):
        if not await exists(cluster, alias):
            await create(cluster, alias, names)


async def examine(cluster: Cluster, names: IndexNames) -> None:
    """Check existing indices; raise ``StoreTooNew`` or ``StoreCorrupt``."""
    for alias, fields in ((names.memory, MEMORY_FIELDS), (names.work, WORK_FIELDS)):
        check(alias, fields, await described(cluster, alias))


async def described(cluster: Cluster, alias: str) -> tuple[str, Mapping[str, Any]]:
    """Look up the index behind an alias, and its description."""
    answer = await cluster.request("GET", f"/{alias}")
    if len(answer) != 1:
        raise StoreCorrupt(
            f"the alias {alias!r} points to {len(answer)} indices", hint=f"it must be one; {ANOTHER_PREFIX}"
        )
    ((index, about),) = answer.items()
    return index, about


def notes(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read the ``_meta`` that memscope wrote; empty for an index of another program."""
    meta = about["mappings"].get("_meta", {})
    noted = meta.get(META) if isinstance(meta, Mapping) else None
    return noted if isinstance(noted, Mapping) and isinstance(noted.get("version"), int) else {}


async def describe(cluster: Cluster, names: IndexNames) -> None:
    """Create the meta document that all processes share, unless it exists."""
    about = {"scope": META, "kind": "meta", "state": {"secret": secrets.token_bytes(32).hex(), "spaces": []}}
    try:
        await cluster.request(
            "PUT", f"/{names.work}/_create/{META_ID}", body=about, routing=META_ROUTING, require_alias="true"
        )
    except StoreError as error:
        if "409" not in str(error):
            raise


async def exists(cluster: Cluster, alias: str) -> bool:
    try:
        await cluster.request("GET", f"/{alias}/_settings/index.uuid")
    except MemscopeError as error:
        if error.code == "store_gone":
            return False
        raise
    return True


async def create(cluster: Cluster, alias: str, names: IndexNames, *, alone: bool = False) -> None:
    """Create an index of the current format, with its alias unless ``alone``."""
    chosen = cluster.options
    try:
        body = definition(alias, names, shards=chosen.shards, replicas=chosen.replicas)
        if alone:
            del body["aliases"]
        await cluster.request("PUT", f"/{names.index(alias)}", body=body, wait_for_active_shards="1")
    except StoreError as error:
        if "resource_already_exists" not in str(error):
            raise
        if not alone and not await exists(cluster, alias):
            raise StoreCorrupt(
                f"there is an index {names.index(alias)!r} without its alias {alias!r}",
                hint=f"give it the alias if memscope made it, else {ANOTHER_PREFIX}",
            ) from None


def check(alias: str, fields: Mapping[str, Body], described_index: tuple[str, Mapping[str, Any]]) -> None:
    """Check that the alias points to an index of memscope with the mapping as created."""
    index, about = described_index
    if index == alias:
        raise StoreCorrupt(f"{alias!r} is an index and not an alias; memscope did not make it", hint=ANOTHER_PREFIX)
    ours = notes(about)
    if not ours:
        raise StoreCorrupt(f"the index {index!r} was not made by memscope", hint=ANOTHER_PREFIX)
    if ours["version"] > MAPPING_VERSION:
        raise StoreTooNew(f"the index {index!r} has format {ours['version']}", hint="upgrade memscope")
    for trouble in differences(fields, about):
        raise StoreCorrupt(
            f"the index {index!r} was changed: {trouble}", hint="restore its mapping, or import an export"
        )
    if _durability(about) != "request":
        raise StoreCorrupt(
            f"the index {index!r} was changed: its translog is not synced with every request",
            hint=f"set index.translog.durability of {alias} to request",
        )


def differences(fields: Mapping[str, Body], about: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between the mapping of an index and its definition."""
    mappings = about["mappings"]
    if str(mappings.get("dynamic", "true")).lower() != "false":
        yield "it maps unknown fields (dynamic)"
    if not mappings.get("_routing", {}).get("required"):
        yield "it accepts documents without routing"
    for name, wanted in fields.items():
        have = mappings.get("properties", {}).get(name)
        if have is None or not _covers(have, wanted):
            yield f"the field {name!r}"


def _durability(about: Mapping[str, Any]) -> str:
    return str(about["settings"]["index"].get("translog", {}).get("durability", "request")).lower()


def _covers(have: Any, wanted: Any) -> bool:
    """Check that a mapping has all wanted fields; the server omits the type of an object."""
    if not isinstance(wanted, Mapping):
        return str(have).lower() == str(wanted).lower()
    mapping = {"type": "object", **have}
    return all(key in mapping and _covers(mapping[key], value) for key, value in wanted.items())


async def health(cluster: Cluster, names: IndexNames) -> Mapping[str, Any]:
    """Read the state of indices and cluster: versions, mappings, refresh, durability, disk space."""
    indices: dict[str, Any] = {}
    for alias, fields in ((names.memory, MEMORY_FIELDS), (names.work, WORK_FIELDS)):
        index, about = await described(cluster, alias)
        settings = about["settings"]["index"]
        indices[alias] = {
            "index": index,
            "format": notes(about).get("version"),
            "differences": list(differences(fields, about)),
            "refresh_interval": settings.get("refresh_interval", "1s"),
            "translog_durability": _durability(about),
            "blocks": sorted(name for name, on in settings.get("blocks", {}).items() if str(on) == "true"),
        }
    return {**indices, **await _cluster(cluster)}


async def _cluster(cluster: Cluster) -> Mapping[str, Any]:
    """Read the state of the cluster, or the error code if the account lacks the privilege."""
    try:
        status = await cluster.request("GET", "/_cluster/health", filter_path="status")
        nodes = await cluster.request("GET", "/_nodes/stats/fs", filter_path="nodes.*.fs.total")
        versions = await cluster.request("GET", "/_nodes", filter_path="nodes.*.version")
    except MemscopeError as error:
        return {"cluster": error.code}
    totals = [node["fs"]["total"] for node in nodes.get("nodes", {}).values()]
    used = [100 - 100 * total["available_in_bytes"] / max(1, total["total_in_bytes"]) for total in totals]
    return {
        "status": status.get("status"),
        "versions": sorted({node["version"] for node in versions.get("nodes", {}).values()}),
        "fullest_disk_percent": round(max(used, default=0.0), 1),
    }
