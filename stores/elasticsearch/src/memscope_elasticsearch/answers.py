"""Check the cluster's answers: typed errors for refusals, and for answers that come from a proxy.

A proxy may answer instead of Elasticsearch, with its own page or JSON and any status. That counts as an unreachable
server: the request is retried and finally raises ``StoreUnavailable``.
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

BULK_BYTES = 1_000_000  # larger bodies block the event loop
_STARTING = ("no_shard_available_action_exception", "unavailable_shards_exception", "shard_not_found_exception")
ANSWERS_WITHOUT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")  # OpenSSL's words for them, by version
_PRODUCT_HEADER = "x-elastic-product"  # sent with every answer


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Result of a bulk operation: 200, 201, 404 (not found), 409 (exists or changed meanwhile), or an error."""

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
        "the server that answers is not Elasticsearch",
        hint="check host and port, and any proxy or login page before it; try again",
    )


def checked(body: object, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of an answer; raise the error of its first failed part."""
    if not isinstance(body, dict) or _PRODUCT_HEADER not in headers:
        raise foreign()
    for part in [*_listed(body.get("responses")), *_listed(body.get("docs"))]:
        if not isinstance(part, Mapping):
            raise foreign()
        if "error" in part:
            kind, _ = _error_of(part)
            raise refusal(part.get("status", 404), kind, "")
    return body


def parts(body: Mapping[str, Any], name: str, count: int) -> list[Any]:
    """Return the parts of an answer, which must match the parts of the request."""
    items = _listed(body.get(name))
    if len(items) != count:
        raise foreign()
    return items


def number(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int):
        raise foreign()
    return value


def read_result(item: object) -> OperationResult:
    """Parse the result of one bulk operation."""
    outcome = next(iter(item.values()), None) if isinstance(item, Mapping) else None
    if not isinstance(outcome, Mapping) or "status" not in outcome:
        raise foreign()
    status, kind = outcome["status"], _error_of(outcome)[0]
    if status in (200, 201, 409) or (status == 404 and kind in ("", "document_missing_exception")):
        return OperationResult(status, (outcome.get("_seq_no", -1), outcome.get("_primary_term", -1)))
    return OperationResult(status, error=refusal(status, kind, ""))


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def trouble(error: Exception, *, answered: bool, address: str) -> Exception:
    """Convert an exception of the client to a typed error; return others as they are.

    ``answered``: Elasticsearch has answered before, so that a foreign answer comes from a proxy.
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
        return StoreError("the server that answers is not Elasticsearch 8.19 or 9", hint="check the host and the port")
    if isinstance(error, ApiError):
        kind, reason = _error_of(error.body)
        return refusal(error.meta.status, kind, reason)
    if isinstance(error, TlsError) and any(code in repr(error) for code in ANSWERS_WITHOUT_TLS):
        return ConfigError("the server speaks no TLS", hint="write elasticsearch:// without +https, or turn its TLS on")
    if isinstance(error, TlsError):
        return ConfigError("the server's certificate is not trusted", hint="set ca_certs to the file of its authority")
    if isinstance(error, ConnectionTimeout):
        return StoreUnavailable(f"{address} did not answer in time", hint="try again")
    if isinstance(error, TransportError):
        return StoreUnavailable(f"{address} cannot be reached", hint="is it running, are host and port right?")
    return error


def _is_page(error: ApiError) -> bool:
    """Detect a proxy's error page; trust its status if that is 401, 403, 429 or 5xx other than 500."""
    return not isinstance(error.body, Mapping) and error.meta.status in (200, 404, 500)


def _error_of(body: object) -> tuple[str, str]:
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return str(error.get("type", "")), str(error.get("reason", ""))
    return "", str(error or "")


def refusal(status: int, kind: str, reason: str) -> MemscopeError:
    """Build the error for an answer; ``reason`` may quote a document, so it goes to ``detail``."""
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
        return StoreError(f"{what}: server and client do not match", hint="install the client of the server's version")
    return StoreError(what, hint="'memscope doctor' checks the indices", detail=reason)
