"""Reading of request bodies, limited in bytes (each, per token, in total), time and concurrency."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from starlette.types import Message, Receive

from memscope.errors import LimitError
from memscope_server.limits import HttpLimits
from memscope_server.problems import ServerBusy, TooSlow

TOKEN_SHARES = 4  # one token may use 1/4 of the memory for bodies


class Disconnected(Exception):
    """The client disconnected before the body was complete."""


class Bodies:
    """Account of the request bodies that are held in memory or being received."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._held: Counter[str] = Counter()
        self._anonymous: OrderedDict[object, asyncio.Timeout] = OrderedDict()

    @asynccontextmanager
    async def read(self, receive: Receive, limit: int, time_s: float, owner: str | None) -> AsyncIterator[bytes | None]:
        """Read a body and count it against ``owner`` until the context exits. Yield None if ``limit`` is 0.

        Raise ``LimitError``, ``TooSlow``, ``ServerBusy``, or ``Disconnected`` if the body ends early.
        """
        if not limit:
            yield None
            return
        parts: list[bytes] = []
        try:
            try:
                with self._timed(time_s, owner) as timeout:
                    async with timeout:
                        await self._fill(parts, receive, limit, owner)
            except TimeoutError:
                raise TooSlow("the body arrived too slowly", hint="send it again") from None
            parts[:] = [b"".join(parts)]
            yield parts[0]
        finally:
            self._release(owner, sum(map(len, parts)))

    async def _fill(self, parts: list[bytes], receive: Receive, limit: int, owner: str | None) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            part = message.get("body", b"")
            more, size = message.get("more_body", False), size + len(part)
            if size > limit:
                raise LimitError("bytes of a body", limit=limit, got=size, hint="send it in several requests")
            if len(parts) >= self._limits.body_chunks:
                parts[:] = [b"".join(parts)]
            parts.append(part)
            self._hold(owner, len(part))

    def _hold(self, owner: str | None, size: int) -> None:
        if owner is None:
            return
        self._held[owner] += size
        most = self._limits.all_bodies_bytes
        if self._held[owner] > most // TOKEN_SHARES or self._held.total() > most:
            raise ServerBusy("too many large requests at a time", hint="try again", retry_after=1.0)

    def _release(self, owner: str | None, size: int) -> None:
        if owner is not None:
            self._held[owner] -= size
            if not self._held[owner]:
                del self._held[owner]

    @contextmanager
    def _timed(self, seconds: float, owner: str | None) -> Iterator[asyncio.Timeout]:
        """Yield a timeout for a body. Beyond the limit for clients without a token, expire the oldest one's timeout."""
        timeout, key = asyncio.timeout(seconds), object()
        if owner is not None:
            yield timeout
            return
        if len(self._anonymous) >= self._limits.anonymous_bodies:
            oldest = self._anonymous.popitem(last=False)[1]
            if not oldest.expired():
                oldest.reschedule(asyncio.get_running_loop().time())
        self._anonymous[key] = timeout
        try:
            yield timeout
        finally:
            self._anonymous.pop(key, None)

    async def discard(self, receive: Receive) -> None:
        """Read and drop what a client still sends, for at most ``linger_s`` seconds."""
        taken = 0
        with suppress(TimeoutError), self._timed(self._limits.linger_s, None) as timeout:
            async with timeout:
                while taken < 2 * self._limits.body_bytes:
                    message = await receive()
                    taken += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that yields the body first, then the messages of the connection."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed
