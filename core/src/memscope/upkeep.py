"""What keeps a memory going beside its verbs: opening and closing, moving, wiping, vectors, status."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from memscope import intake
from memscope.assembly import Assembly
from memscope.errors import ClosedError
from memscope.records import ForgetReport, Json, Select

Progress = Callable[[int, int | None], None]  # done, of how many if known


class Upkeep:
    """The part of ``AsyncMemoryScope`` that is not about what was said."""

    def __init__(self, parts: Assembly) -> None:
        self._parts = parts
        self._open = False
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def sweep(self, *, user: str) -> ForgetReport:
        """Forget what has expired."""
        intake.scope(user)
        async with self._operation("sweep") as parts:
            return await parts.store.forget(Select(user, expired_by=parts.clock()))

    async def compact(self) -> ForgetReport:
        """Finish what a ``forget`` whose receipt says "pending" could not wipe."""
        async with self._operation("compact") as parts:
            return await parts.store.compact()

    # ---- moving

    async def export(
        self, path: str | Path, *, user: str | None = None, progress: Progress | None = None
    ) -> Mapping[str, int]:
        """Write all records (of one user, or of all) as JSON lines; the number of each kind."""
        from memscope import transfer

        async with self._operation("export") as parts:
            return await transfer.export(parts.store, Path(path), user=user, progress=progress)

    async def import_(
        self, path: str | Path, *, user: str | None = None, strict: bool = True, progress: Progress | None = None
    ) -> Mapping[str, int]:
        """Read what ``export`` wrote; what is here already is left alone, what was forgotten here stays forgotten.

        ``strict=False`` skips lines that cannot be read and counts them.
        """
        from memscope import transfer

        async with self._operation("import") as parts:
            counts = await transfer.import_(parts.store, Path(path), user=user, strict=strict, progress=progress)
            parts.wake()
            return counts

    async def backup(self, path: str | Path) -> None:
        """A consistent copy of the store, taken while it is in use."""
        async with self._operation("backup") as parts:
            await parts.store.backup(Path(path))

    async def reembed(self, *, progress: Progress | None = None) -> int:
        """Make all vectors anew with the embedder configured now; the old ones serve until then. Resumable."""
        async with self._operation("reembed") as parts:
            return await parts.reembed(progress)

    async def flush(self, *, timeout_s: float | None = None) -> bool:
        """Wait for the vectors of what was added; False when the time was over before."""
        async with self._operation("flush") as parts:
            return await parts.flush(timeout_s)

    async def status(self, *, user: str | None = None) -> Mapping[str, Json]:
        """Versions, store, models, plugins, counts, what is pending, failed and parked, and with which error."""
        async with self._operation("status") as parts:
            return await parts.status(user)

    async def close(self, *, drain_s: float = 5.0) -> None:
        """Finish what is under way within ``drain_s`` seconds; what is left stays in the store for the next process."""
        if self._closed:
            return
        self._closed = True
        if self._open:
            await self._parts.close(drain_s)

    # ---- inside

    async def _ready(self) -> Assembly:
        if self._closed:
            raise ClosedError("this memory is closed", hint="make a new one")
        if not self._open:
            await self._parts.store.open()
            self._open = True
        return self._parts

    @asynccontextmanager
    async def _operation(self, name: str) -> AsyncIterator[Assembly]:
        parts = await self._ready()
        with parts.span(name):
            yield parts
