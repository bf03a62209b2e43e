"""Claim batches for a runner, one per user; wait for other workers' leases; give batches back."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from memscope.errors import LeaseLost, StoreError
from memscope.records import ChangeSet, Claim, Stage
from memscope.services import Services

log = logging.getLogger("memscope")
ANOTHER_WORKER = "another_worker"  # report code: another worker held the items longer than a call waits
HELD_REASON = "another worker (a background, memscope worker, another program) has what is left; call again later"
PAUSED_REASON = "what failed before was not tried now: there is a pause first; call again later"
PARKED_REASON = "what failed too often is set aside; 'memscope unpark' tries it again"
MAX_HELD_WAIT_S = 300.0
POLL_CLAIM_S = (0.02, 1.0)  # first and longest pause between attempts


@dataclass
class Claims:
    """Claims of one pass over a stage: of one user, or of all.

    ``wait``: wait for items held by another worker, until it is done or, if it died, until its lease expires.
    ``delay``: seconds that a claim still has to wait for more items; such a claim is put back. ``finished``: users
    without further claims in this pass. ``one_by_one``: users whose next turn is claimed by itself, since it may make
    its batch fail. ``held_too_long``: another worker made no progress for as long as a call waits.
    """

    ctx: Services
    stage: Stage
    limit: int
    user: str | None
    wait: bool = False
    delay: Callable[[Claim], Awaitable[float]] | None = None
    finished: set[str] = field(default_factory=set)
    one_by_one: set[str] = field(default_factory=set)
    due_in: dict[str, float] = field(default_factory=dict)  # seconds until a user's claim is due
    held_too_long: bool = False

    async def next(self) -> list[Claim]:
        """Claim work, at most one batch per user; none when the pass is over, or if ``held_too_long``."""
        returned: list[Claim] = []
        try:
            while claims := await self._claim() or await self._once_free(returned):
                due = [claim for claim in claims if await self._is_due(claim)]
                # The others stay leased until the end, so that more can be claimed.
                returned += (claim for claim in claims if claim not in due)
                if due or self.user is not None:
                    return due
            return []
        finally:
            for claim in returned:
                await put_back(self.ctx, claim)

    async def _claim(self) -> list[Claim]:
        store, lease_s = self.ctx.store, self.ctx.settings.lease_s
        single = [
            claim for name in sorted(self.one_by_one) for claim in await store.claim(self.stage, 1, lease_s, user=name)
        ]
        return [*single, *await store.claim(self.stage, self.limit, lease_s, user=self.user)]

    async def _is_due(self, claim: Claim) -> bool:
        if self.delay and claim.user not in self.finished | self.one_by_one and (due_in_s := await self.delay(claim)):
            self.due_in[claim.user] = due_in_s
            self.finished.add(claim.user)
        return claim.user not in self.finished

    async def _once_free(self, returned: Sequence[Claim]) -> list[Claim]:
        """Wait for items held by another worker, until their number does not change for two leases."""
        if not self.wait or returned:  # this pass itself holds the items
            return []
        before, pause, wait_s = 0, POLL_CLAIM_S[0], min(2 * self.ctx.settings.lease_s, MAX_HELD_WAIT_S)
        until = time.monotonic() + wait_s
        while held := await self._held():
            if held != before:
                before, until = held, time.monotonic() + wait_s
            if time.monotonic() >= until:
                self.held_too_long = True
                return []
            await asyncio.sleep(pause)
            pause = min(2 * pause, POLL_CLAIM_S[1])
            if claims := await self._claim():
                return claims
        return []

    async def _held(self) -> int:
        """Count the pending items, which another worker holds if none can be claimed.

        0 if a batch failed: the items behind it wait for its next attempt.
        """
        stats = await self.ctx.store.stats(self.user)
        return 0 if stats.failed[self.stage] else stats.pending[self.stage]


async def put_back(ctx: Services, claim: Claim) -> None:
    """Undo a claim that is not due; dissolve a new batch, so that later items can join."""
    with suppress(StoreError):  # otherwise the lease expires by itself
        if claim.attempt > 1 or claim.change_set is not None:
            await ctx.store.give_back(claim)
        else:
            await ctx.store.complete(claim, ChangeSet())


async def extend(ctx: Services, claim: Claim) -> None:
    """Extend the lease; ``LeaseLost`` if it is another worker's. Another failure of the store is only logged."""
    try:
        await ctx.store.extend(claim, ctx.settings.lease_s)
    except LeaseLost:
        raise
    except StoreError as error:  # the next call extends it again
        log.warning("a lease could not be extended: %s", error.code)


async def give_back(ctx: Services, claim: Claim) -> None:
    with suppress(StoreError):  # otherwise the lease expires by itself
        await ctx.store.give_back(claim)
