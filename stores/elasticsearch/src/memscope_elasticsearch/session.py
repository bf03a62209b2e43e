"""State shared by the store's parts: cluster, index names, clock, and ids written since the last refresh.

A search finds a document only after the next refresh, up to a second later. For read-your-writes, ``UnrefreshedIds``
keeps the ids that this process wrote since: they are read directly and replace the hits of a search.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

from memscope.errors import ClosedError, MemscopeError, StoreUnavailable
from memscope.search.units import microseconds
from memscope_elasticsearch.client import Body, BulkOperation, Cluster
from memscope_elasticsearch.documents import (
    BULKY_FIELDS,
    DOCUMENT_KINDS,
    Stored,
    document_at,
    document_id,
    scope_hash,
    stored,
)
from memscope_elasticsearch.mapping import IndexNames

HITS_PER_PAGE = 500
MAX_UNREFRESHED_IDS = 500  # unrefreshed ids per user that are read directly; more force a refresh
MAX_ID_AGE_S = 300.0  # age at which ids of ended event loops are dropped
REFRESH_RETRY_S = 1.0
CALLER_REFRESH_WAIT_S, REFRESH_WAIT_S = 5.0, 30.0  # wait before forcing a refresh, with and without a waiting caller
MARK = "mark"
log = logging.getLogger("memscope")

_lock = threading.Lock()  # for event loops in several threads; held across a fork, so that no child copies it locked
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class UnrefreshedIds:
    """Ids of documents that searches may not find yet, by user, with the time they were written."""

    def __init__(self) -> None:
        self._written: dict[str, dict[str, float]] = {}
        self._swept = time.monotonic()

    def note(self, user: str, ids: Iterable[str]) -> None:
        now = time.monotonic()
        with _lock:
            self._written.setdefault(user, {}).update(dict.fromkeys(ids, now))
        if now > self._swept + MAX_ID_AGE_S:
            self._swept = now
            self.drop(now - MAX_ID_AGE_S, self.users())

    def of(self, user: str) -> list[str]:
        """Return a user's ids. Call it before starting a search, which sees ids dropped earlier."""
        with _lock:
            return list(self._written.get(user, ()))

    def users(self) -> list[str]:
        with _lock:
            return list(self._written)

    def drop(self, until: float, users: Iterable[str]) -> None:
        """Drop ids written until a moment, which searches find now."""
        with _lock:
            for user in users:
                remaining = {id: when for id, when in self._written.pop(user, {}).items() if when > until}
                if remaining:
                    self._written[user] = remaining


