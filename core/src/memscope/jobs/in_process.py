"""Background work of a memory inside its process: vectors at once, facts and insights when due.

``start()`` starts the background for all users; otherwise the first turn starts it for the users that this process
serves. It is started again after a fork, and on a new event loop once the old one has ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack
from contextvars import Context
from typing import TYPE_CHECKING

from memscope.errors import ClosedError
from memscope.jobs.embedding import Filler

if TYPE_CHECKING:
    from memscope.jobs.background import Background
    from memscope.jobs.runner import StageJob
    from memscope.services import Services

log = logging.getLogger("memscope")
_of_parents: list[object] = []  # a parent's tasks, which would warn if a child garbage-collected them


def check_loop() -> None:
    """Raise ``ClosedError`` in a forked child that continues a coroutine of its parent."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        hint = "after a fork, the child calls asyncio.run(...) with this memory, and leaves by os._exit"
        raise ClosedError("no event loop is running in this process", hint=hint) from None


class InProcessWork:
    """Embedding and background of one memory. ``automatic``: start the background for users read or written."""

    def __init__(
        self,
        ctx: Services,
        jobs: Callable[[], tuple[StageJob, StageJob]],
        counting: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._ctx, self._jobs, self._counting = ctx, jobs, counting
        self.filler = Filler()
        self.background: Background | None = None
        self.automatic = False
        self.ended = False  # the memory is closed: start nothing for an operation that is still under way
        self._announced = False
        self._pid = os.getpid()

    def wake(self, user: str = "", turns: int = 0) -> None:
        """Schedule embedding, and consolidation if ``turns`` of ``user`` were added."""
        if self.ended:
            return
        self._leave_parent()
        self.filler.wake(self._ctx)
        if turns and self.automatic:
            self.work_for(user, turns)
        elif turns and self.background is not None:
            self.background.turns_added(user, turns)

    def start(self) -> None:
        background = self._usable() or self._make()
        background.everyone = True
        background.start()

    def work_by_itself(self) -> None:
        """Become ``automatic`` if there is a chat model and the settings allow it."""
        self.automatic = self._ctx.settings.background and self._ctx.chat is not None
        if self.automatic:
            self._jobs()  # import before a server forks; report mistakes in the settings now

    def user_seen(self, user: str) -> None:
        """Note that a user was read, so that the background finishes work left by earlier runs."""
        if self.automatic and not self.ended:
            (self._usable() or self._make()).user_seen(user)

    def work_for(self, user: str, turns: int = 0) -> None:
        """Work in the background for ``user``, who has ``turns`` new turns, unless the settings forbid it."""
        background, ctx = self._usable(), self._ctx
        if self.ended or (background is None and not (ctx.settings.background and ctx.chat is not None)):
            return
        background = background or self._make()
        if not background.is_started:
            Context().run(self._begin, background)  # its costs are not charged to the current operation
        background.turns_added(user, turns)

    async def stop(self, drain_s: float) -> None:
        background, self.background = self._usable(), None
        if background is not None:
            await background.stop(drain_s)

    async def close(self, drain_s: float) -> None:
        """Stop, then close the store and the models; an error or a cancellation of one step skips none of the next."""
        self._leave_parent()
        ctx = self._ctx
        async with AsyncExitStack() as stack:  # called in reverse order
            for model in (ctx.chat, ctx.embedder, ctx.reranker):
                if close := getattr(model, "close", None):
                    stack.push_async_callback(close)
            stack.push_async_callback(ctx.store.close)
            stack.push_async_callback(self.filler.stop, drain_s)
            await self.stop(drain_s)

    def _begin(self, background: Background) -> None:
        with self._counting("background"):
            background.start()
        if not self._announced:
            log.info("memories are made in the background, for the users of this process (background: false stops it)")
        self._announced = True

    def _usable(self) -> Background | None:
        """Return the background if it belongs to this process and its event loop is running."""
        self._leave_parent()
        if self.background is not None and not self.background.is_usable():
            self.background = None
        return self.background

    def _make(self) -> Background:
        from memscope.jobs.background import Background

        self.background = Background(self._ctx, *self._jobs(), everyone=False, after=self.wake)
        return self.background

    def _leave_parent(self) -> None:
        """Reset the state in a forked child, where the parent's tasks never run."""
        if self._pid != os.getpid():
            _of_parents.append((self.filler, self.background))
            self.filler, self.background, self._announced, self._pid = Filler(), None, False, os.getpid()
