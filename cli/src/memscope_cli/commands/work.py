"""Commands that run the back end, once (consolidate, reflect, reembed, unpark) or until stopped (worker)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial

import click

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError
from memscope.jobs.background import serve
from memscope.records import Scope, WorkReport
from memscope_cli.commands.formatting import show_work, summarize
from memscope_cli.commands.language import count_nouns, say, say_sentence
from memscope_cli.commands.options import Call, command, exit_partly, require_store, resumable
from memscope_cli.commands.output import Display, pad, print_error, visible

preview_option = click.option("--preview", is_flag=True, help="Show what one batch would give; write nothing.")


@command("consolidate", short_help="Extract facts from pending turns.")
@preview_option
def consolidate(call: Call, preview: bool) -> None:
    """Extract facts from the pending turns of one user (--user) or of all."""
    _report(call, call.open().consolidate(user=call.user, preview=preview))


@command("reflect", short_help="Update a user's insights.")
@preview_option
def reflect(call: Call, preview: bool) -> None:
    """Consolidate a user's pending turns, then update the insights."""
    user = call.owner["user"]
    _report(call, call.open().reflect(user=user, preview=preview))


def _report(call: Call, report: WorkReport) -> None:
    show_work(call.show, report)
    if report.model == "none":
        print_error(say("memscope: there is no chat model; set chat in the settings (docs/models.md)"))
        if report.pending:
            exit_partly()
    if report.reason:
        exit_partly(say_sentence(report.reason))
    if report.errors:
        exit_partly(say("the rest stays pending; 'memscope doctor' shows how to fix it"))


@command("reembed", short_help="Recompute all vectors.")
def reembed(call: Call) -> None:
    """Recompute all vectors with the embedding model of the settings; the old ones stay in use until all are done.

    Ctrl-C stops it; the same command resumes it.
    """
    with call.memory() as memory, resumable(call, "embedding") as progress:
        number = memory.admin.reembed(progress=progress)
        parked = memory.admin.status()["parked"]["embed"]
    call.show.report({"embedded": number, "parked": parked}, say("{units} embedded", units=count_nouns(number, "unit")))
    if parked:
        refused = say("the model refused {units}, found by words alone", units=count_nouns(parked, "unit"))
        exit_partly(refused)


@command("unpark", short_help="Retry work that failed too often.")
def unpark(call: Call) -> None:
    """Retry batches that failed too often, of one user (--user) or of all."""
    number = call.open().admin.unpark(user=call.user)
    batches = count_nouns(number, "batch", "batches")
    call.show.report({"unparked": number}, say("{batches} pending again", batches=batches))


# --------------------------------------------------------------------------------------------------------------- worker


@command("worker", short_help="Consolidate, reflect and embed for all users.")
@click.option("--drain", "drain_s", type=click.FloatRange(min=0), default=5.0, show_default=True,
              help="Seconds to finish running work before the end.")  # fmt: skip
def worker(call: Call, drain_s: float) -> None:
    """Consolidate, reflect and embed for all users until SIGTERM or Ctrl-C. Any number of workers can run at once.

    Work that is unfinished at the end is given back and stays pending.
    """
    call.settings()  # reads files, which is not allowed inside the event loop
    require_store(call.location)
    asyncio.run(_run_worker(call, drain_s))


async def _run_worker(call: Call, drain_s: float) -> None:
    printer = ReportReceiver(partial(_print_report, call.show))
    memory = AsyncMemoryScope(call.store, settings=call.settings(), plugins=[printer])
    ctx = memory.admin.runtime.services
    if ctx.chat is None and ctx.embedder is None:
        raise ConfigError(say("there is no model to work with"), hint=say("set chat or embedding in the settings"))
    text = "working on {store}, all of it" if ctx.chat else "working on {store}, vectors only"
    async with memory:
        with stop_on_signal() as stop, memory.admin.runtime.counting("worker"):
            call.show.line(say(text, store=memory.admin.runtime.location))
            await serve(ctx, memory.admin.runtime.stage_jobs(), stop, drain_s=drain_s)
    call.show.line(say("stopped"))


class ReportReceiver:
    """A plugin that passes the report of each batch to a callback."""

    def __init__(self, receive: Callable[[WorkReport, Scope], None]) -> None:
        self._receive = receive

    def memscope_after_consolidate(self, report: WorkReport, scope: Scope) -> None:
        self._receive(report, scope)

    def memscope_after_reflect(self, report: WorkReport, scope: Scope) -> None:
        self._receive(report, scope)


def _print_report(show: Display, report: WorkReport, scope: Scope) -> None:
    words = f"{visible(scope.user)}: {summarize(report)}"
    show.report({"user": scope.user, **asdict(report)}, (pad(say(report.operation), 12), "cyan"), words)


@contextmanager
def stop_on_signal() -> Iterator[asyncio.Event]:
    """Yield an event that the first SIGTERM or SIGINT sets. A second signal has its usual effect."""
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
