"""Run the stages in the background: ``serve`` in a worker process, ``Background`` inside the caller's process."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import Any
from weakref import WeakValueDictionary

from memscope.errors import MemscopeError
from memscope.jobs.embedding import embed_all
from memscope.jobs.pace import FEW_TURNS_WAIT_FACTOR, Poller, are_few, due_in_s, leftover_due_in_s
from memscope.jobs.runner import Delay, JobResult, StageJob, place_of, process_is_ending, results_of
from memscope.services import Services

log = logging.getLogger("memscope")
MAX_SEEN_USERS = 100_000

# ----------------------------------------------------------------------------------------------------- a worker process


async def serve(ctx: Services, stage_jobs: Sequence[StageJob], stop: asyncio.Event, *, drain_s: float = 5.0) -> None:
    """Work for all users until ``stop`` is set; running jobs then get ``drain_s`` seconds before they are released.

    A user's turns wait until a batch is full or no turn has come for ``idle_s`` (``jobs/pace.py``).
    """
    logged: set[str] = set()
    poller = Poller(ctx, stage_jobs)
    while not stop.is_set():
        await _until_stopped(stop, _poll(ctx, poller, logged), drain_s)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), ctx.settings.poll_s)


async def _poll(ctx: Services, poller: Poller, logged: set[str]) -> None:
    """Consolidate and embed independently, so that a failing embedder does not stop consolidation."""
    codes: list[str] = []
    try:
        await embed_all(ctx)
    except MemscopeError as error:
        codes.append(error.code)
    try:
        if ctx.chat is not None:
            codes += [result.code for result in await poller.work() if result.code]
            codes += (await ctx.store.stats()).errors  # error codes of failed and parked work
    except MemscopeError as error:
        codes.append(error.code)
    log_new_codes(logged, codes)


def log_new_codes(logged: set[str], codes: Sequence[str]) -> None:
    """Log each error code once until it disappears, so that failures are noticed without flooding the log."""
    for code in set(codes) - logged:
        log.warning("work is waiting: %s (memscope status shows what is pending)", code)
    logged.clear()
    logged.update(codes)


async def _until_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, None], drain_s: float) -> None:
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
    """New turns of a user: how many, until when to wait for more, and since when the first waits."""

    turns: int
    until: float
    since: float


class Background:
    """Consolidate a user when a batch is full or no turn has come for ``idle_s``, then reflect on due facts.

    Every ``poll_s`` it looks for failed work and work of other processes: of all users (``admin.start()``), or of users
    that this process read or wrote; their leftover work is also done when they are first seen. ``after`` is called
    every ``poll_s`` and after new memories. Belongs to one event loop of one process.
    """

    def __init__(
        self, ctx: Services, consolidate: StageJob, reflect: StageJob, *, everyone: bool = True,
        after: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self.everyone = everyone
        self._ctx = ctx
        self._after = after
        self._consolidate, self._reflect = consolidate, reflect
        self._poller = Poller(ctx, (consolidate, reflect))
        self._seen: set[str] = set()
        self._new_users: set[str] = set()  # new users since the last sweep
        self._unfinished: set[str] = set()  # with work left: failed, not due, or held by another process
        self._due_at: dict[str, float] = {}  # when the remaining work of a user is due (time.monotonic)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._waiting: dict[str, Waiting] = {}
        self._timetable: list[tuple[float, str]] = []  # a heap of when users are due, with entries that no longer hold
        self._new_turns = asyncio.Event()
        self._slots = asyncio.Semaphore(ctx.settings.concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.Task[None] | None = None
        self._pid = os.getpid()
        self._logged_codes: set[str] = set()

    def start(self) -> None:
        """Start the background; does nothing if it is running."""
        if self._loop is None:
            self._loop = asyncio.create_task(self._run(), name="memscope-background")

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    def is_usable(self) -> bool:
        """False in a forked child, and after the event loop has ended."""
        loop = self._loop
        return self._pid == os.getpid() and not (loop and (loop.done() or loop.get_loop().is_closed()))

    def turns_added(self, user: str, turns: int) -> None:
        before = self._waiting[user].turns if user in self._waiting else 0
        self._wait_for(user, before + turns)

    def user_seen(self, user: str) -> None:
        """Note a user who was read or written; work left by earlier processes is then due."""
        if user not in self._seen and user not in self._waiting:
            self._wait_for(user, 0)

    def _wait_for(self, user: str, turns: int) -> None:
        if len(self._seen) >= MAX_SEEN_USERS:
            self._seen.clear()
        if user not in self._seen:
            self._new_users.add(user)
        self._seen.add(user)
        now, before = time.monotonic(), self._waiting.get(user)
        since = before.since if before and before.turns else now
        self._put(user, Waiting(turns, now + self._ctx.settings.idle_s, since))
        self._new_turns.set()

    def _put(self, user: str, waiting: Waiting) -> None:
        self._waiting[user] = waiting
        heappush(self._timetable, (self._due(waiting), user))

    async def stop(self, drain_s: float = 5.0) -> None:
        """Stop. Running jobs get ``drain_s`` seconds; then their claims are released and stay pending."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)
            self._loop = None
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=drain_s)
        finally:  # also when the caller is cancelled
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        sweep = time.monotonic()
        while True:
            now = time.monotonic()
            while self._new_users:
                self._spawn(partial(self._work, self._new_users.pop(), leftover_due_in_s))
            while self._timetable and self._timetable[0][0] <= now:
                _, user = heappop(self._timetable)
                waiting = self._waiting.get(user)
                if waiting is None or self._due(waiting) > now:  # more turns came, with an entry of their own
                    continue
                del self._waiting[user]
                if waiting.until > now:  # one batch is full; the rest begins the next
                    self._put(user, Waiting(waiting.turns - self._consolidate.limit, waiting.until, now))
                self._spawn(partial(self._work, user, due_in_s if waiting.until > now else None))
            if sweep <= now:
                self._spawn(self._sweep)
                sweep = now + self._ctx.settings.poll_s
            next_due = self._timetable[0][0] if self._timetable else sweep
            await self._wait(min(sweep, next_due) - now)

    def _due(self, waiting: Waiting) -> float:
        """Compute when to work: at once for a full batch, after a pause for at least half of one, later for less."""
        limit = self._consolidate.limit
        if waiting.turns >= limit:
            return 0.0
        if waiting.turns and are_few(waiting.turns, limit):
            return max(waiting.until, waiting.since + FEW_TURNS_WAIT_FACTOR * self._ctx.settings.idle_s)
        return waiting.until

    async def _wait(self, seconds: float) -> None:
        self._new_turns.clear()
        with suppress(TimeoutError):  # wait_for of Python 3.11 can swallow a cancellation
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._new_turns.wait()

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(_unless_ending(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, user: str, delay: Delay | None) -> None:
        """Consolidate, then reflect. ``delay``: how long turns wait, None for not at all; facts follow ``due_in_s``."""
        lock = self._locks.setdefault(user, asyncio.Lock())  # the weak dictionary keeps it while it is in use
        async with lock, self._slots:
            results = await self._safely(self._consolidate, user, delay)
            results += await self._safely(self._reflect, user, due_in_s)
            await self._note_unfinished(user, results)

    async def _sweep(self) -> None:
        """Embed units without vectors, and work for users with due work."""
        self._after()
        if self.everyone and self._ctx.chat is not None:
            async with self._slots:
                with self._logging_errors() as results:
                    results += await self._poller.work()
        now = time.monotonic()
        for user in sorted(self._unfinished):
            if self._due_at.get(user, 0.0) <= now and user not in self._locks:
                await self._work(user, due_in_s)

    async def _note_unfinished(self, user: str, results: Sequence[JobResult]) -> None:
        """Remember whether, and when, a sweep has to work for the user again."""
        delays = [result.due_in_s for result in results if result.due_in_s]
        if delays and not any(result.code for result in results):
            self._due_at[user] = time.monotonic() + min(delays)
        else:
            self._due_at.pop(user, None)
        with suppress(MemscopeError):
            stats = await self._ctx.store.stats(user)
            left = any(stats.pending[stage] + stats.failed[stage] for stage in ("consolidate", "reflect"))
            (self._unfinished.add if left else self._unfinished.discard)(user)

    async def _safely(self, job: StageJob, user: str, delay: Delay | None) -> list[JobResult]:
        if self._ctx.chat is None:
            return []
        with self._logging_errors() as results:
            results += await results_of(self._ctx, job, user, delay=delay)
        return results

    @contextmanager
    def _logging_errors(self) -> Iterator[list[JobResult]]:
        """Log errors of the enclosed work, and call ``after`` if it made progress."""
        results: list[JobResult] = []
        try:
            yield results
            log_new_codes(self._logged_codes, [result.code for result in results if result.code])
        except MemscopeError as error:
            log_new_codes(self._logged_codes, [error.code])
        if any(result.moved for result in results):
            self._after()


async def _unless_ending(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run the work; log an unexpected error, without its message, unless the process is shutting down."""
    try:
        await work()
    except Exception as error:
        if not process_is_ending():
            log.error("the background failed: %s", place_of(error))
