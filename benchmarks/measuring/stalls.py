"""Detect stalls of the event loop: steps of a task or callback that compute for 100 ms (asyncio's slow callbacks).

CPU time of the loop's thread is measured, since on a busy machine the loop is late through no fault of its own. The
limit scales with the speed of the core. ``busy`` counts passes of the loop whose steps took as long in total, because
many tasks were ready at once. Garbage collector pauses, which can hit any step, are counted separately.
"""

from __future__ import annotations

import asyncio
import faulthandler
import functools
import gc
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TICK_S, STALL_S = 0.01, 0.1
SAMPLE_S = 0.005  # CPU time of ``_sample`` on the machine for which 100 ms was chosen
FRAMES, PLACES = 12, 3
CALL = re.compile(r'^  File "(.*)", line (\d+) in', re.MULTILINE)


@functools.cache
def stall_s() -> float:
    """Return the CPU seconds that count as a stall on this machine."""
    return STALL_S * max(1.0, min(_sample() for _ in range(5)) / SAMPLE_S)


def _sample() -> float:
    began, lengths = time.thread_time(), dict[str, int]()
    for number in range(20_000):
        lengths[str(number)] = len(str(number)) + number % 7
    return time.thread_time() - began


@dataclass
class Stalls:
    """Detects stalls. ``report`` gets the milliseconds of each, and where the loop's thread was observed meanwhile.

    ``late`` is the longest delay of the loop in seconds, whatever its cause.
    """

    report: Callable[[int, list[str]], object] = lambda ms, seen: None
    number: int = 0
    busy: int = 0
    late: float = 0.0
    over: bool = False
    collected: float = 0.0  # seconds of garbage collection in this step
    longest_collection: float = 0.0
    ticked: float = field(default_factory=time.monotonic)
    seen: Counter[str] = field(default_factory=Counter)
    loop_thread: int = field(default_factory=threading.get_ident)

    async def tick(self) -> None:
        run, limit = asyncio.Handle._run, stall_s()
        self._time_steps(run, limit)
        threading.Thread(target=self._look, daemon=True).start()
        try:
            while True:
                used, self.ticked, self.seen = time.thread_time(), time.monotonic(), Counter()
                await asyncio.sleep(TICK_S)
                self.late = max(self.late, time.monotonic() - self.ticked - TICK_S)
                self.busy += time.thread_time() - used > limit
        finally:
            self.over = True
            asyncio.Handle._run = run  # type: ignore[method-assign]
            gc.callbacks.remove(self._collecting)

    def _time_steps(self, run: Callable[[asyncio.Handle], None], limit: float) -> None:
        def timed(handle: asyncio.Handle) -> None:
            self.collected, began = 0.0, time.thread_time()
            run(handle)
            spent = time.thread_time() - began - self.collected
            self.longest_collection = max(self.longest_collection, self.collected)
            if spent > limit and threading.get_ident() == self.loop_thread:
                self.number += 1
                seen = Counter(dict(list(self.seen.items())))  # an atomic copy, since the other thread may add entries
                places = [place for place, _ in seen.most_common(PLACES)]
                self.report(round(spent * 1000), [repr(handle), *places])

        asyncio.Handle._run = timed  # type: ignore[method-assign]
        gc.callbacks.append(self._collecting)

    def _collecting(self, phase: str, info: Mapping[str, int]) -> None:
        if threading.get_ident() == self.loop_thread:
            self.collected += time.thread_time() * (1 if phase == "stop" else -1)

    def _look(self) -> None:
        """Sample the position of the loop's thread while it computes."""
        while not self.over:
            time.sleep(TICK_S)
            if time.monotonic() - self.ticked > TICK_S:
                self.seen[_where(self.loop_thread)] += 1


def _where(thread: int) -> str:
    """Return the innermost calls of a thread, outermost first.

    Uses faulthandler, which reads all frames at once; following ``f_back`` of a running thread can crash Python 3.11.
    """
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        _, _, rest = file.read().partition(f"hread {thread:#018x} ")  # "Thread", or "Current thread"
    calls = CALL.findall(rest.partition("\n\n")[0])[:FRAMES]
    return " ".join(f"{Path(name).name}:{line}" for name, line in reversed(calls))


async def counted(work: Awaitable[Mapping[str, Any]]) -> dict[str, Any]:
    """Await a benchmark and add the number of ``stalls`` to its result. Print their positions to stderr."""
    stalls = Stalls(lambda ms, seen: print(f"stall of {ms} ms at {seen}", file=sys.stderr))
    ticking = asyncio.create_task(stalls.tick())
    try:
        return {**await work, "stalls": stalls.number}
    finally:
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
