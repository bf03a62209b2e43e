"""Errors as ``application/problem+json`` (RFC 9457) with memscope's ``code`` and ``hint``; never a text of a memory."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from memscope import errors
from memscope.errors import MemscopeError
from memscope_server.schemas import Problem

MEDIA_TYPE = "application/problem+json"


class Unauthorized(MemscopeError):
    """No valid token came with the request."""

    code = "unauthorized"


class Forbidden(MemscopeError):
    """The request comes from another site, or its form secret is wrong."""

    code = "forbidden"


STATUS: tuple[tuple[type[MemscopeError], int], ...] = (
    (Unauthorized, 401),
    (Forbidden, 403),
    (errors.LimitError, 413),
    (errors.InputError, 422),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.DeadlineExceeded, 504),
    (errors.StoreFull, 507),
    (errors.StoreBusy, 503),
    (errors.StoreUnavailable, 503),
    (errors.StoreReadOnly, 403),
    (errors.ModelRateLimited, 503),
    (errors.ModelError, 502),
    (errors.ConfigError, 501),
)


def status_of(error: MemscopeError) -> int:
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def problem(status: int, code: str, detail: str, hint: str = "", **more: Any) -> JSONResponse:
    content = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail, "hint": hint}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "1"} if status == 503 else None
    return JSONResponse(content | more, status, headers, media_type=MEDIA_TYPE)


async def memscope_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, MemscopeError)
    return problem(status_of(error), error.code, error.message, error.hint)


async def invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    places = [{"place": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()[:20]]
    detail = "; ".join(f"{one['place']}: {one['message']}" for one in places)
    return problem(422, "input", detail[:1000], "see /api/v1/openapi.json", places=places)


async def http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http")
    return problem(error.status_code, code, str(error.detail))


async def unexpected(request: Request, error: Exception) -> JSONResponse:
    return problem(500, "internal", f"{type(error).__name__}, which is a bug of memscope or of a plugin", "see the log")


_DESCRIBED = {"description": "An error", "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}}
RESPONSES: dict[int | str, dict[str, Any]] = {422: _DESCRIBED, "default": _DESCRIBED}
HANDLERS = {
    MemscopeError: memscope_error, RequestValidationError: invalid, HTTPException: http_error, Exception: unexpected,
}  # fmt: skip
