"""``AdapterSuite`` with the framework's own client for its model, which asks the script over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from memscope_testing import AdapterSuite
from memscope_testing.scripted import ScriptedModel

from servers.faults import FaultServer, Script
from servers.faults.replies import Reply, text_of
from servers.faults.wire import BadRequest

ROLES = {"developer": "system"}


class ServedScript(Script):
    """Answers as ``script`` does, asked in ``loop``; without one in the server's thread, if it never waits.

    Replies that are no text are tool calls: ``{"name": ..., "arguments": {...}}``.
    """

    def __init__(self, script: ScriptedModel, loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__()
        self.script, self.loop = script, loop
        self.bodies: list[dict[str, Any]] = []

    def answer(self, body: dict[str, Any]) -> Reply | None:
        self.bodies.append(body)
        messages = [(ROLES.get(one["role"], one["role"]), text_of(one.get("content"))) for one in body["messages"]]
        try:
            reply = self._ask(messages)
        except Exception as error:
            raise BadRequest(str(error)) from error
        return Reply(reply) if isinstance(reply, str) else Reply(None, [reply], "tool_calls")

    def _ask(self, messages: list[tuple[str, str]]) -> Any:
        if self.loop is not None:
            return asyncio.run_coroutine_threadsafe(self.script.answer(messages), self.loop).result()
        try:
            self.script.answer(messages).send(None)
        except StopIteration as done:
            return done.value
        raise RuntimeError("a script without a loop never waits")


def serve_for_good(script: ScriptedModel) -> str:
    """The address of a server that lives as long as the process, for agents that are run in several loops."""
    return FaultServer(script=ServedScript(script)).__enter__().base_url


class ServedSuite(AdapterSuite):
    """``serve`` gives the address for a script, ``close_later`` what is to be awaited when the test has ended."""

    @pytest.fixture(autouse=True)
    async def _open(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as self._stack:
            yield

    def serve(self, script: ScriptedModel) -> str:
        server = FaultServer(script=ServedScript(script, asyncio.get_running_loop()))
        return self._stack.enter_context(server).base_url

    def close_later(self, close: Callable[[], Awaitable[Any]]) -> None:
        self._stack.push_async_callback(close)