@dataclass
class Session:
    cluster: Cluster
    names: IndexNames
    clock: Callable[[], datetime]
    unrefreshed: UnrefreshedIds = field(default_factory=UnrefreshedIds)
    vectors: Any = None  # vectors.VectorFields
    _wrote: float = field(default_factory=time.monotonic)  # not 0: another process may just have written
    _settled: float = -1e9
    _to_shards: tuple[str, ...] = ()

    def now(self) -> int:
        return microseconds(self.clock())

    # ---- documents of records

    def at(self, scope: str, record_id: str) -> Body:
        return document_at(self.names.memory, scope, record_id)

    async def documents(self, scope: str, ids: Iterable[str], **fields: str) -> list[Body]:
        """Read documents of one user in real time."""
        wanted = [{"_index": self.names.memory, "_id": id, "routing": scope} for id in ids]
        return await self.cluster.documents(wanted, **fields)

    def creates(self, scope: str, bodies: Mapping[str, Body]) -> list[BulkOperation]:
        return [
            BulkOperation("create", self.names.memory, id, scope, without_nothing(body)) for id, body in bodies.items()
        ]

    async def load(self, user: str, record_ids: Iterable[str]) -> dict[str, Stored]:
        """Read records in real time by id; leave out missing ids and those of other users."""
        scope, wanted = scope_hash(user), list(dict.fromkeys(record_ids))
        documents = await self.cluster.documents(
            [self.at(scope, record_id) for record_id in wanted], excludes=BULKY_FIELDS
        )
        pairs = zip(wanted, (stored(document, scope) for document in documents), strict=True)
        return {record_id: entry for record_id, entry in pairs if entry is not None}

    async def taken(self, user: str, record_ids: Iterable[str]) -> dict[str, str]:
        """Map ids in use or forgotten to the kind of their document."""
        scope, wanted = scope_hash(user), list(dict.fromkeys(record_ids))
        documents = await self.cluster.documents([self.at(scope, record_id) for record_id in wanted], includes="kind")
        pairs = zip(wanted, documents, strict=True)
        return {record_id: document["_source"]["kind"] for record_id, document in pairs if "_source" in document}

    # ---- freshness

    def wrote(self, user: str = "", ids: Iterable[str] = ()) -> None:
        """Record a write; ``ids``: documents that searches must find."""
        if user:
            self.unrefreshed.note(user, ids)
        self._wrote = time.monotonic()
        self.watch()

    def watch(self) -> None:
        """Start a task in this event loop that waits until searches find the writes."""
        with suppress(ClosedError):
            local = self.cluster.local()
            if local.watch is None or local.watch.done():  # a new context, without this call's deadline
                local.watch = asyncio.create_task(self._until_found(), name="memscope-refresh", context=Context())

    async def _until_found(self) -> None:
        while self._wrote > self._settled:
            begun = time.monotonic()
            try:
                await self._refreshed(await self._routings(), REFRESH_WAIT_S)
            except ClosedError:
                return
            except Exception as error:  # keep waiting after any error: no other task does
                log.debug("no refresh yet: %s", type(error).__name__)
                await asyncio.sleep(REFRESH_RETRY_S)
            else:
                self._found(begun)

    async def _refreshed(self, routings: Iterable[str], within_s: float) -> None:
        """Wait for the next refresh by writing a document; force one if none comes or the write fails."""
        body = {"kind": MARK}
        marks = [BulkOperation("index", self.names.memory, document_id(at, MARK), at, body) for at in routings]
        try:
            async with asyncio.timeout(within_s):
                await self.cluster.bulk(marks, wait_for=True)
        except (TimeoutError, MemscopeError):
            await self.refresh()

    async def _routings(self) -> Iterable[str]:
        """Find one routing value per shard."""
        path, routings = f"/{self.names.memory}/_search_shards", dict[int, str]()
        if not self._to_shards:
            shards = len((await self.cluster.request("GET", path))["shards"])
            for at in map(str, count()):
                (copies,) = (await self.cluster.request("GET", path, routing=at))["shards"]
                if not copies:
                    raise StoreUnavailable(
                        "a shard of the index is unavailable", hint="'memscope doctor' checks the indices"
                    )
                routings.setdefault(copies[0]["shard"], at)
                if len(routings) == shards:
                    break
            self._to_shards = tuple(routings.values())
        return self._to_shards

    async def searchable(self, user: str) -> None:
        """Wait until searches find the writes of all processes for a user."""
        begun = time.monotonic()
        await self._refreshed([scope_hash(user)], CALLER_REFRESH_WAIT_S)
        self.unrefreshed.drop(begun, [user])

    async def fresh(self, user: str) -> list[str]:
        """Return ids to read directly beside a search. Call it before starting the search."""
        ids = self.unrefreshed.of(user)
        if len(ids) > MAX_UNREFRESHED_IDS:
            await self.refresh()
            ids = self.unrefreshed.of(user)
        if ids:
            self.watch()  # the event loop that wrote them may have ended
        return ids

    async def settle(self) -> None:
        """Wait until searches find the writes of this process, and of others before it started."""
        if self._wrote > self._settled:
            await self.refresh()

    async def refresh(self) -> None:
        begun = time.monotonic()
        await self.cluster.refresh(self.names.memory)
        self._found(begun)

    def _found(self, begun: float) -> None:
        self._settled = max(begun, self._settled)
        self.unrefreshed.drop(begun, self.unrefreshed.users())

    # ---- searches of records

    def walk(
        self, user: str, query: Body, *by: str, size: int = HITS_PER_PAGE, **more: Any
    ) -> AsyncIterator[list[Body]]:
        """Yield all pages of a user's hits, ordered by these fields. ``query``: the parts of a bool query."""
        scope = scope_hash(user)
        mine = {"bool": {**query, "filter": [{"term": {"scope": scope}}, *query["filter"]]}}
        body = {"size": max(1, min(size, HITS_PER_PAGE)), "sort": [{field: "asc"} for field in by],
                "query": mine, "track_total_hits": False, **more}  # fmt: skip
        return self.cluster.walk(self.names.memory, body, routing=scope)

    def pages(
        self, user: str, filters: Sequence[Body], *, kinds: Iterable[str] = DOCUMENT_KINDS, fields: Sequence[str] = ()
    ) -> Any:
        """Yield pages of hits on records, with these fields or all but the ``BULKY_FIELDS`` ones."""
        query = {"filter": [{"term": {"part": 0}}, {"terms": {"kind": sorted(kinds)}}, *filters]}
        source = {"includes": fields} if fields else {"excludes": BULKY_FIELDS.split(",")}
        return self.walk(user, query, "number", seq_no_primary_term=True, _source=source)

    async def find(self, user: str, filters: Sequence[Body]) -> list[Stored]:
        """Return all records that a search finds, by number."""
        scope = scope_hash(user)
        hits = [hit async for page in self.pages(user, filters) for hit in page]
        return [entry for hit in hits if (entry := stored(hit, scope)) is not None]

    async def find_any(self, user: str, field_name: str, values: Iterable[str]) -> list[Stored]:
        """Return records with one of any number of values in a field, by number."""
        wanted, entries = list(values), dict[str, Stored]()
        for start in range(0, len(wanted), 1000):
            clause = {"terms": {field_name: wanted[start : start + 1000]}}
            entries.update({entry.id: entry for entry in await self.find(user, [clause])})
        return sorted(entries.values(), key=lambda entry: entry.number)


def without_nothing(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None}
