"""Stalls of the event loop: it computed for 100 ms without a pause. On a busy machine it is late without a fault."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TICK_S, STALL_S = 0.01, 0.1


@dataclass
class Stalls:
    """``report`` gets the milliseconds of each stall and the lines it was seen at; ``late`` is the longest delay."""

    report: Callable[[int, list[str]], object] = lambda ms, seen: None
    number: int = 0
    late: float = 0.0
    ticked: float = field(default_factory=time.monotonic)
    seen: list[str] = field(default_factory=list)
    loop_thread: int = field(default_factory=threading.get_ident)

    async def tick(self) -> None:
        threading.Thread(target=self._look, daemon=True).start()
        while True:
            used, self.ticked = time.thread_time(), time.monotonic()
            await asyncio.sleep(TICK_S)
            self.late = max(self.late, time.monotonic() - self.ticked - TICK_S)
            if (spent := time.thread_time() - used) > STALL_S:
                self.number += 1
                self.report(round(spent * 1000), self.seen)

    def _look(self) -> None:
        """Keep where the loop's thread is while it is late."""
        while True:
            time.sleep(TICK_S)
            if time.monotonic() - self.ticked > STALL_S / 2 and self.loop_thread in (known := sys._current_frames()):
                stack = traceback.extract_stack(known[self.loop_thread])
                self.seen = [f"{Path(one.filename).name}:{one.lineno}" for one in stack[-8:]]


async def counted(work: Awaitable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the result of a benchmark with ``stalls`` of its event loop; where they were goes to stderr."""
    stalls = Stalls(lambda ms, seen: print(f"stall of {ms} ms at {seen}", file=sys.stderr))
    ticking = asyncio.create_task(stalls.tick())
    try:
        return {**await work, "stalls": stalls.number}
    finally:
        ticking.cancel()
