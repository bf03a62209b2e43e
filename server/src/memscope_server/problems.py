"""Errors as ``application/problem+json`` (RFC 9457) with memscope's ``code`` and ``hint``, never with stored text."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from traceback import format_tb
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from memscope import errors
from memscope.errors import MemscopeError
from memscope.text.surrogates import joined
from memscope_server.schemas import Problem

PROBLEM_MEDIA_TYPE = "application/problem+json"
log = logging.getLogger("memscope")
BUG_DETAIL, BUG_HINT = "{}, which is a bug of memscope or of a plugin", "see the log"


class Unauthorized(MemscopeError):
    """The request has no valid token."""

    code = "unauthorized"


class Forbidden(MemscopeError):
    """The request comes from another site, or its CSRF secret is wrong."""

    code = "forbidden"


class Misdirected(MemscopeError):
    """The request names a host that this server does not answer to."""

    code = "host"


class TooSlow(MemscopeError):
    """The request body did not arrive in time."""

    code = "timeout"


class ServerBusy(MemscopeError):
    """The memory for request bodies is used up by other requests."""

    code = "server_busy"
    retryable = True


class TokensUnreadable(MemscopeError):
    """The token file cannot be read, so that no caller can be identified."""

    code = "tokens"


#: HTTP status by error class. A class that is not listed, such as a plugin's, gets the status of its nearest ancestor.
HTTP_STATUS: Mapping[type, int] = {
    MemscopeError: 500,
    Unauthorized: 401,
    Forbidden: 403,
    Misdirected: 421,
    TooSlow: 408,
    ServerBusy: 503,
    TokensUnreadable: 503,
    errors.InputError: 422,
    errors.LimitError: 413,
    errors.ScopeError: 422,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.ConfigError: 409,  # the server's settings do not allow the operation
    errors.DeadlineExceeded: 504,
    errors.PluginError: 500,
    errors.WorkerError: 500,
    errors.ClosedError: 503,
    errors.StoreError: 500,
    errors.StoreBusy: 503,
    errors.StoreUnavailable: 503,
    errors.StoreFull: 507,
    errors.StoreReadOnly: 403,
    errors.StoreCorrupt: 500,
    errors.StoreTooNew: 500,
    errors.StoreGone: 503,
    errors.LeaseLost: 409,
    errors.ModelError: 502,
    errors.ModelTimeout: 504,
    errors.ModelUnavailable: 503,
    errors.ModelRateLimited: 503,
    errors.BudgetSpent: 503,
    errors.ModelReplyError: 502,
    errors.ModelReplyCut: 502,
    errors.ModelAuthError: 502,
    errors.ModelRejected: 502,
    errors.EmbeddingError: 502,
    errors.EmbeddingMismatch: 502,
}


def status_of(error: MemscopeError) -> int:
    return next(HTTP_STATUS[kind] for kind in type(error).__mro__ if kind in HTTP_STATUS)


UNSEEN_HINT = "try again later, or ask who runs the server"


class _Json(JSONResponse):
    """JSON response for any text: lone surrogates, which clients may send, become U+FFFD."""

    def render(self, content: Any) -> bytes:
        return joined(json.dumps(content, ensure_ascii=False)).encode()


def problem(
    status: int, code: str, detail: str, hint: str = "", *, retry_after: float | None = None, **more: Any
) -> JSONResponse:
    content = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail, "hint": hint}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status == 503:
        headers["Retry-After"] = str(math.ceil(retry_after or 1))
    return _Json(content | more, status, headers, media_type=PROBLEM_MEDIA_TYPE)


def problem_of(error: MemscopeError, *, operator: bool = False) -> JSONResponse:
    return problem(status_of(error), **described(error, operator=operator), retry_after=error.retry_after)


def described(error: MemscopeError, *, operator: bool) -> dict[str, str]:
    """Give code, detail and hint of an error; only an operator is told the addresses and paths of store and models."""
    inside = isinstance(error, errors.StoreError | errors.ModelError) and not isinstance(error, errors.BudgetSpent)
    if operator or not inside:
        return {"code": error.code, "detail": error.message, "hint": error.hint}
    failed = "store" if isinstance(error, errors.StoreError) else "model"
    return {"code": error.code, "detail": f"the server's {failed} failed", "hint": UNSEEN_HINT}


async def memscope_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, MemscopeError)
    caller = getattr(request.state, "caller", None)
    return problem_of(error, operator=caller is not None and caller.operator)


async def invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    places = [{"place": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()[:20]]
    detail = "; ".join(f"{one['place']}: {one['message']}" for one in places)
    if isinstance(error.body, bytes):  # not parsed, since no header says that it is JSON
        return problem(415, "input", "the body is not declared as JSON", "send Content-Type: application/json")
    return problem(422, "input", detail[:1000], "see /api/v1/openapi.json", places=places)


async def http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = {400: "input", 404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http")
    return problem(error.status_code, code, str(error.detail), "see /api/v1/openapi.json")


def log_unexpected(error: Exception, where: str) -> None:
    """Log the type and place of an error; its message may contain conversation text."""
    log.error("memscope serve: %s in %s\n%s", type(error).__name__, where, "".join(format_tb(error.__traceback__)))


async def unexpected(request: Request, error: Exception) -> JSONResponse:
    return problem(500, "internal", BUG_DETAIL.format(type(error).__name__), BUG_HINT)


_DESCRIBED = {"description": "An error", "content": {PROBLEM_MEDIA_TYPE: {"schema": Problem.model_json_schema()}}}
RESPONSES: dict[int | str, dict[str, Any]] = {422: _DESCRIBED, "default": _DESCRIBED}
HANDLERS = {
    MemscopeError: memscope_error, RequestValidationError: invalid, HTTPException: http_error, Exception: unexpected,
}  # fmt: skip
