"""Embed stored units, always after the write was acknowledged."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from memscope.errors import OUTAGES, EmbeddingError, EmbeddingMismatch, LeaseLost, MemscopeError, ModelError
from memscope.records import MAX_WAIT_S, ChangeSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memscope.services import Services

log = logging.getLogger("memscope")
TEXTS_PER_CALL = 128
LEASE_S = 60.0
RETRY_S = 5.0
COALESCE_S = 0.02  # texts that arrive within this time share a request


async def embed_batch(ctx: Services) -> int:
    """Embed one batch per user of units without vectors, and return the number embedded.

    A batch at which the model fails is retried later; the error is raised at once if it is an outage, else after the
    other users' batches. Raises ``EmbeddingMismatch`` if the store holds vectors of another model.
    """
    if ctx.embedder is None:
        return 0
    failure: ModelError | None = None
    claims = await ctx.store.claim("embed", TEXTS_PER_CALL, LEASE_S)
    for claim in claims:
        try:
            vectors = await ctx.embed(claim.texts)
            change_set = ChangeSet(vectors=dict(zip(claim.items, vectors, strict=True)), done=claim.items)
            await ctx.store.complete(claim, change_set)
        except LeaseLost:
            continue
        except ModelError as error:
            wait = min(error.retry_after or RETRY_S * 2 ** (claim.attempt - 1), MAX_WAIT_S)
            not_before = ctx.clock() + timedelta(seconds=wait)
            await ctx.store.fail(claim, error.code, not_before, counted=not isinstance(error, OUTAGES))
            if isinstance(error, (*OUTAGES, EmbeddingMismatch)):
                raise
            failure = failure or error
    if failure is not None:
        raise failure
    return sum(len(claim.items) for claim in claims)


async def declare(ctx: Services, *, replace: bool = False) -> None:
    """Declare the vector space to the store; ask the model once for the length of its vectors."""
    if ctx.embedder is not None:
        await ctx.store.set_vector_space(await ctx.embedder.measure(), replace=replace)


async def embed_all(ctx: Services, *, gather: Callable[[], Awaitable[None]] | None = None) -> None:
    """Declare the vector space, then embed until no unit waits; ``gather`` waits after each batch for more texts."""
    await declare(ctx)
    while await embed_batch(ctx):
        if gather is not None:
            await gather()


class Filler:
    """Embed in the background of one event loop; ``error`` is the last failure, which is logged once."""

    def __init__(self) -> None:
        self._wanted = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._awaited = asyncio.Event()  # a caller waits for the vectors, so do not gather more texts
        self._task: asyncio.Task[None] | None = None
        self.error: MemscopeError | None = None

    def wake(self, ctx: Services) -> None:
        if ctx.embedder is None:
            return
        self._wanted.set()
        self._idle.clear()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(ctx), name="memscope-embed")

    async def _run(self, ctx: Services) -> None:
        try:
            await self._fill(ctx)
        finally:
            self._idle.set()

    async def _fill(self, ctx: Services) -> None:
        while self._wanted.is_set():
            self._wanted.clear()
            try:
                await self._gather()
                await embed_all(ctx, gather=self._gather)
                if self.error is not None:
                    stats = await ctx.store.stats()
                    self.error = self.error if stats.failed["embed"] + stats.parked["embed"] else None
            except MemscopeError as error:
                self._failed(error)
            except Exception as error:  # a third party's embedder; its message may quote a conversation
                self._failed(EmbeddingError(f"the embedder failed: {type(error).__name__}"))

    async def _gather(self) -> None:
        """Wait briefly for more texts for the same request."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._awaited.wait(), COALESCE_S)

    def _failed(self, error: MemscopeError) -> None:
        if self.error is None or self.error.code != error.code:
            log.warning("no vectors for now: %s (text search goes on)", error.code)
        self.error = error

    async def drain(self, timeout_s: float | None) -> bool:
        """Wait until no embedding runs; return False on timeout."""
        self._awaited.set()
        try:
            await asyncio.wait_for(self._idle.wait(), timeout_s)
        except TimeoutError:
            return False
        finally:
            self._awaited.clear()
        return True

    async def stop(self, drain_s: float) -> None:
        try:
            await self.drain(drain_s)
        finally:  # also when the caller is cancelled
            if self._task is not None and not self._task.done():
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
