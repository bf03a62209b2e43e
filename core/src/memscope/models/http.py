"""One HTTP request to an endpoint: JSON in, JSON or events out, every failure a typed error.

The ``openai`` client is not used: it has no rerank, returns web pages as strings, leaks ``JSONDecodeError``, never
gives up on a server that drips data, does not limit reply sizes and takes 0.9 s to import. Each call would need the
same checks as here. ``httpx2``, its HTTP library, sends requests and parses events. Redirects are off because they
would send the conversation to another server. Cookies are off, and environment proxies too unless ``trust_env`` is set.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memscope.errors import (
    ConfigError,
    InputError,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelReplyError,
    ModelUnavailable,
    install_hint,
)
from memscope.models.endpoint import Endpoint, key_variable
from memscope.models.retry import PerLoop
from memscope.records import Json

if TYPE_CHECKING:
    import ssl

    import httpx2

QUOTA_S = 300.0  # retry_after for a used-up quota, where an early retry cannot succeed
MAX_DETAIL_CHARS = 2000  # an error's excerpt of the server's message
MIN_SECRET_CHARS = 8  # of a header that may be a secret
WRONG_URL = "check base_url: it is what /chat/completions, /embeddings or /rerank is added to"


class NotUnderstood(ModelRejected):
    """The server rejects part of the request (400, 415, 422, 501) and may accept a simpler one."""


class Http:
    """HTTP client of one endpoint, with a connection pool per event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        if find_spec("httpx2") is None:
            raise ConfigError("a model endpoint needs httpx2", hint=install_hint("openai"))
        if "openai" in sys.modules:  # openai 2 fails in any thread while another thread imports httpx2: do it now
            _library()
        self.endpoint = endpoint
        self._clients = PerLoop(self._client)
        keyed = endpoint.secret or endpoint.headers
        self._missing_key = "" if keyed else key_variable(endpoint.base_url)
        self._certificates: ssl.SSLContext | None = None

    async def prepare(self) -> None:
        """Load library and certificates in a thread. The first request does so otherwise."""
        if self._certificates is None:
            self._certificates = await asyncio.to_thread(_certificates, self.endpoint.trust_env)

    def _client(self) -> httpx2.AsyncClient:
        library = _library()
        client: httpx2.AsyncClient = library.AsyncClient(
            headers=self._headers(),
            follow_redirects=False,
            trust_env=self.endpoint.trust_env,
            verify=self._certificates,
            timeout=library.Timeout(None, connect=self.endpoint.connect_s),
            limits=library.Limits(max_keepalive_connections=self.endpoint.concurrency),
        )
        return client

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "memscope", **self.endpoint.headers}
        if secret := self.endpoint.secret:
            bearer = self.endpoint.key_header.lower() == "authorization"
            headers[self.endpoint.key_header] = f"Bearer {secret}" if bearer else secret
        return headers

    async def ask(self, path: str, body: Mapping[str, Json] | None = None) -> dict[str, Any]:
        """POST ``body``, or GET without one, and return the JSON object of the reply. Raise ``ModelError``."""
        async with self._answer(path, body) as answer:
            return await self._object(answer)

    async def events(self, path: str, body: Mapping[str, Json]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the objects of a stream up to ``[DONE]``, or the only object of a server that does not stream."""
        async with self._answer(path, {**body, "stream": True}) as answer:
            if not answer.is_success or "event-stream" not in answer.headers.get("content-type", ""):
                yield await self._object(answer)
                return
            async for event in _library().EventSource(answer, max_event_size=self.endpoint.reply_bytes):
                if event.data.strip() == "[DONE]":
                    return
                yield self._check_object(_loads(event.data))

    async def close(self) -> None:
        """Close the connections of all running event loops."""
        for loop, client in self._clients.take():
            if loop is asyncio.get_running_loop():
                await client.aclose()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(client.aclose(), loop)

    @asynccontextmanager
    async def _answer(self, path: str, body: Mapping[str, Json] | None) -> AsyncIterator[httpx2.Response]:
        """Yield the unread response. Drop the library's exceptions, even as a cause, since they contain the request."""
        if self._missing_key:  # this server refuses any request without a key
            message = f"no key is set for {self.endpoint.base_url}"
            raise ModelAuthError(message, hint=f"set key, or {self._missing_key} in the environment")
        await self.prepare()
        client, failure = self._clients.get(), ""
        method, content = ("GET", None) if body is None else ("POST", _dumps(body))
        try:
            async with client.stream(method, self.endpoint.base_url + path, content=content) as answer:
                client.cookies.clear()
                yield answer
        except _library().HTTPError as error:
            failure = type(error).__name__
        if failure:
            message = f"the connection to the model failed ({failure}): {self.endpoint.base_url}"
            raise ModelUnavailable(message, hint="is base_url right, and the server up?")

    async def _object(self, answer: httpx2.Response) -> dict[str, Any]:
        parts, size = [], 0
        async for part in answer.aiter_bytes():
            parts.append(part)
            size += len(part)
            if size > self.endpoint.reply_bytes:
                raise ModelReplyError(f"the reply is longer than {self.endpoint.reply_bytes} bytes (reply_bytes)")
        text = b"".join(parts).decode("utf-8", "replace").strip()
        if not answer.is_success:
            raise self._status_error(answer.status_code, answer.headers, text)
        if text[:1] == "<" or "html" in answer.headers.get("content-type", ""):
            raise ModelReplyError("the endpoint answered with a web page", hint=WRONG_URL)
        value = _loads(text)
        if value is None and text[:1] in ("{", "["):
            raise ModelUnavailable("the endpoint's reply broke off", hint="try again")
        return self._check_object(value)

    def _check_object(self, value: Any) -> dict[str, Any]:
        """Return ``value`` if it is an object without an error; some servers report errors with status 200."""
        if not isinstance(value, dict):
            raise ModelReplyError("the endpoint's answer is not a JSON object", hint=WRONG_URL)
        error = value.get("error")
        if error:
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise self._status_error(status, {}, json.dumps(error, ensure_ascii=False))
        return value

    def _status_error(self, status: int, headers: Mapping[str, str], text: str) -> ModelError:
        """Map an error status to an exception. Only ``detail`` has the server's text, which may quote the prompt."""
        secret, detail = self.endpoint.secret, text
        words = [word for value in self.endpoint.headers.values() for word in value.split()]
        secrets = [word for word in words if len(word) >= MIN_SECRET_CHARS] + [secret] * bool(secret)
        for word in sorted(secrets, key=len, reverse=True):
            detail = detail.replace(word, "***")
        detail = detail[:MAX_DETAIL_CHARS]
        message = f"the endpoint of {self.endpoint.model!r} answered {status}"
        if status in (401, 403):
            hint = "check key, and whether it may use this model" if secret else "no key was sent: set key"
            return ModelAuthError(f"{message} at {self.endpoint.base_url}", hint=hint, detail=detail)
        if status == 429:
            if "insufficient_quota" in text:
                hint = "the account's quota is used up"
                return ModelRateLimited(message, hint=hint, detail=detail, retry_after=QUOTA_S)
            return ModelRateLimited(message, hint="try later", detail=detail, retry_after=_retry_after(headers))
        if status in (408, 409, 425, 500) or status > 501:
            return ModelUnavailable(message, hint="try again", detail=detail, retry_after=_retry_after(headers))
        if 300 <= status < 400:
            hint = "redirects are not followed; set base_url to the final address"
            return ModelRejected(message, hint=hint, detail=detail)
        if status in (404, 405):
            return ModelRejected(message, hint=f"check the name of the model; or {WRONG_URL}", detail=detail)
        if status in (400, 415, 422, 501) and "content_filter" not in text and "context_length" not in text:
            return NotUnderstood(message, hint="see the error's detail for what the server said", detail=detail)
        return ModelRejected(message, hint="see the error's detail for what the server said", detail=detail)


def _library() -> Any:
    import httpx2

    return httpx2


def _certificates(trust_env: bool) -> ssl.SSLContext:
    with suppress(ImportError):  # else httpx2 imports it on the event loop, with the first connection
        import_module("anyio._backends._asyncio")
    context: ssl.SSLContext = _library().create_ssl_context(trust_env=trust_env)
    return context


def _dumps(body: Mapping[str, Json]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError):
        pass
    raise InputError("the request cannot be written as JSON", hint="check the endpoint's parameters")


def _loads(text: str) -> Any:
    """Parse JSON; None if it is invalid, because an exception would contain the text."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Read ``Retry-After-Ms`` or ``Retry-After`` (seconds or a date) as seconds; None if missing or invalid."""
    value = headers.get("retry-after", "")
    readings: tuple[Callable[[], float], ...] = (
        lambda: float(headers["retry-after-ms"]) / 1000,
        lambda: float(value),
        lambda: parsedate_to_datetime(value).timestamp() - time.time(),
    )
    for read in readings:
        with suppress(KeyError, ValueError, TypeError, OverflowError):
            if math.isfinite(seconds := read()):
                return max(0.0, seconds)
    return None
