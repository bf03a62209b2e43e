"""ElasticsearchStore: the same memory for any number of processes and hosts, on Elasticsearch 8.19 or 9.

    options.py client.py   where the cluster is; requests, retries, typed errors; one client an event loop
    mapping.py migrate.py  the two indices, made, checked, and brought from older formats
    documents.py facts.py  a record as documents; metadata as tokens
    heads.py append.py     numbers of records; turns of all who add at a moment, written together
    lanes.py plans.py work.py forget.py   one writer a user, whose intent outlives it; plans, batches, forgetting
    spaces.py              vectors
    reading.py search.py candidates.py    by id, by condition, by question

What a reader can see while others write, and for how long: docs/elasticsearch.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memscope.errors import StoreError
from memscope.records import (
    AppendResult,
    Candidates,
    ChangeSet,
    Claim,
    FetchResult,
    ForgetReport,
    Handle,
    Insight,
    Observation,
    Record,
    Search,
    Select,
    Stage,
    Stats,
    TurnInsert,
    VectorSpace,
)
from memscope_elasticsearch import examination, forget, mapping, migrate, reading, search, work
from memscope_elasticsearch.append import Committer
from memscope_elasticsearch.client import Cluster
from memscope_elasticsearch.mapping import Names
from memscope_elasticsearch.options import Options, parse_location
from memscope_elasticsearch.shop import Shop
from memscope_elasticsearch.spaces import Spaces


def utc_now() -> datetime:
    return datetime.now(UTC)


class ElasticsearchStore:
    """A store in a cluster. ``location``: see options.parse_location; ``configured`` is a mapping of the same names.

    ``clock``: the time that leases are measured by; the clocks of all hosts have to agree within a part of a lease.
    """

    def __init__(
        self,
        location: str | Options,
        configured: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.options = location if isinstance(location, Options) else parse_location(location, configured)
        self._shop = Shop(Cluster(self.options), Names(self.options.prefix), clock)
        self._shop.spaces = Spaces(self._shop)
        self._ready = False

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset()

    @property
    def cluster(self) -> Cluster:
        return self._shop.cluster

    async def open(self) -> None:
        await self._open()

    async def close(self) -> None:
        for committer in list(self._committers()):
            await committer.drain()
        await self._shop.close()
        await self._shop.cluster.close()

    async def secret(self) -> bytes:
        state, _ = await (await self._open()).spaces.meta()
        return bytes.fromhex(state["secret"])

    async def adopt_secret(self, secret: bytes) -> bool:
        shop = await self._open()
        await shop.refresh()
        found = await shop.cluster.request("POST", f"/{shop.names.memory}/_count")

        def step(state: dict[str, Any]) -> bool:
            if found["count"]:
                return bool(state["secret"] == secret.hex())
            state["secret"] = secret.hex()
            return True

        adopted: bool = await shop.spaces.change(step)
        return adopted

    # ---- turns and memories

    async def append(self, user: str, inserts: Sequence[TurnInsert], plan: ChangeSet | None = None) -> AppendResult:
        return await work.append(await self._open(), self._committer(), user, inserts, plan)

    async def apply(self, user: str, plan: ChangeSet) -> int:
        return await work.apply(await self._open(), user, plan)

    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        return await reading.fetch(await self._open(), user, ids)

    async def history(self, user: str, id: str) -> list[Observation | Insight]:
        return await reading.history(await self._open(), user, id)

    async def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        async for page in reading.selected(await self._open(), select):
            yield [one.record for one in page]

    async def users(self) -> list[str]:
        return await reading.users(await self._open())

    async def tombstones(self, user: str) -> list[str]:
        return await reading.tombstones(await self._open(), user)

    async def bury(self, user: str, ids: Sequence[str]) -> None:
        await forget.bury(await self._open(), user, ids)

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        return await forget.forget(await self._open(), select, work.redo, dry_run=dry_run)

    async def search(self, search_for: Search) -> Candidates:
        return await search.search(await self._open(), search_for)

    async def searchable(self, user: str) -> None:
        await (await self._open()).searchable(user)

    # ---- work

    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        return await work.claim(await self._open(), stage, limit, lease_s, user)

    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        return await work.extend(await self._open(), claim, lease_s)

    async def save_reply(self, claim: Claim, plan: ChangeSet) -> None:
        await work.save_reply(await self._open(), claim, plan)

    async def complete(self, claim: Claim, plan: ChangeSet | None = None) -> int:
        return await work.complete(await self._open(), claim, plan)

    async def fail(self, claim: Claim, code: str, not_before: datetime, *, counted: bool = True) -> None:
        await work.fail(await self._open(), claim, code, not_before, counted)

    async def give_back(self, claim: Claim) -> None:
        await work.give_back(await self._open(), claim)

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        return await work.unpark(await self._open(), stage, user)

    # ---- vectors

    async def use_space(self, space: VectorSpace, *, replace: bool = False) -> None:
        await (await self._open()).spaces.use(space, replace=replace)

    # ---- the whole

    async def stats(self, user: str | None = None) -> Stats:
        return await reading.stats(await self._open(), user)

    async def health(self) -> Mapping[str, Any]:
        """State of indices and cluster: see ``mapping.health``."""
        return await mapping.health((await self._open()).cluster, self._shop.names)

    async def examine(self) -> list[examination.Finding]:
        """Findings for ``memscope doctor``."""
        return examination.findings(await self.health())

    async def backup(self, path: Path) -> None:
        raise StoreError("Elasticsearch keeps its own backups", hint="use its snapshots, or export")

    async def compact(self) -> ForgetReport:
        return await forget.compact(await self._open())

    # ---- inside

    async def _open(self) -> Shop:
        self._shop.cluster.check_open()
        if not self._ready:
            try:
                await self._prepare(self._shop)
            except BaseException:
                await self._shop.cluster.disconnect()  # nobody closes what could not be opened
                raise
            self._ready = True
        return self._shop

    async def _prepare(self, shop: Shop) -> None:
        await mapping.prepare(shop.cluster, shop.names)
        await migrate.upgrade(shop.cluster, shop.names)
        await mapping.examine(shop.cluster, shop.names)
        await mapping.describe(shop.cluster, shop.names)
        await shop.spaces.meta()
        await migrate.renew(shop)

    def _committer(self) -> Committer:
        more = self._shop.cluster.local().more
        if "committer" not in more:
            more["committer"] = Committer(self._shop)
        committer: Committer = more["committer"]
        return committer

    def _committers(self) -> list[Committer]:
        return self._shop.cluster.of_this_loop("committer")


__all__ = ["ElasticsearchStore", "Options", "parse_location"]
