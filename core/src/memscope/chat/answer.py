"""``Answer``: a streamed reply, with the memories shown to the model and notes on memory steps that failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from memscope.errors import ClosedError, MemscopeError

if TYPE_CHECKING:
    from memscope.records import Hit

T = TypeVar("T")
STEP_DEADLINE_S = 20.0  # for each memory step


class Answer:
    """A streamed reply: iterate over it for its pieces as they arrive, or await it for the whole text.

    ``memories`` are the hits shown to the model, available from the first piece on. ``notes`` name the memory steps
    that failed, with the error's code: "memories: store_unavailable". Raise ``ModelError`` if the model fails; then the
    user's turn stays recorded, but the unfinished answer is not.
    """

    def __init__(
        self, begin: Callable[[Answer], AsyncGenerator[str]], counting: Callable[[], AbstractContextManager[object]]
    ) -> None:
        self.memories: tuple[Hit, ...] = ()
        self.notes: list[str] = []
        self._received: list[str] = []
        self._failure: MemscopeError | None = None
        self._pieces = begin(self)
        self._counting = counting

    @property
    def text(self) -> str:
        """The text received so far."""
        return "".join(self._received)

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> str:
        if self._failure is not None:  # else what was received would pass for the whole answer
            raise self._failure
        try:
            with self._counting():
                piece = await anext(self._pieces)
        except MemscopeError as error:
            self._failure = error
            raise
        except asyncio.CancelledError:
            self._failure = ClosedError("the answer was stopped", hint="its beginning is in text; ask again")
            raise
        self._received.append(piece)
        return piece

    def __await__(self) -> Generator[object, None, str]:
        return self._whole().__await__()

    async def _whole(self) -> str:
        async for _ in self:
            pass
        return self.text

    async def aclose(self) -> None:
        """Stop the model's stream."""
        with self._counting():
            await self._pieces.aclose()

    async def guard(self, what: str, work: Awaitable[T], fallback: T) -> T:
        """Await a memory step. If it fails, add a note and return ``fallback``: the assistant still answers."""
        try:
            async with asyncio.timeout(STEP_DEADLINE_S):
                return await work
        except Exception as error:
            self.notes.append(f"{what}: {error.code if isinstance(error, MemscopeError) else type(error).__name__}")
            return fallback
