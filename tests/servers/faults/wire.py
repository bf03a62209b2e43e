"""HTTP/1.1 by hand, because a library would not let go in the middle of a reply."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from dataclasses import dataclass
from typing import Any

from .plan import Rule
from .replies import dump

MAX_BODY = 64 * 1024 * 1024
JSON = "application/json"


class BadRequest(Exception):
    """The client's request cannot be answered; becomes an OpenAI-style error body."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes


class Wire:
    """One HTTP/1.1 connection: reads requests, writes replies, breaks off when asked to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def read(self) -> Request | None:
        """The next request, or None when the client is gone or talks nonsense."""
        with contextlib.suppress(ValueError, asyncio.IncompleteReadError):
            method, target, _ = (await self.reader.readline()).decode("latin-1").split(" ", 2)
            headers = await self._read_headers()
            if headers.get("expect", "").lower() == "100-continue":
                await self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            if (raw := await self._read_body(headers)) is None:
                return None
            return Request(method, target.partition("?")[0], headers, raw)
        return None

    async def _read_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        while row := (await self.reader.readline()).decode("latin-1").strip():
            name, _, value = row.partition(":")
            headers[name.strip().lower()] = value.strip()
        return headers

    async def _read_body(self, headers: dict[str, str]) -> bytes | None:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            raw = b""
            while size := int((await self.reader.readline()).split(b";")[0], 16):
                raw += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readline()
            return raw
        if (length := int(headers.get("content-length", 0))) <= MAX_BODY:
            return await self.reader.readexactly(length)
        await self.fail(413, "request too large", "invalid_request_error")
        return None

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int, kind: str, **headers: Any) -> None:
        lines = [f"HTTP/1.1 {status} {'OK' if status < 400 else 'Error'}", f"Content-Type: {kind}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def send(self, status: int, text: str, kind: str = JSON, **headers: Any) -> None:
        data = text.encode("utf-8", "replace")
        await self.head(status, kind, Content_Length=len(data), **headers)
        await self.write(data)

    async def fail(self, status: int, message: str, kind: str, code: str | None = None, **headers: Any) -> None:
        error = {"message": message, "type": kind, "param": None, "code": code}
        await self.send(status, dump({"error": error}), **headers)

    async def event(self, text: str) -> None:
        """One server-sent event as one chunk."""
        data = f"data: {text}\n\n".encode("utf-8", "replace")
        await self.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def wait_gone(self, seconds: float) -> None:
        """Wait, but no longer than the client stays."""
        with contextlib.suppress(asyncio.TimeoutError, ConnectionError):
            await asyncio.wait_for(self.reader.read(1), seconds)

    async def break_off(self, fault: str, seconds: float) -> None:
        """The middle of a reply: stay silent, reset the connection, or just let it close."""
        await asyncio.sleep(0.02)  # let what was written arrive first
        if fault == "stall":
            await self.wait_gone(seconds)
        elif fault == "reset":
            sock = self.writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.writer.transport.abort()


async def send_json(wire: Wire, payload: Any, rule: Rule) -> bool:
    """Send a JSON body, or as much of it as the fault lets through; true when the connection can be used again."""
    fault, data = rule.get("fault"), dump(payload).encode("utf-8", "replace")
    half = len(data) // 2
    if fault == "truncated_json":  # complete HTTP, incomplete JSON
        data = data[:half]
    await wire.head(200, JSON, Content_Length=len(data))
    if fault in ("reset", "stall", "short_body"):
        await wire.write(data[:half])
        await wire.break_off(fault, rule.get("seconds", 30.0))
        return False
    if fault == "drip":  # never silent for long, never done soon
        for i in range(len(data)):
            await wire.write(data[i : i + 1])
            await asyncio.sleep(rule.get("interval", 0.2))
    else:
        await wire.write(data)
    return True


async def send_stream(wire: Wire, chunks: list[dict[str, Any]], rule: Rule) -> bool:
    """Server-sent events; transport faults strike half way through."""
    fault, middle = rule.get("fault", ""), max(1, len(chunks) // 2)
    await wire.head(200, "text/event-stream", Transfer_Encoding="chunked")
    for i, chunk in enumerate(chunks):
        if i == middle and fault in ("reset", "stall", "short_body"):
            await wire.break_off(fault, rule.get("seconds", 30.0))
            return False
        if i == middle and fault in ("truncated_json", "no_done"):  # a polite end, too early
            if fault == "truncated_json":
                await wire.event(dump(chunk)[:-40])
            break
        await wire.event(dump(chunk))
        await asyncio.sleep(rule.get("interval", 0.2) if fault == "drip" else 0)
    else:
        await wire.event("[DONE]")
    await wire.write(b"0\r\n\r\n")
    return True
