"""What every part of the store works with: the cluster, the indices' names, the clock, and what is too new to be found.

A search finds a document only after the next refresh, a second later or whenever the index is told to. ``Recent`` has
the ids this process wrote since: they are read directly and take the place of what a search says.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

from memscope.errors import ClosedError, MemscopeError
from memscope.stores.elasticsearch.client import Body, Cluster, Operation
from memscope.stores.elasticsearch.documents import BULKY, KINDS, Stored, document_id, scope_hash, stored
from memscope.stores.elasticsearch.mapping import Names
from memscope.text import microseconds

PAGE = 500
MARK = "mark"
AGAIN_S = 1.0
KEPT_S = 60.0  # ids that nobody could wait for, as their event loop ended


class Recent:
    """Ids of documents, by user, and when they were written. Several threads may write."""

    def __init__(self) -> None:
        self._written: dict[str, dict[str, float]] = {}
        self._swept = time.monotonic()
        self._lock = threading.Lock()

    def note(self, user: str, ids: Iterable[str]) -> None:
        now = time.monotonic()
        with self._lock:
            self._written.setdefault(user, {}).update(dict.fromkeys(ids, now))
        if now > self._swept + KEPT_S:
            self._swept = now
            self.drop(now - KEPT_S)

    def of(self, user: str) -> list[str]:
        """To be asked before a search begins: what goes from here is found by searches that begin later."""
        with self._lock:
            return list(self._written.get(user, ()))

    def users(self) -> list[str]:
        with self._lock:
            return list(self._written)

    def drop(self, until: float) -> None:
        """What was written until then is found by now."""
        with self._lock:
            for user, written in list(self._written.items()):
                kept = {id: when for id, when in written.items() if when > until}
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
    _to_shard: dict[int, str] = field(default_factory=dict)

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

    def wrote(self) -> None:
        self._wrote = time.monotonic()
        self.watch()

    def watch(self) -> None:
        """Have a task of this event loop wait until searches find what was written."""
        more = self.cluster.local().more
        if "watch" not in more or more["watch"].done():
            more["watch"] = asyncio.create_task(self._until_found(), name="memscope-refresh")

    async def _until_found(self) -> None:
        while self._wrote > self._settled:
            try:
                await self.searchable()
            except ClosedError:
                return
            except MemscopeError:
                await asyncio.sleep(AGAIN_S)

    async def close(self) -> None:
        for watch in self.cluster.of_this_loop("watch"):
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def searchable(self) -> None:
        """Waits for the index's next refresh, in each of its shards; forces none."""
        begun = time.monotonic()
        body = {"scope": MARK, "kind": MARK}
        marks = [Operation("index", self.names.memory, f"{MARK}-{at}", at, body) for at in await self._routings()]
        await self.cluster.bulk(marks, wait_for=True)
        self._found(begun)

    async def settle(self) -> None:
        """After this, searches find what this process wrote, and what others did before it began."""
        if self._wrote > self._settled:
            await self.refresh()

    async def refresh(self) -> None:
        begun = time.monotonic()
        await self.cluster.refresh(self.names.memory)
        self._found(begun)

    def _found(self, begun: float) -> None:
        self._settled = max(begun, self._settled)
        self.recent.drop(begun)

    async def _routings(self) -> Iterable[str]:
        """A routing to each shard; which one leads where is the server's to say."""
        path, routing = f"/{self.names.memory}/_search_shards", map(str, count())
        shards = 0 if self._to_shard else len((await self.cluster.request("GET", path))["shards"])
        while len(self._to_shard) < shards:
            at = next(routing)
            found = await self.cluster.request("GET", path, routing=at)
            self._to_shard.setdefault(found["shards"][0][0]["shard"], at)
        return self._to_shard.values()

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
