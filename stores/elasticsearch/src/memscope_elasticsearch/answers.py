"""Answers of the cluster: the typed error for a refusal, and for what is no answer of Elasticsearch's.

A proxy may answer in its place, with a page or with JSON of its own and any status. That is taken for a server which
is away: asked again, and at last ``StoreUnavailable``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memscope.errors import (
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

if TYPE_CHECKING:
    from elasticsearch import ApiError

BULK_BYTES = 1_000_000  # bodies over 1 MiB hold up the event loop
_STARTING = ("no_shard_available_action_exception", "unavailable_shards_exception", "shard_not_found_exception")
_PRODUCT = "x-elastic-product"  # in the header of every answer


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The result of an operation: 200, 201, 404 (nothing there), 409 (exists, or changed meanwhile), or an error."""

    status: int
    version: tuple[int, int] = (-1, -1)
    error: MemscopeError | None = None

    @property
    def ok(self) -> bool:
        return self.status in (200, 201)

    @property
    def busy(self) -> bool:
        return isinstance(self.error, StoreBusy | StoreUnavailable)


def foreign() -> StoreUnavailable:
    return StoreUnavailable(
        "what answers there is not Elasticsearch",
        hint="check host and port, and a proxy or login page before it; try again",
    )


def checked(body: object, headers: Mapping[str, str]) -> dict[str, Any]:
    """Returns the body of an answer. Raises the error of the first of its parts that has one."""
    if not isinstance(body, dict) or _PRODUCT not in headers:
        raise foreign()
    for part in [*_listed(body.get("responses")), *_listed(body.get("docs"))]:
        if not isinstance(part, Mapping):
            raise foreign()
        if "error" in part:
            kind, _ = _told(part)
            raise refusal(part.get("status", 404), kind, "")
    return body


def parts(body: Mapping[str, Any], name: str, count: int) -> list[Any]:
    """Returns the parts of an answer: one for each of a request."""
    found = _listed(body.get(name))
    if len(found) != count:
        raise foreign()
    return found


def number(body: Mapping[str, Any], name: str) -> int:
    found = body.get(name)
    if not isinstance(found, int):
        raise foreign()
    return found


def read_result(item: object) -> OperationResult:
    """Returns the result of one operation of a bulk."""
    told = next(iter(item.values()), None) if isinstance(item, Mapping) else None
    if not isinstance(told, Mapping) or "status" not in told:
        raise foreign()
    status, kind = told["status"], _told(told)[0]
    if status in (200, 201, 409) or (status == 404 and kind in ("", "document_missing_exception")):
        return OperationResult(status, (told.get("_seq_no", -1), told.get("_primary_term", -1)))
    return OperationResult(status, error=refusal(status, kind, ""))


def _listed(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


def trouble(error: Exception, *, answered: bool, address: str) -> Exception:
    """Returns the typed error for an exception of the client; other exceptions as they are.

    ``answered``: Elasticsearch did before, so whatever answers now is between.
    """
    from elastic_transport import ConnectionTimeout, SerializationError, TlsError
    from elasticsearch import ApiError, TransportError, UnsupportedProductError

    if isinstance(error, MemscopeError):
        return error
    if isinstance(error, SerializationError) or (isinstance(error, ApiError) and _is_page(error)):
        return foreign()
    if isinstance(error, UnsupportedProductError) and answered:
        return foreign()
    if isinstance(error, UnsupportedProductError):
        return StoreError("what answers there is not Elasticsearch 8.19 or 9", hint="check the host and the port")
    if isinstance(error, ApiError):
        kind, reason = _told(error.body)
        return refusal(error.meta.status, kind, reason)
    if isinstance(error, TlsError):
        return ConfigError("the server's certificate is not trusted", hint="set ca_certs to the file of its authority")
    if isinstance(error, ConnectionTimeout):
        return StoreUnavailable(f"{address} did not answer in time", hint="try again")
    if isinstance(error, TransportError):
        return StoreUnavailable(f"{address} cannot be reached", hint="is it running, are host and port right?")
    return error


def _is_page(error: ApiError) -> bool:
    """Returns whether a proxy's page came in place of an answer; what it says of access and load is believed."""
    return not isinstance(error.body, Mapping) and error.meta.status in (200, 404, 500)


def _told(body: object) -> tuple[str, str]:
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return str(error.get("type", "")), str(error.get("reason", ""))
    return "", str(error or "")


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
