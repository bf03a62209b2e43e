"""Retries for calls of any model: one deadline around all attempts, a circuit breaker, a limit on concurrent calls.

The retries of client libraries are not enough. Their timeout is per read, so a server that drips data never times out,
and three attempts of ten minutes took half an hour when measured. Here one deadline covers everything.
"""

from __future__ import annotations

import asyncio
import math
import random
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from itertools import count
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from memscope.errors import InputError, ModelError, ModelRateLimited, ModelTimeout, ModelUnavailable
from memscope.imports import hold_across_forks
from memscope.models.endpoint import Endpoint

T = TypeVar("T")
MAX_PAUSE_S = 8.0

_lock = threading.RLock()  # for the event loops of all threads
hold_across_forks(_lock)


class PerLoop(Generic[T]):
    """One ``T`` per event loop, created on first use, for connections and semaphores, which are bound to a loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        loop = asyncio.get_running_loop()
        with _lock:
            if loop not in self._values:
                for old in [old for old in self._values if old.is_closed()]:
                    del self._values[old]  # its value refers to the loop, so the weak key never expires
                self._values[loop] = self._make()
            return self._values[loop]

    def here(self, *, keep: bool = True) -> T | None:
        """Return the entry of the running event loop, None if it has none. Without ``keep``, remove it."""
        with _lock:
            return (self._values.get if keep else self._values.pop)(asyncio.get_running_loop(), None)

    def take(self) -> list[tuple[asyncio.AbstractEventLoop, T]]:
        with _lock:
            taken = list(self._values.items())
            self._values.clear()
        return taken


class Breaker:
    """Circuit breaker: opens for ``seconds`` after ``failures`` failed calls in a row, then lets one call through."""

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.failures, self.seconds = failures, seconds
        self._clock = clock
        self._failed_in_row = 0
        self._open_until = 0.0

    def check(self) -> None:
        """Raise ``ModelUnavailable`` while the breaker is open."""
        with _lock:
            wait = self._open_until - self._clock()
            if wait <= 0 and self._failed_in_row >= self.failures:
                self._open_until = self._clock() + self.seconds
        if wait > 0:
            message = f"not asked, since the last {self.failures} calls or more failed"
            raise ModelUnavailable(message, hint=f"next try in {wait:.0f} s", retry_after=wait)

    def record(self, well: bool) -> None:
        with _lock:
            self._failed_in_row = 0 if well else self._failed_in_row + 1
            if well:
                self._open_until = 0.0
            elif self._failed_in_row >= self.failures:
                self._open_until = self._clock() + self.seconds


class Deadline:
    """Remaining seconds to wait. The time that a consumer spends between items of a stream does not count."""

    def __init__(self, seconds: float) -> None:
        if isinstance(seconds, bool) or not 0 < seconds < math.inf:
            raise InputError(f"deadline_s must be a number above 0, got {seconds!r}")
        self.seconds = self.left = float(seconds)

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[None]:
        began, expired = time.monotonic(), False
        try:
            async with asyncio.timeout(max(0.0, self.left)) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            expired = True
        finally:
            self.left -= time.monotonic() - began
        if expired:  # raised outside the except clause, so that the error has no context
            raise ModelTimeout(f"no answer within {self.seconds:g} s", hint="try again, or raise deadline_s")

    async def iterate(self, items: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Yield the items, waiting for each no longer than the remaining time."""
        async with aclosing(items):
            while True:
                async with self():
                    try:
                        item = await anext(items)
                    except StopAsyncIteration:
                        return
                yield item


class Caller:
    """Calls one endpoint with retries. ``work`` sends one request and may run several times."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.breaker = Breaker(endpoint.breaker_failures, endpoint.breaker_s)
        self._slots = PerLoop(lambda: asyncio.Semaphore(endpoint.concurrency))

    async def call(self, work: Callable[[], Awaitable[T]], deadline_s: float | None = None) -> T:
        """Run ``work()``, retrying temporary errors. Raise ``ModelTimeout`` at the deadline, else the last error."""

        async def once() -> AsyncGenerator[T]:
            yield await work()

        (reply,) = [reply async for reply in self.stream(once, deadline_s)]
        return reply

    def _pause(self, attempt: int, error: ModelError, left: float) -> float:
        """Return the seconds until the next attempt; raise ``error`` if no attempt or time is left.

        Exponential backoff with jitter, and never shorter than the server's ``Retry-After``.
        """
        max_pause = min(MAX_PAUSE_S, self.endpoint.first_pause_s * 2 ** (attempt - 1))
        pause = max(error.retry_after or 0.0, random.uniform(max_pause / 2, max_pause))
        if attempt >= self.endpoint.attempts or pause >= left:
            raise error
        return pause

    async def stream(self, work: Callable[[], AsyncGenerator[T]], deadline_s: float | None = None) -> AsyncGenerator[T]:
        """Yield the items of ``work()``. Retry only before the first item."""
        deadline = Deadline(self.endpoint.deadline_s if deadline_s is None else deadline_s)
        async with self._slot(deadline), self._watched():
            for attempt in count(1):
                started = False
                try:
                    async with aclosing(deadline.iterate(work())) as items:
                        async for item in items:
                            started = True
                            yield item
                    return
                except (ModelUnavailable, ModelRateLimited) as error:
                    if started:
                        raise
                    pause = self._pause(attempt, error, deadline.left)
                async with deadline():
                    await asyncio.sleep(pause)

    @asynccontextmanager
    async def _slot(self, deadline: Deadline) -> AsyncIterator[None]:
        slots = self._slots.get()
        async with deadline():
            await slots.acquire()
        try:
            yield
        finally:
            slots.release()

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        """Report the result to the breaker. Any reply proves the server reachable; rate limits count neither way."""
        self.breaker.check()
        try:
            yield
        except (ModelUnavailable, ModelTimeout):
            self.breaker.record(False)
            raise
        except ModelRateLimited:
            raise
        except ModelError:
            self.breaker.record(True)
            raise
        self.breaker.record(True)
