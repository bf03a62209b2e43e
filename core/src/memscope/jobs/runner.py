"""Run one stage: claims, leases, failures, the report. ``jobs/background.py`` schedules it.

    claim ──▶ make a change set ──▶ save_reply ──▶ complete     a dead worker's saved change set is only completed
       │           └─ lease extended after each third; if it is lost, the change set is discarded
       └──▶ fail(code, not before)                              every item stays: pending, failed or parked

A ``StageJob`` computes the change set of a claim; consolidation and reflection define theirs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import PurePath
from traceback import extract_tb
from typing import Any, Protocol, TypeVar

from memscope.errors import OUTAGES, InputError, LeaseLost, MemscopeError, ModelError, StoreError, WorkerError
from memscope.jobs.claims import ANOTHER_WORKER, HELD_REASON, PARKED_REASON, PAUSED_REASON, Claims, extend, give_back
from memscope.jobs.costs import MeteredChat, count_facts
from memscope.models import ChatModel, Usage
from memscope.pipeline import UNFINISHED
from memscope.records import MAX_WAIT_S, ChangeSet, Claim, Json, Scope, Stage, WorkReport
from memscope.records.serialization import sound
from memscope.services import Services
from memscope.transfer.checks import check_record

T = TypeVar("T")
Finish = Callable[[Services, str], Awaitable[Sequence[Mapping[str, Json]]]]
Make = Callable[[Services, Claim], Awaitable[ChangeSet]]

log = logging.getLogger("memscope")
OUTAGE_S = 30.0
RETRY_FIRST_ITEM_ALONE = "alone"  # in a change set's report: claim its first item by itself


class Hooks(Protocol):
    """Plugins' hooks around an operation (``plugins.Plugins`` implements it)."""

    async def before(self, operation: str, value: T, **context: Any) -> T: ...
    async def after(self, operation: str, value: object, **context: Any) -> None: ...


@dataclass(frozen=True)
class StageJob:
    """Work of a stage: ``make`` computes the change set for a claim of up to ``limit`` items, without writing.

    ``finish`` is called for a user when nothing more can be claimed, and returns actions for the report.
    """

    stage: Stage
    make: Make
    limit: int
    hooks: Hooks
    finish: Finish | None = None


@dataclass(frozen=True)
class JobResult:
    """Result of one claim. ``moved``: it made progress, so another claim makes sense.

    ``due_in_s``: seconds until a claim that was put back becomes due.
    """

    user: str
    change_set: ChangeSet = field(default_factory=ChangeSet)
    code: str = ""
    moved: bool = False
    due_in_s: float = 0.0


Delay = Callable[[Services, StageJob, Claim], Awaitable[float]]

# ---------------------------------------------------------------------------------------------------------- until done


async def run_until_idle(ctx: Services, *jobs: StageJob, user: str | None = None, preview: bool = False) -> WorkReport:
    """Work until nothing more can be claimed for one user or for all, one stage after the other.

    Failed items stay pending and appear in the report, which is named after the last stage. ``preview`` computes the
    change sets of one batch per user and stage, and writes nothing. Items held by another worker are waited for, until
    there is no progress for two leases; the report then has the code ``ANOTHER_WORKER``.
    """
    stages = [job.stage for job in jobs]
    if ctx.chat is None:
        return await _with_pending(ctx, stages, user, WorkReport(stages[-1], model="none", preview=preview))
    began, usage = time.perf_counter(), Usage()
    results: list[JobResult] = []
    with usage.counting():
        for job in jobs:
            results += await results_of(ctx, job, user, preview=preview, wait=True)
            if any(result.code == ANOTHER_WORKER for result in results):  # both stages share a lease
                break
    report = await _with_pending(ctx, stages, user, summary(stages[-1], results, preview=preview))
    reason = HELD_REASON if ANOTHER_WORKER in report.errors else report.reason
    return replace(with_costs(report, ctx.chat, usage, began), reason=reason)


def with_costs(report: WorkReport, chat: ChatModel, usage: Usage, began: float) -> WorkReport:
    """Add the model and the cost of its calls to a report of work that began at ``began`` (``time.perf_counter``)."""
    return replace(
        report, model=chat.name, calls=usage.calls, prompt_characters=usage.prompt_characters,
        milliseconds=(time.perf_counter() - began) * 1000,
    )  # fmt: skip


