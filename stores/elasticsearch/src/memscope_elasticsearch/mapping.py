"""The two indices: records (``-mem``), and state of the work (``-work``). Explicit mappings, checked.

An alias stands for each, so that a new index can take its place. Nothing is ever mapped from what users wrote.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from memscope.errors import MemscopeError, StoreCorrupt, StoreError, StoreTooNew
from memscope.search.bm25 import K1
from memscope.text.vectors import DIMENSIONS
from memscope_elasticsearch.client import Body, Cluster
from memscope_elasticsearch.documents import DERIVED

VERSION = 3
COPIED = 0  # the last format whose indices are copied; later ones get the fields that they lack
META = "memscope"
META_ID, META_ROUTING = "meta", "meta"
ANOTHER = "choose another prefix, as in elasticsearch://host/PREFIX"

_KEYWORD, _LONG, _FLAG, _KEPT = (
    {"type": "keyword"},
    {"type": "long"},
    {"type": "boolean"},
    {"type": "object", "enabled": False},
)
# Words are looked for as BM25 has it; in "count" without a part for the length: a score tells how often one is there.
_COUNT = {"type": "text", "analyzer": "whitespace", "index_options": "freqs", "norms": False, "similarity": "count"}
_TERMS = {"type": "text", "analyzer": "whitespace", "fields": {"count": _COUNT}}
# Compared exactly, within one user's units: a graph pays only for scopes of hundreds of thousands.
_MEANING = {
    "type": "dense_vector", "element_type": "byte", "dims": DIMENSIONS, "similarity": "cosine", "index": True,
    "index_options": {"type": "flat"},
}  # fmt: skip
SIMILARITY = {"count": {"type": "BM25", "k1": K1, "b": 0.0}}

# Of a unit; the first unit of a record carries the record.
MEMORY: Mapping[str, Body] = {
    "scope": _KEYWORD,  # hashed user: first sort key, in every filter, and the routing
    "kind": _KEYWORD,  # turn, observation, insight; gone (a tombstone), blank (its further units)
    "rid": _KEYWORD,  # the record's key or id
    "part": {"type": "integer"},
    "number": _LONG,
    "seq": _LONG,
    "target": _KEYWORD,  # the record whose hit this unit is
    "agent": _KEYWORD, "session": _KEYWORD, "role": _KEYWORD, "speaker": _LONG,
    "time": _LONG, "closed": _LONG, "expires": _LONG,  # microseconds since 1970
    "proposed": _FLAG, "spare": _FLAG,
    "place": _LONG, "sitting": _LONG, "length": {"type": "integer"},
    "size": {"type": "integer"},  # bytes of the record, for those who bring it along
    "words": _TERMS,
    "header": {"type": "text", "analyzer": "whitespace", "index_options": "docs", "norms": False},
    "topics": _KEYWORD, "personal": _FLAG, "meaning": _MEANING,  # text.topics, text.flags, text.vectors
    "named": {"type": "long_range"},  # intervals that its words are about
    "facts": _KEYWORD,  # of metadata or data, see metadata_tokens.py
    "space": {"type": "integer"},  # the vector space it was embedded for last
    "terms": _KEYWORD,  # text.units_version
    "columns": _KEPT,  # base64 of the columns of text.units, without the built-in vector
    "packed": _KEPT,  # that vector, for units that no search finds yet
    "sessions": _KEYWORD, "start": _LONG, "end": _LONG, "current": _FLAG, "statement": _FLAG,
    "name": _KEYWORD, "namespace": _KEYWORD, "sources": _KEYWORD, "roots": _KEYWORD,
    "superseded_by": _KEYWORD, "supersedes": _KEYWORD, "wait": _KEYWORD,
    "places": _LONG,  # of the units of a turn, or of the turns a memory rests on
    "body": _KEPT, "older": _KEPT, "at": _LONG,
}  # fmt: skip
WORK: Mapping[str, Body] = {
    "scope": _KEYWORD, "kind": _KEYWORD, "user": _KEYWORD,
    "due": _LONG,  # when an operation that was begun may be finished by others
    "troubled": _FLAG,  # has batches that failed or are parked
    "state": _KEPT,
}  # fmt: skip


class IndexNames:
    """Aliases and indices of one store."""

    def __init__(self, prefix: str) -> None:
        self.memory, self.work = f"{prefix}-mem", f"{prefix}-work"

    def index(self, alias: str) -> str:
        return f"{alias}-{VERSION:06d}"


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
    fields = MEMORY if alias == names.memory else WORK
    about = {META: {"version": VERSION, "terms": DERIVED}}
    mappings = {"dynamic": False, "_routing": {"required": True}, "_meta": about, "properties": dict(fields)}
    return {"settings": {"index": index}, "mappings": mappings, "aliases": {alias: {"is_write_index": True}}}


async def prepare(cluster: Cluster, names: IndexNames) -> None:
    """Create missing indices."""
    for alias in (names.memory, names.work):
        if not await exists(cluster, alias):
            await create(cluster, alias, names)


async def examine(cluster: Cluster, names: IndexNames) -> None:
    """Check existing indices. ``StoreTooNew`` and ``StoreCorrupt`` as any store."""
    for alias, fields in ((names.memory, MEMORY), (names.work, WORK)):
        check(alias, fields, await described(cluster, alias))


async def described(cluster: Cluster, alias: str) -> tuple[str, Mapping[str, Any]]:
    """Returns the index that an alias stands for, and its description."""
    answer = await cluster.request("GET", f"/{alias}")
    if len(answer) != 1:
        raise StoreCorrupt(f"the alias {alias!r} stands for {len(answer)} indices", hint=f"it must be one; {ANOTHER}")
    ((index, about),) = answer.items()
    return index, about


def notes(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what memscope noted of an index when it made it; nothing for an index of somebody else."""
    meta = about["mappings"].get("_meta", {})
    found = meta.get(META) if isinstance(meta, Mapping) else None
    return found if isinstance(found, Mapping) and isinstance(found.get("version"), int) else {}


