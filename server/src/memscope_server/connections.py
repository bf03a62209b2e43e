"""uvicorn connections with timeouts for request headers and slow readers, and a limit on idle connections.

uvicorn itself waits indefinitely for headers and for clients that do not read; a few hundred such connections use up
the file descriptors. Pass ``options()`` as keyword arguments to ``uvicorn.run`` or ``uvicorn.Config``.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any, ClassVar

import h11
import uvicorn
from fastapi.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from memscope.errors import LimitError
from memscope_server.limits import HttpLimits
from memscope_server.problems import problem, problem_of

MAX_ACCEPTS_AT_ONCE = 128  # half the waiting limit, so that each connection is read before it can be evicted
LISTEN_QUEUE = 2048
MIN_OPEN_FILES = 4096
SERVER_DRAIN_S = 10  # at shutdown, for running requests
MAX_PARSED_BYTES = 16 * 2**10  # per call of h11, which checks the size of headers only when they are incomplete


def options(limits: HttpLimits | None = None) -> dict[str, Any]:
    """Return uvicorn options that apply these limits."""
    limits = limits or HttpLimits()
    protocol = type("LimitedConnection", (Connection,), {"limits": limits, "waiting": {}})
    return {
        "http": protocol,
        "ws": "none",
        "server_header": False,
        "backlog": MAX_ACCEPTS_AT_ONCE,
        "timeout_graceful_shutdown": SERVER_DRAIN_S,
    }


class Server(uvicorn.Server):
    """A server with a long listen queue that accepts few connections at a time; uvicorn has one setting for both."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        _raise_file_limit()
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(LISTEN_QUEUE)


def _raise_file_limit() -> None:
    """Raise the soft limit on open files (256 on macOS), because each connection uses one."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MIN_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MIN_OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Connection(H11Protocol):
    """A connection that is closed if no complete request headers arrive in time, at first or after a response."""

    limits: ClassVar[HttpLimits]
    waiting: ClassVar[dict[Connection, asyncio.TimerHandle]]  # connections without a request, longest waiting first

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = _ChunkLimitedConnection(self.limits)
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if (accepted := transport.get_extra_info("socket")) is not None:  # asyncio does not, for a socket that we bind
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._update_timeout()
        if len(self.waiting) > self.limits.waiting_connections:
            next(iter(self.waiting))._abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), MAX_PARSED_BYTES):
            if not self.transport.is_closing():
                super().data_received(data[start : start + MAX_PARSED_BYTES])
        self._update_timeout()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timeout()

    def _update_timeout(self) -> None:
        """Start the timeout between requests, or cancel it while one is handled."""
        if not getattr(self.cycle, "response_complete", True):  # the cycle is None before the first request
            self._stop_waiting()
        elif self not in self.waiting:
            self.waiting[self] = self.loop.call_later(self.limits.head_s, self._abort)

    def _abort(self) -> None:
        self._stop_waiting()
        self.transport.abort()

    def _stop_waiting(self) -> None:
        if timer := self.waiting.pop(self, None):
            timer.cancel()

    def pause_writing(self) -> None:
        self._unread = self._unread or self.loop.call_later(self.limits.write_s, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        if self._unread:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def _unsupported_upgrade_warning(self) -> None:
        """Suppress uvicorn's warning: any client could fill the log by asking for a WebSocket."""

    def send_400_response(self, msg: str) -> None:
        """Answer invalid or oversized HTTP with a problem document, like every other error."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            reply = self._refusal(msg)
            headers = [*reply.raw_headers, (b"connection", b"close")]
            for event in (
                h11.Response(status_code=reply.status_code, headers=headers, reason=b"Refused"),
                h11.Data(data=bytes(reply.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:
            self.cycle.disconnected = True  # the application must not respond as well
            self.cycle.message_event.set()
        self.transport.close()

    def _refusal(self, msg: str) -> Response:
        if isinstance(self.conn, _ChunkLimitedConnection) and self.conn.too_many:
            most = self.limits.body_chunks
            return problem_of(LimitError("chunks of a body", limit=most, got=most + 1))
        return problem(400, "http", msg, "send a valid HTTP/1.1 request")


class _ChunkLimitedConnection(h11.Connection):
    """Refuses bodies with too many chunks, since each costs as much as a small request."""

    def __init__(self, limits: HttpLimits) -> None:
        super().__init__(h11.SERVER, limits.head_bytes)
        self._most, self._chunks = limits.body_chunks, 0
        self.too_many = False

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            self.too_many = self._chunks > self._most
            if self.too_many:
                raise h11.RemoteProtocolError("too many chunks")
        return event
