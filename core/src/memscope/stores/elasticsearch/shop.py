"""What every part of the store works with: the cluster, the indices' names, the clock, and what is too new to be found.

A search finds a document up to a second after it was written. ``Recent`` remembers the ids this process wrote so
lately: they are read directly and take the place of what a search says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memscope.stores.elasticsearch.client import Body, Cluster, Operation
from memscope.stores.elasticsearch.documents import BULKY, KINDS, Stored, document_id, scope_hash, stored
from memscope.stores.elasticsearch.mapping import Names
from memscope.text import microseconds

FRESH_S = 2.0  # a refresh a second, and as much again for a busy node
PAGE = 500


class Recent:
    """Ids of documents, by user, written less than ``FRESH_S`` ago."""

    def __init__(self) -> None:
        self._written: dict[str, dict[str, float]] = {}
        self._swept = 0.0

    def note(self, user: str, ids: Iterable[str]) -> None:
        now = time.monotonic()
        self._written.setdefault(user, {}).update(dict.fromkeys(ids, now))
        if now - self._swept > FRESH_S:
            self._sweep(now)

    def of(self, user: str) -> list[str]:
        since = time.monotonic() - FRESH_S
        return [id for id, when in self._written.get(user, {}).items() if when > since]

    def drop(self, user: str, until: float) -> None:
        """What was written until then is found by now."""
        self._written[user] = {id: when for id, when in self._written.get(user, {}).items() if when > until}

    def users(self) -> list[str]:
        return [user for user in list(self._written) if self.of(user)]

    def _sweep(self, now: float) -> None:
        self._swept = now
        for user in list(self._written):
            kept = {id: when for id, when in self._written[user].items() if when > now - FRESH_S}
            if kept:
                self._written[user] = kept
            else:
                del self._written[user]


@dataclass
class Shop:
    cluster: Cluster
    names: Names
    clock: Callable[[], datetime]
    recent: Recent = field(default_factory=Recent)
    spaces: Any = None  # spaces.Spaces
    _wrote: float = field(default_factory=time.monotonic)  # or another process did, just before this one began
    _settled: float = -1e9

    def now(self) -> int:
        return microseconds(self.clock())

    # ---- documents of records

    def at(self, scope: str, rid: str) -> Body:
        return {"_index": self.names.memory, "_id": document_id(scope, rid), "routing": scope}

    def creates(self, scope: str, made: Mapping[str, Body]) -> list[Operation]:
        return [Operation("create", self.names.memory, id, scope, without_nothing(body)) for id, body in made.items()]

    async def load(self, user: str, rids: Iterable[str]) -> dict[str, Stored]:
        """Records as they are now, by id; missing and foreign ones left out."""
        scope, wanted = scope_hash(user), list(dict.fromkeys(rids))
        found = await self.cluster.documents([self.at(scope, rid) for rid in wanted], excludes=BULKY) if wanted else []
        pairs = zip(wanted, (stored(document, scope) for document in found), strict=True)
        return {rid: one for rid, one in pairs if one is not None}

    async def taken(self, user: str, rids: Iterable[str]) -> dict[str, str]:
        """Which ids are in use or were forgotten, with the kind of the document that stands there."""
        scope, wanted = scope_hash(user), list(dict.fromkeys(rids))
        found = await self.cluster.documents([self.at(scope, rid) for rid in wanted], includes="kind") if wanted else []
        pairs = zip(wanted, found, strict=True)
        return {rid: document["_source"]["kind"] for rid, document in pairs if "_source" in document}

    # ---- freshness

    def wrote(self, users: Iterable[str] = ()) -> None:
        self._wrote = time.monotonic()

    async def settle(self) -> None:
        """After this, searches find what this process wrote: at once unless it wrote in the last two seconds."""
        if self._wrote > self._settled and time.monotonic() - self._wrote < FRESH_S:
            await self.refresh()

    async def searchable(self, user: str) -> None:
        """Waits for the index's next refresh, up to a second; forces none."""
        scope, body = scope_hash(user), {"scope": scope_hash(user), "kind": "mark"}
        mark = Operation("index", self.names.memory, document_id(scope, "mark"), scope, body)
        begun = time.monotonic()
        await self.cluster.bulk([mark], wait_for=True)
        self.recent.drop(user, begun)

    async def refresh(self) -> None:
        begun = time.monotonic()
        await self.cluster.refresh(self.names.memory)
        self._settled = begun

    # ---- searches of records

    async def walk(self, user: str, query: Body, by: str, *, size: int = PAGE, after: int = -1, **more: Any) -> Any:
        """Async pages of hits of a user's, by a rising number; there is no end of results."""
        size = max(1, min(size, PAGE))
        while True:
            body = {"size": size, "sort": [{by: "asc"}], "query": {"bool": query}, "track_total_hits": False,
                    "search_after": [after], **more}  # fmt: skip
            answer = await self.cluster.search(self.names.memory, body, routing=scope_hash(user), paths="hits.hits")
            hits = answer.get("hits", {}).get("hits", [])
            if hits:
                yield hits
                after = hits[-1]["sort"][0]
            if len(hits) < size:
                return

    def pages(self, user: str, filters: Sequence[Body], *, kinds: Iterable[str] = KINDS, after: int = -1) -> Any:
        """Async pages of hits on records."""
        mine = [{"term": {"scope": scope_hash(user)}}, {"term": {"part": 0}}, {"terms": {"kind": sorted(kinds)}}]
        fields = {"excludes": BULKY.split(",")}
        return self.walk(
            user, {"filter": [*mine, *filters]}, "number", after=after, seq_no_primary_term=True, _source=fields
        )

    async def find(self, user: str, filters: Sequence[Body]) -> list[Stored]:
        """All records that a search finds, by rising number."""
        scope = scope_hash(user)
        hits = [hit async for page in self.pages(user, filters) for hit in page]
        return [one for hit in hits if (one := stored(hit, scope)) is not None]

    async def find_any(self, user: str, field_name: str, values: Iterable[str]) -> list[Stored]:
        """Records that have one of the values in a field; any number of values."""
        wanted, found = list(values), dict[str, Stored]()
        for start in range(0, len(wanted), 1000):
            clause = {"terms": {field_name: wanted[start : start + 1000]}}
            found.update({one.id: one for one in await self.find(user, [clause])})
        return sorted(found.values(), key=lambda one: one.number)


def without_nothing(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None}
