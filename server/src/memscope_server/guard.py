"""Middleware around every request: checks Host and Origin, limits the body, adds security headers to the response."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TypeAlias
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memscope.errors import LimitError, MemscopeError
from memscope_server.access import SAFE_METHODS, SIGN_IN_PATH, Caller, Sessions
from memscope_server.bodies import Bodies, Disconnected, replay
from memscope_server.limits import HttpLimits
from memscope_server.paths import with_encoded_slashes
from memscope_server.problems import Forbidden, Misdirected, TokensUnreadable, log_unexpected, problem_of

FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
Form: TypeAlias = Mapping[str, str]
log = logging.getLogger("memscope")


class Broken(Exception):
    """A response cannot be completed, since an unexpected error came after its beginning."""


class Guard:
    """ASGI middleware. ``hosts`` are the accepted Host headers, with the port unless it is the scheme's default.

    Any other Host is refused (DNS rebinding), and so are changes sent from another site's pages. The caller is
    identified first: without a valid token the body is not read, and the application gets an empty one.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], sessions: Sessions, limits: HttpLimits) -> None:
        self._app, self._hosts, self._sessions, self._limits = app, frozenset(hosts), sessions, limits
        self._bodies = Bodies(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        scope = with_encoded_slashes(scope)
        reply = _Reply(scope, receive, send, self._bodies)
        try:
            headers = Headers(scope=scope)
            self._check(scope, headers)
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"range"]  # unsupported
            caller = self._identify(scope)
            async with self._bodies.read(receive, *self._body_limits(scope, headers, caller)) as body:
                reply.unread = reply.unread and body is None
                state = {"caller": caller, "form": self._form(headers, body or b"")}
                scope.setdefault("state", {}).update(state)
                await self._app(scope, replay(body or b"", receive), reply)
        except Disconnected:
            pass
        except MemscopeError as error:
            if reply.started:
                raise
            await problem_of(error)(scope, receive, reply)
        except Exception as error:  # uvicorn would log its message
            log_unexpected(error, "a request")
            if reply.started:
                raise Broken("a response broke off") from None
            handler = scope["app"].exception_handlers[Exception]
            await (await handler(Request(scope, receive), error))(scope, receive, reply)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse oversized paths or headers, unknown hosts, and changes from other sites."""
        for what, limit, got in (
            ("characters of a path", self._limits.path_chars, len(scope["path"])),
            ("headers of a request", self._limits.header_count, len(scope["headers"])),
        ):
            if got > limit:
                raise LimitError(what, limit=limit, got=got)
        if headers.get("host") not in self._hosts:
            raise Misdirected("this server does not answer to that name", hint="memscope serve --name adds one")
        origin = headers.get("origin")
        if scope["method"] not in SAFE_METHODS and origin is not None and _host(origin) not in self._hosts:
            raise Forbidden("other sites may change nothing here", hint="send the request from a page of this server")

    def _identify(self, scope: Scope) -> Caller | None:
        try:
            return self._sessions.caller(HTTPConnection(scope))
        except MemscopeError as error:  # its message names a local file: log it, do not send it
            log.error("memscope serve: %s", error)
            raise TokensUnreadable("the tokens cannot be read", hint="see the log of the server") from None

    def _body_limits(self, scope: Scope, headers: Headers, caller: Caller | None) -> tuple[int, float, str | None]:
        """Return the limits for the body: maximum bytes, seconds, and the token id that they count against."""
        if caller is None or scope["path"] == SIGN_IN_PATH:
            signs_in = scope["method"] == "POST" and scope["path"] == SIGN_IN_PATH
            return (self._limits.sign_in_bytes if signs_in else 0), self._limits.sign_in_s, None
        limit = self._limits.form_bytes if _is_form(headers) else self._limits.body_bytes
        if (declared := headers.get("content-length", "")).isdecimal() and int(declared) > limit:
            raise LimitError("bytes of a body", limit=limit, got=int(declared), hint="send it in several requests")
        return limit, self._limits.body_s, caller.token.id

    def _form(self, headers: Headers, body: bytes) -> Form:
        if not _is_form(headers):
            return {}
        if (fields := body.count(b"&") + 1) > self._limits.form_fields:
            raise LimitError("fields of a form", limit=self._limits.form_fields, got=fields)
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


class _Reply:
    """Sends a response with the security headers.

    If the request body was not read, the connection is closed after the response. What the client still sends is
    discarded for a short time first, so that it reads the response instead of a connection reset.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, bodies: Bodies) -> None:
        self._scope, self._receive, self._send, self._bodies = scope, receive, send, bodies
        headers = Headers(scope=scope)
        self.unread = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._add_headers(MutableHeaders(scope=message))
        elif self.unread and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            await self._bodies.discard(self._receive)
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    def _add_headers(self, sent: MutableHeaders) -> None:
        self.started = True
        for name, value in SECURITY_HEADERS.items():
            sent.setdefault(name, value)
        if not self._scope["path"].startswith("/static/"):
            sent["cache-control"] = "no-store"
        if self.unread:
            sent["connection"] = "close"


def _is_form(headers: Headers) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == FORM_MEDIA_TYPE


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # brackets around an invalid IPv6 address
        return None
