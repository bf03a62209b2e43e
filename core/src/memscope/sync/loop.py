"""A private event loop in its own thread, on which ``MemoryScope`` runs the async operations.

Blocking calls therefore work in plain programs, inside a running loop and in notebooks. Only a call from the private
loop itself, such as from a plugin's async hook, would deadlock and raises instead.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from memscope.errors import ClosedError

R = TypeVar("R")
CANCELLING_S = 5.0


class LoopThread:
    """An event loop in a daemon thread, recreated after a fork because threads do not survive it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parents: list[asyncio.AbstractEventLoop] = []  # referenced so that their pending tasks do not warn
        self._pid = 0
        self._unlock()
        if hasattr(os, "register_at_fork"):  # the thread that held the lock may not exist in the child
            os.register_at_fork(after_in_child=self._unlock)

    def _unlock(self) -> None:
        self._lock = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._parents += [self._loop] if self._loop else []
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=_serve, args=[self._loop], name="memscope", daemon=True).start()
            return self._loop

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        if sys.is_finalizing():  # daemon threads have ended, so a call would wait forever
            work.close()
            raise ClosedError("the program has ended", hint="use memory before, at the latest in an atexit function")
        loop = self.loop()
        if _running() is loop:
            work.close()
            raise ClosedError("MemoryScope was called from its own loop", hint="use AsyncMemoryScope there, with await")
        ended = threading.Event()
        future = asyncio.run_coroutine_threadsafe(_noting_end(work, ended), loop)
        try:
            return future.result()
        except RuntimeError as error:
            if threading.main_thread().is_alive():
                raise
            hint = "join the threads that use memory before the main thread ends"
            raise ClosedError("the main thread has ended, and Python starts no more work", hint=hint) from error
        except BaseException:
            future.cancel()
            ended.wait(CANCELLING_S)  # after Ctrl-C: work gives back its claim before the memory is closed
            raise


async def _noting_end(work: Coroutine[Any, Any, R], ended: threading.Event) -> R:
    try:
        return await work
    finally:
        ended.set()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop forever. A ``SystemExit`` in a task is for its caller; it ends the loop, which goes on here."""
    while True:
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


loop_thread = LoopThread()
run = loop_thread.run  # runs a coroutine on the private loop and waits for its result
