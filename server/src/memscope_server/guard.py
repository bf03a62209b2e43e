"""The guard around every request: Host and Origin, size of bodies, headers that keep a page to itself."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memscope_server.access import SAFE
from memscope_server.problems import problem

LONGEST_BODY = 8 * 2**20
FORM = "application/x-www-form-urlencoded"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """ASGI middleware. ``hosts`` are the names (with port, where it is not the scheme's) this server answers to.

    A Host of another name is refused (DNS rebinding), so is a change that another site's page sends.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app, self._hosts = app, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    sent.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    sent["cache-control"] = "no-store"
            await send(message)

        if refusal := self._refusal(scope["method"], headers):
            return await problem(*refusal)(scope, receive, guarded)
        body = await _body(receive)
        if body is None:
            return await problem(413, "limit", f"a body of more than {LONGEST_BODY} bytes")(scope, receive, guarded)
        is_form = headers.get("content-type", "").partition(";")[0].strip() == FORM
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)) if is_form else {}
        scope.setdefault("state", {})["form"] = form
        await self._app(scope, _replay(body, receive), guarded)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str, str, str] | None:
        if headers.get("host") not in self._hosts:
            return 421, "host", "this server does not answer to that name", "memscope serve --name adds one"
        origin = headers.get("origin")
        if method not in SAFE and origin is not None and urlsplit(origin).netloc not in self._hosts:
            return 403, "forbidden", "another site may change nothing here", ""
        return None


async def _body(receive: Receive) -> bytes | None:
    """Read a body; None where it is too long."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LONGEST_BODY:
            return None
    return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that gives the body once, and then what the connection says."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed
