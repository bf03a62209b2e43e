"""Requests to the cluster: one client per event loop, typed errors, retries within the deadline of the call.

The client's own retries are off. Requests are idempotent: documents are created under fixed ids, and changed by
compare-and-swap on ``_seq_no``.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from memscope.errors import ClosedError, ConfigError, StoreBusy, StoreUnavailable
from memscope.models.retry import PerLoop
from memscope_elasticsearch.answers import BULK_BYTES, OperationResult, checked, number, parts, read_result, trouble
from memscope_elasticsearch.options import Options

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch

Body: TypeAlias = dict[str, Any]
T = TypeVar("T")
BULK_OPERATIONS = 1000
PAGE_FILTER_PATH = "hits.hits._source,hits.hits.sort"  # fields of an answer with a page of documents
FIRST_RETRY_PAUSE_S, MAX_RETRY_PAUSE_S = 0.05, 1.0
encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
MISSING_CLIENT = 'install "elasticsearch[async]>=8.19,<10"'
MIN_REQUEST_TIMEOUT_S = 0.05  # minimum timeout of a request, even at the end of a deadline
MAX_CLOSE_WAIT_S = 2.0  # how long closing waits for writes whose callers gave up
_ITEM_PATHS = "items.*.status,items.*.error.type,items.*._seq_no,items.*._primary_term"
_until: ContextVar[float | None] = ContextVar("memscope_elasticsearch_until", default=None)


@dataclass(frozen=True, slots=True)
class BulkOperation:
    """An action of a bulk: create, index, update, delete. ``version``: the (seq_no, primary_term) it was read with."""

    action: str
    index: str
    id: str
    routing: str
    body: Body | None = None
    version: tuple[int, int] | None = None
    by_alias: bool = True

    def lines(self) -> list[str]:
        about: Body = {"_index": self.index, "_id": self.id, "routing": self.routing, "require_alias": self.by_alias}
        if self.version is not None:
            about["if_seq_no"], about["if_primary_term"] = self.version
        if self.action == "delete":
            del about["require_alias"]
        head = encode({self.action: about})
        if self.body is None:
            return [head]
        body = {"doc": self.body} if self.action == "update" else self.body
        return [head, encode(body)]

    @classmethod
    def put(cls, at: Body, body: Body | None, version: tuple[int, int] | None) -> BulkOperation:
        """Create a document, or replace or (without a body) delete the version of it that was read."""
        action = "create" if version is None else "delete" if body is None else "index"
        return cls(action, at["_index"], at["_id"], at["routing"], body, version)


def version_of(document: Body) -> tuple[int, int] | None:
    """Return the (seq_no, primary_term) of a document that was read; None if it does not exist."""
    return (document["_seq_no"], document["_primary_term"]) if "_source" in document else None


@dataclass
class Local:
    """Client, locks and background tasks of one event loop: abandoned writes and the wait for a refresh."""

    client: AsyncElasticsearch
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    writes: set[asyncio.Task[Any]] = field(default_factory=set)
    watch: asyncio.Task[None] | None = None
    committer: Any = None

    def lock(self, user: str) -> asyncio.Lock:
        lock = self.locks.get(user)
        if lock is None:
            lock = self.locks[user] = asyncio.Lock()
        return lock

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run a write that outlives a cancelled caller, since others would wait for its lease."""
        task = asyncio.create_task(work, name=name)
        self.writes.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.writes.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that the event loop does not log it

    async def end(self) -> None:
        """End the tasks. A write that takes too long leaves its intent to the next writer."""
        if self.committer is not None:
            await self.committer.drain()
        if self.writes:
            await asyncio.wait(self.writes, timeout=MAX_CLOSE_WAIT_S)
        left = [task for task in (self.watch, *self.writes) if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


class Cluster:
    """Requests to the cluster. ``requests`` and ``refreshes`` count its calls, for the benchmarks."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.requests = 0
        self.refreshes = 0
        self._locals = PerLoop(lambda: Local(connect(options)))
        self._closed = False
        self._answered = False  # whether Elasticsearch has answered before

    def local(self) -> Local:
        self.check_open()
        return self._locals.get()

    def check_open(self) -> None:
        if self._closed:
            raise ClosedError("the store is closed")

    async def close(self) -> None:
        await self.disconnect()
        self._closed = True

    async def disconnect(self) -> None:
        """End the tasks of this event loop and close its client; other loops have their own."""
        if (local := self._locals.here()) is not None:
            await local.end()
            self._locals.here(keep=False)
            await local.client.close()

    # ---- time

    @contextmanager
    def one_deadline(self, until: float | None = None) -> Iterator[None]:
        """Apply one deadline, that of the outermost block, to all requests inside and their retries."""
        token = _until.set(self.until() if until is None else until)
        try:
            yield
        finally:
            _until.reset(token)

    def until(self) -> float:
        """Deadline of the current call, in the event loop's time."""
        until = _until.get()
        return asyncio.get_running_loop().time() + self.options.deadline_s if until is None else until

    # ---- requests

    async def request(self, method: str, path: str, *, body: Any = None, timeout_s: Any = None, **params: Any) -> Any:
        """Send a request and return the answer's body; retry until the deadline while the cluster is unavailable."""
        return await self._ask(lambda answer: answer, method, path, body, params, timeout_s)

    async def _ask(self, read: Callable[[Body], T], *request: Any) -> T:
        async def send() -> T:
            return read(await self._send(*request))

        return await self.retried(send)

    async def _send(self, method: str, path: str, body: Any, params: Body, timeout_s: float | None = None) -> Body:
        self.requests += 1
        left = self.until() - asyncio.get_running_loop().time()
        seconds = max(MIN_REQUEST_TIMEOUT_S, min(self.options.request_s, left)) if timeout_s is None else timeout_s
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/x-ndjson" if isinstance(body, list) else "application/json"
        client = self.local().client
        if seconds != self.options.request_s:
            client = client.options(request_timeout=seconds)
        answer = await client.perform_request(method, path, params=params or None, headers=headers, body=body)
        checked_body = checked(answer.body, answer.meta.headers)
        self._answered = True
        return checked_body

    async def retried(self, send: Callable[[], Awaitable[T]]) -> T:
        clock, until, pause = asyncio.get_running_loop().time, self.until(), FIRST_RETRY_PAUSE_S
        while True:
            try:
                return await send()
            except Exception as error:
                typed = trouble(error, answered=self._answered, address=self.options.address)
                if not isinstance(typed, StoreBusy | StoreUnavailable) or clock() + pause > until:
                    raise typed from error
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, MAX_RETRY_PAUSE_S)

    async def search(self, index: str, body: Body, *, routing: str | None = None, paths: str = "") -> Any:
        params = {"routing": routing, "filter_path": paths, "allow_partial_search_results": "false"}
        return await self.request("POST", f"/{index}/_search", body=body, **{k: v for k, v in params.items() if v})

    async def walk(
        self, index: str, body: Body, *, routing: str | None = None, paths: str = "hits.hits"
    ) -> AsyncIterator[list[Body]]:
        """Yield all pages of hits in the order of ``body``'s sort, from its ``search_after`` on."""
        while True:
            answer = await self.search(index, body, routing=routing, paths=paths)
            if hits := answer.get("hits", {}).get("hits", []):
                yield hits
            if len(hits) < body["size"]:
                return
            body = {**body, "search_after": hits[-1]["sort"]}

    async def searches(self, index: str, bodies: Sequence[Body], *, routing: str, paths: str) -> list[Any]:
        """Run several searches in one request, with scores of named clauses; one error fails all."""
        head = encode({"routing": routing, "allow_partial_search_results": False})
        lines = [line for body in bodies for line in (head, encode(body))]
        params = {
            "filter_path": f"{paths},responses.error.type,responses.status",
            "include_named_queries_score": "true",
        }
        return await self._ask(
            lambda answer: parts(answer, "responses", len(bodies)), "POST", f"/{index}/_msearch", lines, params
        )

    async def count(self, index: str, query: Body | None = None, *, routing: str | None = None) -> int:
        body, params = {"query": query} if query else None, {"routing": routing} if routing else {}
        return await self._ask(lambda answer: number(answer, "count"), "POST", f"/{index}/_count", body, params)

    async def documents(self, wanted: Sequence[Body], *, excludes: str = "", includes: str = "") -> list[Body]:
        """Read documents by index, id and routing, in order, in real time; a missing one has no ``_source``."""
        documents: list[Body] = []
        params = {"_source_excludes": excludes} if excludes else {"_source_includes": includes} if includes else {}
        for start in range(0, len(wanted), BULK_OPERATIONS):
            documents += await self._documents(wanted[start : start + BULK_OPERATIONS], params)
        return documents

    async def _documents(self, wanted: Sequence[Body], params: Body) -> list[Body]:
        body = {"docs": list(wanted)}
        return await self._ask(lambda answer: parts(answer, "docs", len(wanted)), "POST", "/_mget", body, params)

    async def bulk(self, operations: Iterable[BulkOperation], *, wait_for: bool = False) -> list[OperationResult]:
        """Run operations; results include 404 and 409, any other error is raised."""
        outcomes = await self.attempt(operations, wait_for=wait_for)
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        return outcomes

    async def attempt(self, operations: Iterable[BulkOperation], *, wait_for: bool = False) -> list[OperationResult]:
        """Like ``bulk``, but leave errors in the results; retry operations that an overloaded node rejected."""
        outcomes: list[OperationResult] = []
        for chunk in _chunks(list(operations)):
            outcomes += await self._bulk(chunk, wait_for)
        return outcomes

    async def _bulk(self, chunk: list[tuple[BulkOperation, list[str]]], wait_for: bool) -> list[OperationResult]:
        done: dict[int, OperationResult] = {}

        async def send() -> None:
            left = [i for i in range(len(chunk)) if i not in done or done[i].busy]
            lines = [line for i in left for line in chunk[i][1]]
            answer = await self._send("POST", "/_bulk", lines, params, timeout_s)
            for i, item in zip(left, parts(answer, "items", len(left)), strict=True):
                done[i] = read_result(item)
            for i in left:
                if done[i].busy:
                    raise done[i].error or StoreBusy("refused for load")

        params, timeout_s = {"filter_path": _ITEM_PATHS}, None
        if wait_for:  # the answer comes after the next refresh of the index
            params["refresh"], timeout_s = "wait_for", self.options.deadline_s
        try:
            await self.retried(send)
        except (StoreBusy, StoreUnavailable):
            if len(done) < len(chunk):
                raise
        return [done[i] for i in range(len(chunk))]

    async def refresh(self, index: str) -> None:
        self.refreshes += 1
        await self.request("POST", f"/{index}/_refresh")


def _chunks(operations: Sequence[BulkOperation]) -> Iterable[list[tuple[BulkOperation, list[str]]]]:
    chunk: list[tuple[BulkOperation, list[str]]] = []
    size = 0
    for operation in operations:
        lines = operation.lines()
        length = sum(map(len, lines))
        if chunk and (len(chunk) >= BULK_OPERATIONS or size + length > BULK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append((operation, lines))
        size += length
    if chunk:
        yield chunk


def connect(options: Options) -> AsyncElasticsearch:
    try:
        from elasticsearch import AsyncElasticsearch
    except ImportError as error:
        raise ConfigError("the Elasticsearch client is not installed", hint=MISSING_CLIENT) from error
    try:
        return AsyncElasticsearch(
            request_timeout=options.request_s, max_retries=0, retry_on_timeout=False, **options.client
        )
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the Elasticsearch client refuses these settings: {type(error).__name__}",
            hint="see the section elasticsearch of the settings",
        ) from None
