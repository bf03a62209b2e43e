"""Commands that run until they are stopped: worker, mcp."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from memscope import AsyncMemoryScope
from memscope.adapters.memory_tools import ToolSet
from memscope.commands.formatting import summarize
from memscope.commands.options import Call, command, pass_call, require_store
from memscope.commands.output import Display, visible
from memscope.errors import ConfigError
from memscope.jobs.background import serve
from memscope.records import Scope, WorkReport


@command("worker", short_help="Consolidate, reflect and embed for all users.")
@click.option("--drain", "drain_s", type=click.FloatRange(min=0), default=5.0, show_default=True,
              help="Seconds that work under way gets at the end.")  # fmt: skip
@pass_call
def worker(call: Call, drain_s: float) -> None:
    """Consolidate, reflect and embed for all users until SIGTERM or Ctrl-C; run as many of these as you like.

    Work that is not done by then is given back and stays pending.
    """
    call.settings()  # reads files, which a loop forbids
    require_store(call.location)
    asyncio.run(run_worker(call, drain_s))


async def run_worker(call: Call, drain_s: float) -> None:
    memory = AsyncMemoryScope(call.store, settings=call.settings(), plugins=[ReportPrinter(call.show)])
    ctx = memory.runtime.ctx
    if ctx.chat is None and ctx.embedder is None:
        raise ConfigError("there is no model to work with", hint="set chat or embedding in the settings")
    async with memory:
        with stop_on_signal() as stop, memory.runtime.counting("worker"):
            call.show.line(f"working on {memory.runtime.location}, {'all of it' if ctx.chat else 'vectors only'}")
            await serve(ctx, memory.runtime.stage_jobs(), stop, drain_s=drain_s)
    call.show.line("stopped")


class ReportPrinter:
    """A plugin that prints the report of each batch."""

    def __init__(self, show: Display) -> None:
        self._show = show

    def memscope_after_consolidate(self, report: WorkReport, scope: Scope) -> None:
        self._print(report, scope)

    def memscope_after_reflect(self, report: WorkReport, scope: Scope) -> None:
        self._print(report, scope)

    def _print(self, report: WorkReport, scope: Scope) -> None:
        self._show.data({"user": scope.user, **asdict(report)})
        self._show.line((f"{report.operation:<12}", "cyan"), f"{visible(scope.user)}: {summarize(report)}")


@contextmanager
def stop_on_signal() -> Iterator[asyncio.Event]:
    """Yields an event that the first SIGTERM or SIGINT sets; the second ends the process as usual."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def on_signal(number: int, frame: object) -> None:
        signal.signal(number, before[signal.Signals(number)])
        loop.call_soon_threadsafe(stop.set)

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@command("mcp", short_help="Serve memory as MCP tools over stdio.")
@click.option(
    "--tools", type=click.Choice(["core", "archival", "all"]), help="More tools: for core memory, or archival."
)
@pass_call
def mcp(call: Call, tools: ToolSet | None) -> None:
    """Serve one user's memory to an MCP client over stdio, as five tools, and more with --tools.

    The user is --user (or MEMSCOPE_USER), never anything a model says. Needs the extra mcp.
    """
    call.settings()
    if call.store is not None:  # a place that was named may be misspelt
        require_store(call.store)
    asyncio.run(run_mcp(call, tools))


async def run_mcp(call: Call, tools: ToolSet | None = None) -> None:
    from memscope.adapters.mcp import server
    from memscope.adapters.session import MemorySession

    scope = call.scope
    async with AsyncMemoryScope(call.store, settings=call.settings()) as memory:
        made = server(MemorySession(**scope, memory=memory), tools)
        memory.runtime.work.work_by_itself()
        memory.runtime.work.work_for(scope["user"])
        await made.run_stdio_async()
