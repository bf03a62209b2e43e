"""ElasticsearchStore: one memory for any number of processes and hosts, on Elasticsearch 8.19 or 9.

    settings.py options.py      the section of the settings; address and options
    client.py answers.py        requests, retries; checks of answers, typed errors
    session.py                  state shared by the store's parts
    mapping.py migrate.py       the two indices: creation, checks, upgrades from older formats
    documents.py                a record as documents; metadata_tokens.py: its metadata as tokens of a keyword field
    counters.py append.py       numbers of records; turns of concurrent calls written in one request
    user_lock.py jobs.py        the per-user lock with its write-ahead intent; batches under a lease
    apply.py forget.py          change sets; forgetting
    blocks.py                   blocks, one document per user; named_counters.py: counters of costs
    vectors.py                  vector spaces and their fields
    reading.py                  records by id and by condition
    search.py queries.py        a search: its two requests and their bodies
    candidates.py               candidates from the answers; term_frequencies.py: frequencies from scores
    examination.py              findings for doctor

docs/elasticsearch.md documents when readers see writes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from memscope.errors import StoreError
from memscope.records import (
    AppendResult,
    Block,
    Candidates,
    ChangeSet,
    Claim,
    FetchResult,
    ForgetReport,
    Handle,
    Insight,
    Json,
    Observation,
    Receipt,
    Record,
    Search,
    Select,
    Stage,
    Stats,
    TurnInsert,
    VectorSpace,
)
from memscope.search.changes import RecordChanges
from memscope.stores import RecordKey
from memscope_elasticsearch import (
    blocks,
    examination,
    forget,
    jobs,
    mapping,
    migrate,
    named_counters,
    reading,
    receipts,
    search,
)
from memscope_elasticsearch.append import GroupCommitter
from memscope_elasticsearch.client import Cluster
from memscope_elasticsearch.mapping import IndexNames
from memscope_elasticsearch.options import Options, parse_location
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.vectors import VectorFields

P = ParamSpec("P")
T = TypeVar("T")


def utc_now() -> datetime:
    return datetime.now(UTC)


def one_deadline(
    call: Callable[Concatenate[ElasticsearchStore, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[ElasticsearchStore, P], Coroutine[Any, Any, T]]:
    """Decorate a call with one deadline for all its requests; opening and scans have one per request."""

    @wraps(call)
    async def within(self: ElasticsearchStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        await self.open()
        with self.cluster.one_deadline():
            return await call(self, *args, **kwargs)

    return within


class ElasticsearchStore:
    """A store in an Elasticsearch cluster.

    Args:
        location: Address (``options.parse_location``) or options.
        configured: Options that the address does not set.
        clock: Source of the time of leases; the clocks of all hosts must agree to a fraction of a lease.
    """

    def __init__(
        self,
        location: str | Options,
        configured: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.options = location if isinstance(location, Options) else parse_location(location, configured)
        self._session = Session(Cluster(self.options), IndexNames(self.options.prefix), clock)
        self._session.vectors = VectorFields(self._session)
        self._ready = False

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset()

    @property
    def cluster(self) -> Cluster:
        return self._session.cluster

    async def open(self) -> None:
        await self._open()

    async def close(self) -> None:
        await self._session.cluster.close()

    async def secret(self) -> bytes:
        state, _ = await (await self._open()).vectors.meta()
        return bytes.fromhex(state["secret"])

    async def adopt_secret(self, secret: bytes) -> bool:
        session = await self._open()
        await session.refresh()
        count = await session.cluster.count(session.names.memory)

        def step(state: dict[str, Any]) -> bool:
            if count:
                return bool(state["secret"] == secret.hex())
            state["secret"] = secret.hex()
            return True

        adopted: bool = await session.vectors.change(step)
        return adopted

    async def counters(self, name: str) -> dict[str, Json]:
        return await named_counters.read(await self._open(), name)

    async def change_counters(self, name: str, change: Callable[[dict[str, Json]], None]) -> None:
        await named_counters.change(await self._open(), name, change)

    # ---- turns and memories

    @one_deadline
    async def append(
        self, user: str, inserts: Sequence[TurnInsert], change_set: ChangeSet | None = None
    ) -> AppendResult:
        return await jobs.append(await self._open(), self._committer(), user, inserts, change_set)

    @one_deadline
    async def apply(self, user: str, change_set: ChangeSet) -> int:
        return await jobs.apply(await self._open(), user, change_set)

    @one_deadline
    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        return await reading.fetch(await self._open(), user, ids)

    @one_deadline
    async def history(self, user: str, id: str) -> list[Observation | Insight]:
        return await reading.history(await self._open(), user, id)

    async def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        async for page in reading.selected(await self._open(), select):
            yield [entry.record for entry in page]

    async def keys(self, select: Select) -> list[RecordKey]:
        return await reading.keys(await self._open(), select)

    async def record_changes(self, user: str, since: int) -> AsyncIterator[RecordChanges]:
        """Yield records written and removed since a revision; repeat the last writes before it."""
        async for page in reading.changed(await self._open(), user, since):
            yield page

    async def users(self, *, forgotten: bool = False) -> list[str]:
        return await reading.users(await self._open(), forgotten=forgotten)

    async def tombstones(self, user: str) -> list[str]:
        return await reading.tombstones(await self._open(), user)

    async def receipts(self, user: str) -> list[Receipt]:
        return await receipts.read(await self._open(), user)

    async def add_tombstones(self, user: str, ids: Sequence[str], receipts: Sequence[Receipt] = ()) -> None:
        await forget.add_tombstones(await self._open(), user, ids, receipts)

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        return await forget.forget(await self._open(), select, jobs.redo, dry_run=dry_run)

    @one_deadline
    async def search(self, search_for: Search) -> Candidates:
        return await search.search(await self._open(), search_for)

    @one_deadline
    async def searchable(self, user: str) -> None:
        await (await self._open()).searchable(user)

    # ---- blocks

    async def blocks(self, user: str, *, versions: bool = False) -> list[Block]:
        return await blocks.read(await self._open(), user, versions=versions)

    async def put_blocks(self, user: str, versions: Sequence[Block]) -> None:
        await blocks.put(await self._open(), user, versions)

    # ---- work

    @one_deadline
    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        return await jobs.claim(await self._open(), stage, limit, lease_s, user)

    @one_deadline
    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        return await jobs.extend(await self._open(), claim, lease_s)

    @one_deadline
    async def save_reply(self, claim: Claim, change_set: ChangeSet) -> None:
        await jobs.save_reply(await self._open(), claim, change_set)

    @one_deadline
    async def complete(self, claim: Claim, change_set: ChangeSet | None = None) -> int:
        return await jobs.complete(await self._open(), claim, change_set)

    @one_deadline
    async def fail(self, claim: Claim, code: str, not_before: datetime, *, counted: bool = True) -> None:
        await jobs.fail(await self._open(), claim, code, not_before, counted)

    @one_deadline
    async def give_back(self, claim: Claim) -> None:
        await jobs.give_back(await self._open(), claim)

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        return await jobs.unpark(await self._open(), stage, user)

    # ---- vectors

    @one_deadline
    async def set_vector_space(self, space: VectorSpace, *, replace: bool = False) -> None:
        await (await self._open()).vectors.use(space, replace=replace)

    # ---- the cluster

    async def stats(self, user: str | None = None) -> Stats:
        return await reading.stats(await self._open(), user)

    async def health(self) -> Mapping[str, Any]:
        """Read the state of indices and cluster (``mapping.health``)."""
        return await mapping.health((await self._open()).cluster, self._session.names)

    async def examine(self) -> list[examination.StoreFinding]:
        """Check the cluster for ``memscope doctor``."""
        return examination.findings(await self.health())

    async def backup(self, path: Path) -> None:
        raise StoreError("this store has no backup", hint="use snapshots of Elasticsearch, or export")

    async def compact(self) -> ForgetReport:
        return await forget.compact(await self._open())

    # ---- inside

    async def _open(self) -> Session:
        self._session.cluster.check_open()
        if not self._ready:
            try:
                await self._prepare(self._session)
            except BaseException:
                await self._session.cluster.disconnect()  # callers never close a store that failed to open
                raise
            self._ready = True
        return self._session

    async def _prepare(self, session: Session) -> None:
        await mapping.prepare(session.cluster, session.names)
        await migrate.upgrade(session.cluster, session.names)
        await mapping.examine(session.cluster, session.names)
        await mapping.describe(session.cluster, session.names)
        await session.vectors.meta()
        await migrate.renew(session)

    def _committer(self) -> GroupCommitter:
        local = self._session.cluster.local()
        if local.committer is None:
            local.committer = GroupCommitter(self._session)
        committer: GroupCommitter = local.committer
        return committer


__all__ = ["ElasticsearchStore", "Options", "parse_location"]
