"""Models of the fault server, closed after the test, and a server that says one thing whatever it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from memscope.models.clients import OpenAIChat, OpenAIEmbedder, OpenAIReranker
from memscope.models.endpoint import Endpoint

from servers.faults import FaultServer, Plan, Script

KINDS = {"chat": OpenAIChat, "embed": OpenAIEmbedder, "rerank": OpenAIReranker}
QUICK = {"model": "test-model", "deadline_s": 60.0, "first_pause_s": 0.01}


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Any]]:
    """``connect(kind, base_url, **settings)``: a model, closed at the end of the test."""
    async with AsyncExitStack() as stack:

        def make(kind: str, base_url: str, **settings: Any) -> Any:
            model = KINDS[kind](Endpoint(base_url=base_url, **{**QUICK, **settings}))
            stack.push_async_callback(model.close)
            return model

        yield make


def setup(server: FaultServer, *faults: dict[str, Any], script: Any = None) -> None:
    """Let ``server`` begin again with these faults and replies."""
    server.plan, server.script = Plan(list(faults), server.seed, server.draw), Script(script)
    server.reset()


@asynccontextmanager
async def saying(answer: str | bytes, status: str = "200 OK", **headers: str) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server whose every answer is the same: its base_url, and the requests it got."""
    seen: list[bytes] = []
    body = answer.encode() if isinstance(answer, str) else answer
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [
        f"{name.replace('_', '-')}: {value}" for name, value in {"Content_Type": "application/json", **headers}.items()
    ]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        seen.append(head + await reader.readexactly(length))
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", seen
