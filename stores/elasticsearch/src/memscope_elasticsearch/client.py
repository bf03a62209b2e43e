"""Requests to the cluster: one client per event loop, typed errors, retries within one deadline.

The client's own retries are off. Requests are safe to repeat: documents are created under fixed ids, and changed
under the number (``_seq_no``) they were read with.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

from memscope.errors import (
    ClosedError,
    ConfigError,
    LimitError,
    MemscopeError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
    StoreUnavailable,
)
from memscope_elasticsearch.options import Options

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch

Body: TypeAlias = dict[str, Any]
BULK_OPERATIONS, BULK_BYTES = 1000, 1_000_000  # bodies over 1 MiB hold up the event loop
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
MISSING_CLIENT = 'install "elasticsearch[async]>=8.19,<10"'
_STARTING = ("no_shard_available_action_exception", "unavailable_shards_exception", "shard_not_found_exception")
_ITEM_PATHS = "items.*.status,items.*.error.type,items.*._seq_no,items.*._primary_term"


@dataclass(frozen=True, slots=True)
class Operation:
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


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an operation: 200, 201, 404 (nothing there), 409 (exists, or changed meanwhile), or an error."""

    status: int
    version: tuple[int, int] = (-1, -1)
    error: MemscopeError | None = None

    @property
    def ok(self) -> bool:
        return self.status in (200, 201)


@dataclass
class Local:
    """The client, locks and tasks of one event loop."""

    client: AsyncElasticsearch
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    more: dict[str, Any] = field(default_factory=dict)

    def lock(self, user: str) -> asyncio.Lock:
        found = self.locks.get(user)
        if found is None:
            found = self.locks[user] = asyncio.Lock()
        return found


class Cluster:
    """Requests to the cluster. ``requests`` and ``refreshes`` count its calls, for the benchmarks."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.requests = 0
        self.refreshes = 0
        self._locals: WeakKeyDictionary[asyncio.AbstractEventLoop, Local] = WeakKeyDictionary()
        self._closed = False

    def local(self) -> Local:
        if self._closed:
            raise ClosedError("the store is closed")
        loop = asyncio.get_running_loop()
        found = self._locals.get(loop)
        if found is None:
            found = self._locals[loop] = Local(connect(self.options))
        return found

    def of_this_loop(self, name: str) -> list[Any]:
        """Returns the entry of this event loop under a name, if there is one."""
        found = self._locals.get(asyncio.get_running_loop())
        return [found.more[name]] if found is not None and name in found.more else []

    def check_open(self) -> None:
        if self._closed:
            raise ClosedError("the store is closed")

    async def close(self) -> None:
        """Close the client of this event loop; those of other loops end with their loops."""
        if self._closed:
            return
        self._closed = True
        await self.disconnect()

    async def disconnect(self) -> None:
        found = self._locals.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await found.client.close()

    # ---- requests

    async def request(self, method: str, path: str, *, body: Any = None, timeout_s: Any = None, **params: Any) -> Any:
        """Returns the body of the answer. Retries while the cluster is busy or away, up to the deadline."""
        client = self.local().client
        client = client if timeout_s is None else client.options(request_timeout=timeout_s)
        bulk = isinstance(body, list)
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/x-ndjson" if bulk else "application/json"

        async def send() -> Any:
            self.requests += 1
            answer = await client.perform_request(method, path, params=params or None, headers=headers, body=body)
            for part in _parts(answer.body):
                if "error" in part:
                    raise refusal(part.get("status", 404), part["error"].get("type", ""), "")
            return answer.body

        return await self.retried(send)

    async def retried(self, send: Callable[[], Awaitable[Any]]) -> Any:
        clock = asyncio.get_running_loop().time
        until, pause = clock() + self.options.deadline_s, FIRST_PAUSE_S
        while True:
            try:
                return await send()
            except Exception as error:
                typed = trouble(error)
                if not isinstance(typed, StoreBusy | StoreUnavailable) or clock() + pause > until:
                    raise typed from error
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def search(self, index: str, body: Body, *, routing: str | None = None, paths: str = "") -> Any:
        params = {"routing": routing, "filter_path": paths, "allow_partial_search_results": "false"}
        return await self.request("POST", f"/{index}/_search", body=body, **{k: v for k, v in params.items() if v})

    async def searches(self, index: str, bodies: Sequence[Body], *, routing: str, paths: str) -> list[Any]:
        """Returns answers to several searches in one request, with scores of named parts; one error fails all."""
        head = encode({"routing": routing, "allow_partial_search_results": False})
        lines = [line for body in bodies for line in (head, encode(body))]
        params = {
            "filter_path": f"{paths},responses.error.type,responses.status",
            "include_named_queries_score": "true",
        }
        found = await self.request("POST", f"/{index}/_msearch", body=lines, **params)
        answers: list[Any] = found["responses"]
        return answers

    async def documents(self, wanted: Sequence[Body], *, excludes: str = "", includes: str = "") -> list[Body]:
        """Returns documents by index, id and routing, in order, current; without ``found`` for a missing one."""
        found: list[Body] = []
        params = {"_source_excludes": excludes} if excludes else {"_source_includes": includes} if includes else {}
        for start in range(0, len(wanted), BULK_OPERATIONS):
            body = {"docs": list(wanted[start : start + BULK_OPERATIONS])}
            found += (await self.request("POST", "/_mget", body=body, **params))["docs"]
        return found

    async def bulk(self, operations: Iterable[Operation], *, wait_for: bool = False) -> list[Outcome]:
        """Returns the result of each; a refused item raises its error. 404 and 409 are the caller's to judge."""
        outcomes = await self.attempt(operations, wait_for=wait_for)
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        return outcomes

    async def attempt(self, operations: Iterable[Operation], *, wait_for: bool = False) -> list[Outcome]:
        """Send as ``bulk`` does; errors of items stand in their outcomes. Items rejected for load are sent again."""
        outcomes: list[Outcome] = []
        for chunk in _chunks(list(operations)):
            outcomes += await self._bulk(chunk, wait_for)
        return outcomes

    async def _bulk(self, chunk: list[tuple[Operation, list[str]]], wait_for: bool) -> list[Outcome]:
        done: dict[int, Outcome] = {}

        async def send() -> None:
            left = [i for i in range(len(chunk)) if i not in done or _busy(done[i])]
            lines = [line for i in left for line in chunk[i][1]]
            for i, item in zip(left, await self._send_bulk(lines, wait_for), strict=True):
                done[i] = _outcome(item)
            for i in left:
                if _busy(done[i]):
                    raise done[i].error or StoreBusy("refused for load")

        try:
            await self.retried(send)
        except StoreBusy:
            if len(done) < len(chunk):
                raise
        return [done[i] for i in range(len(chunk))]

    async def _send_bulk(self, lines: list[str], wait_for: bool) -> list[Mapping[str, Any]]:
        client, params = self.local().client, {"filter_path": _ITEM_PATHS}
        if wait_for:  # for as long as the index takes its time between refreshes
            client, params["refresh"] = client.options(request_timeout=self.options.deadline_s), "wait_for"
        headers = {"accept": "application/json", "content-type": "application/x-ndjson"}
        self.requests += 1
        answer = await client.perform_request("POST", "/_bulk", params=params, headers=headers, body=lines)
        return [next(iter(item.values())) for item in answer.body["items"]]

    async def refresh(self, index: str) -> None:
        self.refreshes += 1
        await self.request("POST", f"/{index}/_refresh")


