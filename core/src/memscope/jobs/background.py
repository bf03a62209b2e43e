"""Background execution of the stages: ``serve`` in a worker process, ``Background`` inside the caller's process."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from memscope.errors import MemscopeError
from memscope.jobs.embedding import embed_all
from memscope.jobs.runner import StageJob, process_is_ending, results_of, run_until_idle
from memscope.pipeline import WorkerContext

log = logging.getLogger("memscope")
MOST_USERS = 100_000  # that are remembered as seen

# ----------------------------------------------------------------------------------------------------- a worker process


async def serve(
    ctx: WorkerContext, stage_jobs: Sequence[StageJob], stop: asyncio.Event, *, drain_s: float = 5.0
) -> None:
    """Work for all users until ``stop`` is set; running jobs then get ``drain_s`` seconds, or are given back."""
    said: set[str] = set()
    while not stop.is_set():
        await _unless(stop, _round(ctx, stage_jobs, said), drain_s)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), ctx.settings.poll_s)


async def _round(ctx: WorkerContext, stage_jobs: Sequence[StageJob], said: set[str]) -> None:
    """Run each part separately: an embedder that is down keeps no fact from being consolidated."""
    codes: list[str] = []
    for job in (None, *stage_jobs):
        try:
            if job is None:
                await embed_all(ctx)
            else:
                codes += (await run_until_idle(ctx, job)).errors
        except MemscopeError as error:
            codes.append(error.code)
    log_new_codes(said, codes)


def log_new_codes(said: set[str], codes: Sequence[str]) -> None:
    """Log each code once until it is gone: a worker that cannot work must be noticed, a log must not be flooded."""
    for code in set(codes) - said:
        log.warning("work is waiting: %s (memscope status shows what is pending)", code)
    said.clear()
    said.update(codes)


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, None], drain_s: float) -> None:
    running, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({running}, timeout=drain_s)
        if running.done():
            running.result()
    finally:
        running.cancel()
        stopped.cancel()
        await asyncio.gather(running, stopped, return_exceptions=True)


# ------------------------------------------------------------------------------------------------------- in the process


@dataclass
class Waiting:
    """New turns of a user since the last job, and the time until which to wait for more."""

    turns: int
    until: float


class Background:
    """Consolidates a user when a batch is full or nothing came for ``idle_s``, then also reflects.

    Every ``poll_s`` it looks for what failed before or came from elsewhere: of all users (``memory.start()``), or only
    of those that this process read or wrote. ``after`` is called then, and when there are new memories. Belongs to one
    event loop of one process.
    """

    def __init__(
        self,
        ctx: WorkerContext,
        consolidate: StageJob,
        reflect: StageJob,
        *,
        everyone: bool = True,
        after: Callable[[], object] = lambda: None,
    ) -> None:
        self.everyone = everyone
        self._ctx = ctx
        self._after = after
        self._consolidate, self._reflect = consolidate, reflect
        self._seen: set[str] = set()
        self._left: set[str] = set()  # seen users whose work failed or was another process's
        self._waiting: dict[str, Waiting] = {}
        self._news = asyncio.Event()
        self._free = asyncio.Semaphore(ctx.settings.concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.Task[None] | None = None
        self._pid = os.getpid()
        self._said: set[str] = set()

    def start(self) -> None:
        """Start; harmless if it is running."""
        if self._loop is None:
            self._loop = asyncio.create_task(self._run(), name="memscope-background")

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    def is_usable(self) -> bool:
        """Returns False in a child of its process, and where it was started on an event loop that ended."""
        loop = self._loop
        return self._pid == os.getpid() and not (loop and (loop.done() or loop.get_loop().is_closed()))

    def turns_added(self, user: str, turns: int) -> None:
        before = self._waiting[user].turns if user in self._waiting else 0
        self._wait_for(user, before + turns)

    def user_seen(self, user: str) -> None:
        """Note a user who was read or written: what earlier processes left of theirs is done once nothing comes."""
        if user not in self._seen and user not in self._waiting:
            self._wait_for(user, 0)

    def _wait_for(self, user: str, turns: int) -> None:
        if len(self._seen) >= MOST_USERS:
            self._seen.clear()
        self._seen.add(user)
        self._waiting[user] = Waiting(turns, time.monotonic() + self._ctx.settings.idle_s)
        self._news.set()

    async def stop(self, drain_s: float = 5.0) -> None:
        """Stop. Running jobs get ``drain_s`` seconds; then they are given back and stay pending."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)
            self._loop = None
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=drain_s)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        sweep = time.monotonic()
        while True:
            now = time.monotonic()
            for user in [user for user, waiting in self._waiting.items() if self._is_due(waiting, now)]:
                self._spawn(partial(self._work, user, idle=self._waiting.pop(user).until <= now))
            if sweep <= now:
                self._spawn(self._sweep)
                sweep = now + self._ctx.settings.poll_s
            await self._wait(min([sweep, *(waiting.until for waiting in self._waiting.values())]) - now)

    def _is_due(self, waiting: Waiting, now: float) -> bool:
        return waiting.turns >= self._consolidate.limit or waiting.until <= now

    async def _wait(self, seconds: float) -> None:
        self._news.clear()
        with suppress(TimeoutError):  # wait_for of Python 3.11 can swallow a cancellation
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._news.wait()

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(_until_the_end(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, user: str, *, idle: bool) -> None:
        async with self._free:
            await self._safely(self._consolidate, user)
            if idle:
                await self._safely(self._reflect, user)
            await self._note_left(user)

    async def _sweep(self) -> None:
        """Work for users except active ones, whose batches still fill; then embed units without vectors."""
        self._after()
        for user in [None] if self.everyone else sorted(self._left - self._waiting.keys()):
            async with self._free:
                for job in (self._consolidate, self._reflect):
                    await self._safely(job, user)
                await self._note_left(user)

    async def _note_left(self, user: str | None) -> None:
        """Remember whether a sweep has to look at the user again."""
        if self.everyone or user is None:
            return
        with suppress(MemscopeError):
            stats = await self._ctx.store.stats(user)
            left = any(stats.pending[stage] + stats.failed[stage] for stage in ("consolidate", "reflect"))
            (self._left.add if left else self._left.discard)(user)

    async def _safely(self, job: StageJob, user: str | None) -> None:
        if self._ctx.chat is None:
            return
        try:
            results = await results_of(self._ctx, job, user, False, set() if user else set(self._waiting))
            log_new_codes(self._said, [result.code for result in results if result.code])
            if any(result.moved for result in results):
                self._after()
        except MemscopeError as error:
            log_new_codes(self._said, [error.code])


async def _until_the_end(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Ignore errors of a process that ends."""
    try:
        await work()
    except RuntimeError:
        if not process_is_ending():
            raise
