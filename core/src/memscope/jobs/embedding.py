"""Embed stored units, always after the write was acknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from memscope.errors import (
    OUTAGES,
    EmbeddingError,
    EmbeddingMismatch,
    LeaseLost,
    MemscopeError,
    ModelError,
    ModelRejected,
)
from memscope.records import MAX_WAIT_S, ChangeSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from memscope.services import Services

log = logging.getLogger("memscope")
TEXTS_PER_CALL = 128
LEASE_S = 60.0
RETRY_S = 5.0
MAX_REFUSED_CALLS = 16  # per batch: one refused text among TEXTS_PER_CALL takes 8
COALESCE_S = 0.02  # texts that arrive within this time share a request


async def embed_batch(ctx: Services, *, refusals: list[ModelError] | None = None) -> int:
    """Embed one batch per user of units without vectors, and return the number embedded.

    A batch at which the model fails is retried later; the error is raised at once if it is an outage, else after the
    other users' batches. Of a batch with a text that the model refuses, the other texts are embedded. Raises
    ``EmbeddingMismatch`` if the store holds vectors of another model. ``refusals``: collects the errors of refused
    texts, which are then retried by the next call, instead of raising them.
    """
    if ctx.embedder is None:
        return 0
    failure, number = None, 0
    for claim in await ctx.store.claim("embed", TEXTS_PER_CALL, LEASE_S):
        try:
            vectors = await _embed_all_but_refused(ctx, dict(zip(claim.items, claim.texts, strict=True)))
            number += len(vectors)
            await ctx.store.complete(claim, ChangeSet(vectors=vectors, done=tuple(vectors)))
        except LeaseLost:
            continue
        except ModelError as error:
            collected = refusals if _refuses_a_text(error) else None
            wait = min(error.retry_after or RETRY_S * 2 ** (claim.attempt - 1), MAX_WAIT_S) if collected is None else 0
            not_before = ctx.clock() + timedelta(seconds=wait)
            await ctx.store.fail(claim, error.code, not_before, counted=not isinstance(error, OUTAGES))
            if isinstance(error, (*OUTAGES, EmbeddingMismatch)):
                raise
            if collected is not None:
                collected.append(error)
            else:
                failure = failure or error
    if failure is not None:
        raise failure
    return number


async def _embed_all_but_refused(ctx: Services, texts: Mapping[str, str]) -> dict[str, NDArray[np.float32]]:
    """Embed texts by id; halve what the model refuses, in a few calls. Raise the refusal if no text is embedded."""
    refusal: ModelError | None = None
    vectors: dict[str, NDArray[np.float32]] = {}
    waiting, left = deque([list(texts)]), MAX_REFUSED_CALLS
    while waiting and left:
        ids = waiting.popleft()
        try:
            vectors |= zip(ids, await ctx.embed([texts[id] for id in ids]), strict=True)
        except ModelError as error:
            if not _refuses_a_text(error):
                raise
            refusal, left, half = refusal or error, left - 1, len(ids) // 2
            waiting += [part for part in (ids[:half], ids[half:]) if half]
    if refusal is not None and not vectors:
        raise refusal
    return vectors


def _refuses_a_text(error: ModelError) -> bool:
    """Tell whether the model refuses some text of a call, while it may embed the others."""
    return isinstance(error, EmbeddingError | ModelRejected) and not isinstance(error, EmbeddingMismatch)


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