def _chunks(operations: Sequence[Operation]) -> Iterable[list[tuple[Operation, list[str]]]]:
    chunk: list[tuple[Operation, list[str]]] = []
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
        raise ConfigError(f"the Elasticsearch client takes these settings not: {type(error).__name__}") from None


# --------------------------------------------------------------------------------------------------------------- errors


def trouble(error: Exception) -> Exception:
    """Returns the typed error for an exception of the client; other exceptions as they are."""
    from elastic_transport import ConnectionTimeout, TlsError
    from elasticsearch import ApiError, TransportError, UnsupportedProductError

    if isinstance(error, MemscopeError):
        return error
    if isinstance(error, UnsupportedProductError):
        return StoreError("what answers there is not Elasticsearch 8.19 or 9", hint="check the host and the port")
    if isinstance(error, ApiError):
        kind, reason = _told(error.body)
        return refusal(error.meta.status, kind, reason)
    if isinstance(error, TlsError):
        return ConfigError("the server's certificate is not trusted", hint="set ca_certs to the file of its authority")
    if isinstance(error, ConnectionTimeout):
        return StoreUnavailable("Elasticsearch did not answer in time", hint="try again")
    if isinstance(error, TransportError):
        return StoreUnavailable("Elasticsearch cannot be reached", hint="is it running, are host and port right?")
    return error


def _parts(body: object) -> list[Mapping[str, Any]]:
    """Returns the parts of an answer: of several searches, or several documents."""
    return [*body.get("responses", ()), *body.get("docs", ())] if isinstance(body, Mapping) else []


def _told(body: object) -> tuple[str, str]:
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return str(error.get("type", "")), str(error.get("reason", ""))
    return "", str(error or "")


def _outcome(told: Mapping[str, Any]) -> Outcome:
    status, kind = told["status"], told.get("error", {}).get("type", "")
    if status in (200, 201, 409) or (status == 404 and kind in ("", "document_missing_exception")):
        return Outcome(status, (told.get("_seq_no", -1), told.get("_primary_term", -1)))
    return Outcome(status, error=refusal(status, kind, ""))


def _busy(outcome: Outcome) -> bool:
    return isinstance(outcome.error, StoreBusy | StoreUnavailable)


def refusal(status: int, kind: str, reason: str) -> MemscopeError:
    """Returns the error for an answer; ``reason`` may quote a document and is kept in ``detail``."""
    what = f"Elasticsearch answers {status}" + (f" ({kind})" if kind else "")
    if kind == "cluster_block_exception":
        if status == 429 or "flood" in reason:
            return StoreFull(
                f"{what}: its disk is too full to write", hint="free space on the data nodes", detail=reason
            )
        return StoreReadOnly(f"{what}: the index is read-only", hint="lift the block index.blocks.write", detail=reason)
    if status in (401, 403):
        hint = "check api_key, or user and password" if status == 401 else "the user needs read, write and manage there"
        return ConfigError(f"{what}: access was refused", hint=hint, detail=reason)
    if status == 429:
        return StoreBusy(f"{what}: too much at once", hint="try again", detail=reason)
    if status in (502, 503, 504) or kind in _STARTING:
        return StoreUnavailable(f"{what}: not ready", hint="try again", detail=reason)
    if kind == "index_not_found_exception":
        return StoreGone(f"{what}: an index of this store is gone", hint="restore it from a snapshot", detail=reason)
    if status == 413:
        return LimitError("bytes in one request to Elasticsearch", limit=BULK_BYTES, got=BULK_BYTES + 1)
    if "media_type" in kind:
        return StoreError(f"{what}: server and client do not fit", hint="install the client of the server's version")
    return StoreError(what, hint="'memscope doctor' checks the indices", detail=reason)
