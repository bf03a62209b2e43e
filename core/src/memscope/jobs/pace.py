"""Pace the back end: a batch waits until it is full or its user pauses, so that one call reads many turns.

Less than half a batch waits longer, for the next conversation: five turns cost almost as much as twenty.

Explicit calls (``memory.consolidate()``, ``memory.reflect()``) do not wait.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from memscope.errors import StoreError
from memscope.jobs.runner import JobResult, StageJob, results_of
from memscope.records import Claim
from memscope.services import Services

FEW_TURNS_WAIT_FACTOR = 8  # multiple of ``idle_s`` that less than half a batch waits, from its first turn on
CHECKS_PER_WAIT = 24  # checks for users with few facts during ``reflection.wait_s``


async def due_in_s(ctx: Services, job: StageJob, claim: Claim) -> float:
    """Compute how many seconds a claim still has to wait for more items; 0 if it is due.

    Turns wait until no turn has come for ``idle_s``, few turns up to ``FEW_TURNS_WAIT_FACTOR`` times as long; facts
    until the first is ``reflection.wait_s`` old. A full batch, or one attempted before, is due.
    """
    if job.stage == "reflect":
        return await _wait_left_s(ctx, job, claim, claim.items[0], ctx.settings.reflection.wait_s)
    after_last = await _wait_left_s(ctx, job, claim, claim.items[-1], ctx.settings.idle_s)
    if not are_few(len(claim.items), job.limit):
        return after_last
    longer_s = FEW_TURNS_WAIT_FACTOR * ctx.settings.idle_s
    return max(after_last, await _wait_left_s(ctx, job, claim, claim.items[0], longer_s))


def are_few(turns: int, limit: int) -> bool:
    return 2 * turns < limit


async def leftover_due_in_s(ctx: Services, job: StageJob, claim: Claim) -> float:
    """Like ``due_in_s`` for turns that an earlier process may have left: due ``idle_s`` after the first."""
    return await _wait_left_s(ctx, job, claim, claim.items[0], ctx.settings.idle_s)


async def _wait_left_s(ctx: Services, job: StageJob, claim: Claim, id: str, wait_s: float) -> float:
    if len(claim.items) >= job.limit or claim.attempt > 1 or claim.change_set is not None:
        return 0.0
    age = wait_s
    with suppress(StoreError, KeyError):  # a forgotten item counts as due
        recorded = (await ctx.store.fetch(claim.user, [id])).records[id].recorded
        age = (ctx.clock() - recorded).total_seconds()
    return wait_s - age if 0 <= age < wait_s else 0.0  # a clock set back must not cause a long wait


@dataclass
class Poller:
    """Work for all users of a store: on pending turns each round, on facts for users who have new ones.

    Users with few facts may be many, so they are checked only ``CHECKS_PER_WAIT`` times per ``reflection.wait_s``.
    """

    ctx: Services
    jobs: Sequence[StageJob]
    _next_check: float = 0.0
    _failed: set[str] = field(default_factory=set)

    async def work(self) -> list[JobResult]:
        results: list[JobResult] = []
        for job in self.jobs:
            users = self._due_for_facts(results) if job.stage == "reflect" else [None]
            fresh = [one for user in users for one in await results_of(self.ctx, job, user, delay=due_in_s)]
            if job.stage == "reflect":
                self._failed = {result.user for result in fresh if result.code}
            results += fresh
        return results

    def _due_for_facts(self, before: Sequence[JobResult]) -> Sequence[str | None]:
        """Return None, which means all users, if it is time to check them; else those with new or failed work."""
        now, settings = time.monotonic(), self.ctx.settings
        if now < self._next_check:
            return sorted({result.user for result in before if result.moved} | self._failed)
        self._next_check = now + max(settings.reflection.wait_s / CHECKS_PER_WAIT, settings.poll_s)
        return [None]