async def describe(cluster: Cluster, names: IndexNames) -> None:
    """Create the document shared by all processes, unless it exists."""
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
    """Create an index of this format under its alias; without the alias for ``alone``."""
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
                hint=f"give it the alias if memscope made it, else {ANOTHER}",
            ) from None


def check(alias: str, fields: Mapping[str, Body], found: tuple[str, Mapping[str, Any]]) -> None:
    """Check that the alias names an index of ours, with its mapping as created."""
    index, about = found
    if index == alias:
        raise StoreCorrupt(f"{alias!r} is an index and not an alias; memscope did not make it", hint=ANOTHER)
    ours = notes(about)
    if not ours:
        raise StoreCorrupt(f"the index {index!r} was not made by memscope", hint=ANOTHER)
    if ours["version"] > VERSION:
        raise StoreTooNew(f"the index {index!r} has format {ours['version']}", hint="upgrade memscope")
    for trouble in differences(fields, about):
        raise StoreCorrupt(
            f"the index {index!r} was changed: {trouble}", hint="restore its mapping, or import an export"
        )


def differences(fields: Mapping[str, Body], about: Mapping[str, Any]) -> Iterator[str]:
    """Returns the differences between an index and its definition."""
    mappings, settings = about["mappings"], about["settings"]["index"]
    if str(mappings.get("dynamic", "true")).lower() != "false":
        yield "it maps what it does not know (dynamic)"
    if not mappings.get("_routing", {}).get("required"):
        yield "it takes documents without routing"
    for name, wanted in fields.items():
        have = mappings.get("properties", {}).get(name)
        if have is None or not _covers(have, wanted):
            yield f"the field {name!r}"
    if settings.get("translog", {}).get("durability", "request").lower() != "request":
        yield "its translog is not synced with every request (index.translog.durability)"


def _covers(have: Any, wanted: Any) -> bool:
    """Returns whether a mapping has all wanted fields; the server leaves out the type of an object."""
    if not isinstance(wanted, Mapping):
        return str(have).lower() == str(wanted).lower()
    told = {"type": "object", **have}
    return all(key in told and _covers(told[key], value) for key, value in wanted.items())


async def health(cluster: Cluster, names: IndexNames) -> Mapping[str, Any]:
    """Returns the state of indices and cluster: version, mappings, refresh, durability, room on the disks."""
    found: dict[str, Any] = {}
    for alias, fields in ((names.memory, MEMORY), (names.work, WORK)):
        index, about = await described(cluster, alias)
        settings = about["settings"]["index"]
        found[alias] = {
            "index": index,
            "format": notes(about).get("version"),
            "differences": list(differences(fields, about)),
            "refresh_interval": settings.get("refresh_interval", "1s"),
            "translog_durability": settings.get("translog", {}).get("durability", "request"),
            "blocks": sorted(name for name, on in settings.get("blocks", {}).items() if str(on) == "true"),
        }
    return {**found, **await _cluster(cluster)}


async def _cluster(cluster: Cluster) -> Mapping[str, Any]:
    """Returns the state of the cluster; a user without the right to see it sees nothing here."""
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


__all__ = [
    "MEMORY",
    "META_ID",
    "META_ROUTING",
    "VERSION",
    "WORK",
    "IndexNames",
    "check",
    "differences",
    "health",
    "prepare",
]