async def results_of(
    ctx: Services, job: StageJob, user: str | None, *, preview: bool = False, wait: bool = False,
    delay: Delay | None = None,
) -> list[JobResult]:  # fmt: skip
    """Process a stage for one user or all; after a claim without progress a user gets no other. ``wait`` and ``delay``:
    see ``Claims``.
    """
    results: list[JobResult] = []
    claims = Claims(ctx, job.stage, job.limit, user, wait, partial(delay, ctx, job) if delay else None)
    while user not in claims.finished and (fresh := await claims.next()):
        outcomes = await asyncio.gather(*(attempt(ctx, job, claim, preview=preview) for claim in fresh))
        results += outcomes
        claims.finished |= {result.user for result in outcomes if not result.moved}
        reports = {result.user: result.change_set.report for result in outcomes if result.moved}
        claims.one_by_one = {
            name for name, report in reports.items() if report.get("left") or report.get(RETRY_FIRST_ITEM_ALONE)
        }
    if claims.held_too_long:
        results.append(JobResult(user or "", code=ANOTHER_WORKER))
    results += (JobResult(name, due_in_s=due_in_s) for name, due_in_s in claims.due_in.items())
    if job.finish is None or preview:
        return results
    finished = {result.user for result in results if result.moved} | ({user} if user is not None else set())
    return [*results, *await asyncio.gather(*(_finish(ctx, job.finish, name) for name in sorted(finished)))]


async def _finish(ctx: Services, finish: Finish, user: str) -> JobResult:
    try:
        actions = await finish(replace(ctx, chat=MeteredChat(ctx, user, "blocks")), user)
    except MemscopeError as error:  # the next call retries it
        return JobResult(user, code=error.code)
    return JobResult(user, ChangeSet(report={"actions": list(actions)}))


def summary(operation: str, results: Sequence[JobResult], *, preview: bool = False) -> WorkReport:
    """Merge the reports of change sets, in order."""
    reports = [result.change_set.report for result in results]
    actions = tuple(action for report in reports for action in report.get("actions", ()))
    counts = Counter(action["action"] for action in actions)
    rejected, errors = Counter[str](), Counter(result.code for result in results if result.code)
    for report in reports:
        rejected.update(report.get("rejected", {}))
        errors.update(report.get("errors", {}))
    return WorkReport(
        operation, model="", actions=actions, rejected=dict(rejected), errors=dict(errors), preview=preview,
        done=0 if preview else sum(len(result.change_set.done) for result in results),
        new=counts["new"], merged=counts["merged"], superseded=counts["superseded"], proposed=counts["proposed"],
    )  # fmt: skip


async def _with_pending(ctx: Services, stages: Sequence[Stage], user: str | None, report: WorkReport) -> WorkReport:
    """Add the number of pending items and their errors, including earlier failed batches that wait."""
    stats = await ctx.store.stats(user)
    failed, parked = sum(stats.failed[stage] for stage in stages), sum(stats.parked[stage] for stage in stages)
    pending = failed + parked + sum(stats.pending[stage] for stage in stages)
    if report.errors or not failed + parked:
        return replace(report, pending=pending)
    reason = "" if report.model == "none" else PAUSED_REASON if failed else PARKED_REASON
    return replace(report, pending=pending, errors=stats.errors, reason=reason)


# ----------------------------------------------------------------------------------------------------------- one claim


async def attempt(ctx: Services, job: StageJob, claim: Claim, *, preview: bool = False) -> JobResult:
    """Process one claim: complete it, or fail it with a code and a retry time. Raises only cancellation."""
    began = time.monotonic()
    try:
        change_set = await _plan(ctx, job, claim, preview)
        if preview:
            await ctx.store.give_back(claim)
            return JobResult(claim.user, change_set)
        if change_set is not claim.change_set:
            await ctx.store.save_reply(claim, change_set)
        await ctx.store.complete(claim, change_set)
    except LeaseLost as error:
        return JobResult(claim.user, code=error.code)
    except asyncio.CancelledError:
        await asyncio.shield(give_back(ctx, claim))
        raise
    except Exception as error:
        if process_is_ending():
            await give_back(ctx, claim)
            return JobResult(claim.user)
        return JobResult(claim.user, code=await _fail(ctx, claim, error, time.monotonic() - began))
    moved = bool(change_set.done or change_set.report.get(RETRY_FIRST_ITEM_ALONE))
    result = JobResult(claim.user, change_set, moved=moved)
    report = summary(job.stage, [result])
    if job.stage == "consolidate":
        stored = {"kept": report.new + report.proposed + report.merged}
        await count_facts(ctx, {**stored, **report.rejected, **change_set.report.get("judged", {})})
    await job.hooks.after(job.stage, report, scope=Scope(claim.user))
    return result


