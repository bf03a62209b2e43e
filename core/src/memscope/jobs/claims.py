"""Claims of a runner: a batch per user, waiting for another worker's leases, giving batches back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from memscope.errors import StoreError
from memscope.records import ChangeSet, Claim, Stage
from memscope.services import Services

ANOTHER_WORKER = "another_worker"  # report code: another worker held the items longer than a call waits
HELD_REASON = "another worker (a background, memscope worker, another program) has what is left; call again later"
MAX_HELD_WAIT_S = 300.0
POLL_CLAIM_S = (0.02, 1.0)  # first and longest pause between two attempts


class HeldTooLong(Exception):
    """Another worker kept its claim longer than a call waits."""


@dataclass
class Claims:
    """Claims of one pass over a stage: of one user, or of all.

    ``wait``: wait for items that another worker holds until they are done or its lease expires. ``rest``: computes how
    many seconds a claim should wait for more items; it is put back until then. ``over``: users to leave out for the
    rest of this pass. ``alone``: users with a turn that a change set left over: it is claimed alone, since it may fail
    alone.
    """

    ctx: Services
    stage: Stage
    limit: int
    user: str | None
    wait: bool = False
    rest: Callable[[Claim], Awaitable[float]] | None = None
    over: set[str] = field(default_factory=set)
    alone: set[str] = field(default_factory=set)
    resting: dict[str, float] = field(default_factory=dict)  # seconds until a user's claim is due

    async def next(self) -> list[Claim]:
        """Return claims to work on, one per user; none when the pass is over.

        Raises ``HeldTooLong`` if the number of items held by another worker has not changed for two leases.
        """
        returned: list[Claim] = []
        try:
            while claims := await self._claim() or await self._once_free(returned):
                due = [claim for claim in claims if await self._is_due(claim)]
                returned += (
                    claim for claim in claims if claim not in due
                )  # keep these leases for now: put back at once, they would be claimed again
                if due or self.user is not None:
                    return due
            return []
        finally:
            for claim in returned:
                await put_back(self.ctx, claim)

    async def _claim(self) -> list[Claim]:
        store, lease_s = self.ctx.store, self.ctx.settings.lease_s
        single = [
            claim for name in sorted(self.alone) for claim in await store.claim(self.stage, 1, lease_s, user=name)
        ]
        return [*single, *await store.claim(self.stage, self.limit, lease_s, user=self.user)]

    async def _is_due(self, claim: Claim) -> bool:
        if self.rest and claim.user not in self.over | self.alone and (rest_s := await self.rest(claim)):
            self.resting[claim.user] = rest_s
            self.over.add(claim.user)
        return claim.user not in self.over

    async def _once_free(self, returned: Sequence[Claim]) -> list[Claim]:
        if not self.wait or returned:  # this pass holds those
            return []
        before, pause, wait_s = 0, POLL_CLAIM_S[0], min(2 * self.ctx.settings.lease_s, MAX_HELD_WAIT_S)
        until = time.monotonic() + wait_s
        while held := await self._held():
            if held != before:
                before, until = held, time.monotonic() + wait_s
            if time.monotonic() >= until:
                raise HeldTooLong
            await asyncio.sleep(pause)
            pause = min(2 * pause, POLL_CLAIM_S[1])
            if claims := await self._claim():
                return claims
        return []

    async def _held(self) -> int:
        """Count pending items. If none could be claimed, another worker holds them.

        0 if a batch failed: the items behind it wait for its next attempt.
        """
        stats = await self.ctx.store.stats(self.user)
        return 0 if stats.failed[self.stage] else stats.pending[self.stage]


async def put_back(ctx: Services, claim: Claim) -> None:
    """Release a claim that is not due and dissolve the batch it formed, so that later items can join."""
    with suppress(StoreError):  # it runs out by itself then
        if claim.attempt > 1 or claim.change_set is not None:
            await ctx.store.give_back(claim)
        else:
            await ctx.store.complete(claim, ChangeSet())


async def give_back(ctx: Services, claim: Claim) -> None:
    with suppress(StoreError):  # it runs out by itself then
        await ctx.store.give_back(claim)
