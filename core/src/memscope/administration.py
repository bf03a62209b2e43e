"""What keeps a memory going beside its verbs: opening and closing, moving, wiping, vectors, status."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from memscope import validation
from memscope.errors import ClosedError, StoreError
from memscope.records import ForgetReport, Insight, Json, Observation, Select
from memscope.runtime import Runtime

Progress = Callable[[int, int | None], None]  # done, of how many if known


class Upkeep:
    """The part of ``AsyncMemoryScope`` that is not about what was said."""

    def __init__(self, parts: Runtime) -> None:
        self._parts = parts
        self._open = False
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ---- the back end

    async def start(self) -> None:
        """Consolidate and reflect in the background from now on: when a batch is full or a user falls silent."""
        async with self._operation("background") as parts:
            parts.start()

    async def stop(self, *, drain_s: float = 5.0) -> None:
        """End the background; what is under way gets ``drain_s`` seconds, then it is given back and stays pending."""
        await (await self._ready()).stop(drain_s)

    async def unpark(self, *, user: str | None = None) -> int:
        """Give batches that failed too often another chance; their number."""
        validation.owner(user)
        async with self._operation("unpark") as parts:
            return await parts.store.unpark(None, user)

    async def proposals(self, *, user: str) -> list[Observation | Insight]:
        """Memories that wait for a person's word (setting ``approve``), oldest first."""
        validation.scope(user)
        async with self._operation("proposals") as parts:
            from memscope.reconciliation import approval

            return await approval.proposals(parts.store, user)

    async def accept(self, ids: Sequence[str], *, user: str) -> int:
        """Make proposals memories. ``NotFound`` for an id that waits for nothing; then none is accepted."""
        validation.scope(user)
        async with self._operation("accept") as parts:
            from memscope.reconciliation import approval

            return await approval.accept(parts.store, user, validation.ids("ids", ids), clock=parts.clock)

    async def reject(self, ids: Sequence[str], *, user: str) -> int:
        """Close proposals; they stay in the history, so that their turns are not read again."""
        validation.scope(user)
        async with self._operation("reject") as parts:
            from memscope.reconciliation import approval

            return await approval.reject(parts.store, user, validation.ids("ids", ids), clock=parts.clock)

    # ---- wiping

    async def sweep(self, *, user: str) -> ForgetReport:
        """Forget what has expired."""
        validation.scope(user)
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
        from memscope.transfer import jsonl

        validation.owner(user)
        async with self._operation("export") as parts:
            return await jsonl.export(parts.store, validation.path(path), user=user, progress=progress)

    async def import_(
        self, path: str | Path, *, user: str | None = None, strict: bool = True, progress: Progress | None = None
    ) -> Mapping[str, int]:
        """Read what ``export`` wrote; what is here already is left alone, what was forgotten here stays forgotten.

        ``strict=False`` skips lines that cannot be read and counts them.
        """
        from memscope.transfer import jsonl

        validation.owner(user)
        async with self._operation("import") as parts:
            counts = await jsonl.import_(
                parts.store, validation.path(path), user=user, strict=strict, progress=progress, limits=parts.limits
            )
            parts.wake()
            return counts

    async def backup(self, path: str | Path) -> None:
        """A consistent copy of the store, taken while it is in use."""
        async with self._operation("backup") as parts:
            await parts.store.backup(Path(path))

    async def restore(self, backup: str | Path) -> Mapping[str, Json]:
        """Put a backup in the place of this memory's file, which no other process may have open, and go on with it."""
        from memscope.transfer import sqlite_recovery

        path = self._file()
        if self._open:
            await self._parts.store.close()
            self._open = False
        try:
            return await sqlite_recovery.restore(Path(backup), path)
        finally:
            self._parts.reopen(str(path))

    async def recover(self, target: str | Path) -> Mapping[str, Json]:
        """Save what is readable of this memory's damaged file into a new one; the damaged one is only read."""
        from memscope.transfer import sqlite_recovery

        return await sqlite_recovery.recover(self._file(), Path(target))

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
        validation.owner(user)
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

    def _file(self) -> Path:
        path = getattr(self._parts.store, "path", None)
        if not isinstance(path, Path):
            raise StoreError("this store is no file", hint="use export and import_")
        return path

    async def _ready(self) -> Runtime:
        if self._closed:
            raise ClosedError("this memory is closed", hint="make a new one")
        if not self._open:
            await self._parts.store.open()
            self._open = True
        return self._parts

    @asynccontextmanager
    async def _operation(self, name: str) -> AsyncIterator[Runtime]:
        parts = await self._ready()
        with parts.span(name):
            yield parts