def process_is_ending() -> bool:
    """True while the interpreter shuts down: executors refuse work, and errors are to be ignored."""
    executor = ThreadPoolExecutor(1)
    try:
        executor.submit(int)
    except RuntimeError:
        return True
    finally:
        executor.shutdown(wait=False)
    return False


async def _plan(ctx: Services, job: StageJob, claim: Claim, preview: bool) -> ChangeSet:
    """Return the saved change set, or compute a new one while extending the lease."""
    if claim.change_set is not None and UNFINISHED not in claim.change_set.report:
        return claim.change_set
    save = None if preview else partial(ctx.store.save_reply, claim)
    metered = replace(ctx, chat=MeteredChat(ctx, claim.user, job.stage, claim), save=save)
    making = asyncio.ensure_future(job.make(metered, claim))
    keeping = asyncio.create_task(_keep(ctx, claim))
    try:
        await asyncio.wait({making, keeping}, return_when=asyncio.FIRST_COMPLETED)
        return _checked(ctx, claim, making.result()) if making.done() else keeping.result()
    finally:
        making.cancel()
        keeping.cancel()
        await asyncio.gather(making, keeping, return_exceptions=True)


def _checked(ctx: Services, claim: Claim, change_set: ChangeSet) -> ChangeSet:
    """Validate a change set, which may come from a plugin's worker; raise ``WorkerError``."""
    try:
        if any(memory.scope.user != claim.user or not memory.sources for memory in change_set.new):
            raise InputError("a memory belongs to another user, or has no source")
        for memory in (*change_set.new, *(revision.memory for revision in change_set.revised)):
            check_record(sound(memory), ctx.limits)
    except Exception as error:
        reason = str(error) if isinstance(error, InputError) else type(error).__name__
        raise WorkerError(f"the workers of {claim.stage} returned an invalid change set: {reason}") from None
    return change_set


async def _keep(ctx: Services, claim: Claim) -> ChangeSet:
    """Extend the lease after each third, so that one store failure is harmless; ends only with ``LeaseLost``."""
    while True:
        await asyncio.sleep(ctx.settings.lease_s / 3)
        await extend(ctx, claim)


async def _fail(ctx: Services, claim: Claim, error: Exception, seconds: float) -> str:
    code = error.code if isinstance(error, MemscopeError) else WorkerError.code
    if code == WorkerError.code:
        log.error("a worker of %s failed: %s", claim.stage, place_of(error))
    now = claim.until + timedelta(seconds=seconds - ctx.settings.lease_s)  # by the store's clock
    when = now + timedelta(seconds=pause(ctx, claim, error))
    with suppress(StoreError):  # otherwise the lease expires by itself
        await ctx.store.fail(claim, code, when, counted=not isinstance(error, OUTAGES))
    return code


def pause(ctx: Services, claim: Claim, error: Exception) -> float:
    """Compute the seconds until the next attempt: the server's ``retry_after``, else exponential backoff."""
    requested = error.retry_after if isinstance(error, ModelError) else None
    retry_s = ctx.settings.retry_s
    usual = min(OUTAGE_S, retry_s * 6) if isinstance(error, OUTAGES) else float(retry_s * 4 ** (claim.attempt - 1))
    return min(max(requested or 0.0, usual), MAX_WAIT_S)


def place_of(error: Exception) -> str:
    """Describe an error by type and line, without its message, which may quote a conversation."""
    cause = error.__cause__ or error
    frame = extract_tb(cause.__traceback__)[-1]
    return f"{type(cause).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"
