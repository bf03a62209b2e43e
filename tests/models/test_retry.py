"""One deadline, retries that are worth it, a breaker, a limit: without any HTTP."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from memscope.errors import (
    InputError,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelReplyError,
    ModelTimeout,
    ModelUnavailable,
)
from memscope.models import Usage, count
from memscope.models.endpoint import Endpoint
from memscope.models.retry import Breaker, Caller, Deadline, PerLoop


def caller(**limits: Any) -> Caller:
    return Caller(Endpoint(model="m", base_url="http://h/v1", **{"first_pause_s": 0.001, **limits}))


class Work:
    """Fails as told, then gives "done"; counts how often it was run and how many at once."""

    def __init__(self, *errors: ModelError) -> None:
        self.errors, self.runs, self.now, self.most = list(errors), 0, 0, 0

    async def __call__(self) -> str:
        self.runs += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0.001)
            if self.errors:
                raise self.errors.pop(0)
        finally:
            self.now -= 1
        return "done"


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.mark.parametrize("kind", [ModelUnavailable, ModelRateLimited])
async def test_tries_again_where_that_may_help(kind: type[ModelError]) -> None:
    work = Work(kind("a"), kind("b"))
    assert await caller(attempts=3).call(work) == "done"
    assert work.runs == 3


@pytest.mark.parametrize("kind", [ModelAuthError, ModelRejected, ModelReplyError, InputError])
async def test_does_not_repeat_what_stays_wrong(kind: type[ModelError]) -> None:
    work = Work(kind("a"))
    with pytest.raises(kind):
        await caller().call(work)
    assert work.runs == 1


async def test_gives_up_after_the_attempts_with_the_last_error() -> None:
    work = Work(*[ModelUnavailable(str(n)) for n in range(9)])
    with pytest.raises(ModelUnavailable, match="2"):
        await caller(attempts=3).call(work)
    assert work.runs == 3


async def test_never_comes_back_sooner_than_asked() -> None:
    work, began = Work(ModelRateLimited("later", retry_after=0.2)), time.monotonic()
    assert await caller().call(work) == "done"
    assert time.monotonic() - began >= 0.2


async def test_does_not_wait_for_what_the_deadline_forbids() -> None:
    work = Work(ModelRateLimited("later", retry_after=3600))
    with pytest.raises(ModelRateLimited) as caught:
        await caller().call(work, deadline_s=5)
    assert (work.runs, caught.value.retry_after) == (1, 3600)


async def test_the_deadline_is_around_everything() -> None:
    with pytest.raises(ModelTimeout, match=r"within 0\.05 s"):
        await caller().call(forever, deadline_s=0.05)


async def test_the_deadline_counts_while_waiting_for_a_place() -> None:
    one = caller(concurrency=1)
    busy = asyncio.create_task(one.call(forever, deadline_s=30))
    await asyncio.sleep(0)
    with pytest.raises(ModelTimeout):
        await one.call(Work(), deadline_s=0.05)
    busy.cancel()
    await asyncio.gather(busy, return_exceptions=True)
    assert await one.call(Work()) == "done", "a cancelled call gives its place back"


async def test_cancellation_is_not_mistaken_for_the_deadline() -> None:
    task = asyncio.create_task(caller().call(forever, deadline_s=30))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True])
async def test_a_deadline_is_a_number_above_0(seconds: float) -> None:
    with pytest.raises(InputError, match="deadline_s"):
        await caller().call(Work(), deadline_s=seconds)


async def test_only_so_many_at_once() -> None:
    work, limited = Work(), caller(concurrency=3)
    await asyncio.gather(*(limited.call(work) for _ in range(20)))
    assert (work.runs, work.most) == (20, 3)


# -------------------------------------------------------------------------------------------------------------- breaker


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_breaker_lets_one_through_after_a_while() -> None:
    clock = Clock()
    breaker = Breaker(2, 30, clock)
    for _ in range(2):
        breaker.check()
        breaker.record(False)
    with pytest.raises(ModelUnavailable) as caught:
        breaker.check()
    assert caught.value.retry_after == pytest.approx(30)
    clock.now += 31
    breaker.check()
    with pytest.raises(ModelUnavailable):
        breaker.check()  # one is on its way: the others wait for what it brings
    breaker.record(True)
    breaker.check()


def test_a_probe_that_fails_keeps_the_breaker_open() -> None:
    clock = Clock()
    breaker = Breaker(1, 30, clock)
    breaker.record(False)
    clock.now += 31
    breaker.check()
    breaker.record(False)
    with pytest.raises(ModelUnavailable):
        breaker.check()


async def test_calls_open_the_breaker_and_answers_of_any_kind_close_it() -> None:
    one = caller(attempts=1, breaker_failures=2)
    for error in (ModelUnavailable("a"), ModelReplyError("b"), ModelUnavailable("c")):
        with pytest.raises(ModelError):
            await one.call(Work(error))
    assert await one.call(Work()) == "done"
    for _ in range(2):
        with pytest.raises(ModelTimeout):
            await one.call(forever, deadline_s=0.01)
    work = Work()
    with pytest.raises(ModelUnavailable):
        await one.call(work)
    assert work.runs == 0


async def test_too_many_requests_do_not_open_the_breaker() -> None:
    one = caller(attempts=1, breaker_failures=1)
    for _ in range(3):
        with pytest.raises(ModelRateLimited):
            await one.call(Work(ModelRateLimited("slowly")))


# -------------------------------------------------------------------------------------------------------------- streams


def stream_of(*items: str | ModelError) -> Callable[[], AsyncIterator[str]]:
    async def give() -> AsyncIterator[str]:
        for item in items:
            if isinstance(item, ModelError):
                raise item
            yield item

    return give


async def test_a_stream_is_repeated_only_as_long_as_it_gave_nothing() -> None:
    attempts = iter([stream_of(ModelUnavailable("a")), stream_of("x", "y")])
    assert [item async for item in caller().stream(lambda: next(attempts)())] == ["x", "y"]
    broken = stream_of("x", ModelUnavailable("b"))
    got = []
    with pytest.raises(ModelUnavailable, match="b"):
        async for item in caller().stream(broken):
            got.append(item)
    assert got == ["x"]


async def test_a_slow_reader_does_not_use_up_the_deadline() -> None:
    got = []
    async for item in caller().stream(stream_of("x", "y", "z"), deadline_s=0.5):
        got.append(item)
        await asyncio.sleep(0.3)
    assert got == ["x", "y", "z"]


async def test_a_slow_stream_does() -> None:
    async def drip() -> AsyncIterator[str]:
        while True:
            await asyncio.sleep(0.02)
            yield "x"

    with pytest.raises(ModelTimeout):
        async for _ in caller().stream(drip, deadline_s=0.1):
            pass


async def test_leaving_a_stream_frees_its_place_and_its_source() -> None:
    closed = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        try:
            while True:
                yield "x"
        finally:
            closed.set()

    one = caller(concurrency=1)
    stream = one.stream(source)
    assert await anext(stream) == "x"
    await stream.aclose()
    assert closed.is_set()
    assert await one.call(Work(), deadline_s=60) == "done"


async def test_a_deadline_that_was_used_up_stays_used_up() -> None:
    deadline = Deadline(0.01)
    for _ in range(2):
        with pytest.raises(ModelTimeout):
            async with deadline():
                await asyncio.sleep(1)


# ------------------------------------------------------------------------------------------------------ loops and usage


def test_one_caller_serves_several_event_loops() -> None:
    one, results = caller(concurrency=1), []

    async def several() -> None:
        results.extend(await asyncio.gather(*(one.call(Work()) for _ in range(3))))

    threads = [threading.Thread(target=asyncio.run, args=(several(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["done"] * 12


def test_what_belongs_to_a_closed_loop_is_dropped() -> None:
    made: PerLoop[asyncio.Semaphore] = PerLoop(lambda: asyncio.Semaphore(1))

    async def use() -> None:
        made.get()

    for _ in range(5):
        asyncio.run(use())
    gc.collect()
    assert len(made.take()) <= 1


async def test_usage_counts_what_is_asked_within_the_block_and_its_tasks() -> None:
    async def asked() -> None:
        count(Usage(calls=1, prompt_characters=10, milliseconds=0.5))

    outer, inner = Usage(), Usage()
    with outer.counting():
        await asked()
        with inner.counting():
            await asyncio.gather(asked(), asyncio.create_task(asked()))
    await asked()
    assert (inner.calls, outer.calls) == (2, 3)
    assert outer == Usage(calls=3, prompt_characters=30, milliseconds=1.5)
