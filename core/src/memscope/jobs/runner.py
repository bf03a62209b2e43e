"""Runner of a stage: claims, leases, failures, the report. ``jobs/background.py`` runs it by itself.

    claim ──▶ make a change set ──▶ save_reply ──▶ complete     that of a worker that died is only completed
       │           └─ lease extended at a third of it; lost: what was made is thrown away
       └──▶ fail(code, not before)                              every item stays: pending, failed or parked

A ``StageJob`` computes the change set of a claim; consolidation and reflection bring theirs.
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
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePath
from traceback import extract_tb
from typing import Any, Protocol, TypeVar

from memscope import validation
from memscope.errors import OUTAGES, InputError, LeaseLost, MemscopeError, ModelError, StoreError, WorkerError
from memscope.jobs.costs import MeteredChat, count_facts
from memscope.models import Usage
from memscope.pipeline import UNFINISHED, WorkerContext
from memscope.records import LONGEST_WAIT_S, ChangeSet, Claim, Json, Scope, Stage, WorkReport
from memscope.records.serialization import sound
from memscope.transfer.checks import check_record

T = TypeVar("T")
Finish = Callable[[WorkerContext, str], Awaitable[Sequence[Mapping[str, Json]]]]
Make = Callable[[WorkerContext, Claim], Awaitable[ChangeSet]]

log = logging.getLogger("memscope")
OUTAGE_S = 30.0
ALONE = "alone"  # in the report of a change set: its first item is to be claimed by itself


class Hooks(Protocol):
    """The plugins' part in an operation (``plugins.Plugins``)."""

    async def before(self, operation: str, value: T, **context: Any) -> T: ...
    async def after(self, operation: str, value: object, **context: Any) -> None: ...


@dataclass(frozen=True)
class StageJob:
    """Work of a stage: ``make`` computes the change set of a claim of up to ``limit`` items and writes nothing.

    ``finish`` is called for a user once nothing more can be claimed; it returns actions for the report.
    """

    stage: Stage
    make: Make
    limit: int
    hooks: Hooks
    finish: Finish | None = None


@dataclass(frozen=True)
class JobResult:
    """Result of one claim. ``moved``: some of its items are done, so that another claim makes sense."""

    user: str
    change_set: ChangeSet = field(default_factory=ChangeSet)
    code: str = ""
    moved: bool = False


# ---------------------------------------------------------------------------------------------------------- until done


async def run_until_idle(
    ctx: WorkerContext, *jobs: StageJob, user: str | None = None, preview: bool = False
) -> WorkReport:
    """Work until nothing more can be claimed (of one user, or of all), one stage after the other.

    Failed items stay pending and are in the report, which is named after the last stage. ``preview`` makes the change
    sets of one batch per user and stage and writes nothing.
    """
    stages = [job.stage for job in jobs]
    if ctx.chat is None:
        return await _with_pending(ctx, stages, user, WorkReport(stages[-1], model="none", preview=preview))
    began, usage = time.perf_counter(), Usage()
    with usage.counting():
        results = [result for job in jobs for result in await results_of(ctx, job, user, preview, set())]
    report = await _with_pending(ctx, stages, user, summary(stages[-1], results, preview=preview))
    return replace(
        report,
        model=ctx.chat.name,
        calls=usage.calls,
        prompt_characters=usage.prompt_characters,
        milliseconds=(time.perf_counter() - began) * 1000,
    )


async def results_of(
    ctx: WorkerContext, job: StageJob, user: str | None, preview: bool, over: set[str]
) -> list[JobResult]:
    """``over``: users whose claims are given back; one that did not move joins them, or it would be asked for ever."""
    results: list[JobResult] = []
    alone: set[str] = set()
    while claims := await _claims(ctx, job, user, alone):
        fresh = [claim for claim in claims if claim.user not in over]
        for claim in claims:
            if claim.user in over:
                await _give_back(ctx, claim)
        if not fresh:
            break
        made = await asyncio.gather(*(attempt(ctx, job, claim, preview=preview) for claim in fresh))
        results += made
        over |= {result.user for result in made if not result.moved}
        reports = {result.user: result.change_set.report for result in made if result.moved}
        alone = {name for name, report in reports.items() if report.get("left") or report.get(ALONE)}
        if user in over:
            break
    if job.finish is None or preview:
        return results
    finished = {result.user for result in results if result.moved} | ({user} if user is not None else set())
    return [*results, *await asyncio.gather(*(_finish(ctx, job.finish, name) for name in sorted(finished)))]


async def _finish(ctx: WorkerContext, finish: Finish, user: str) -> JobResult:
    try:
        actions = await finish(replace(ctx, chat=MeteredChat(ctx, user, "blocks")), user)
    except MemscopeError as error:  # done anew the next time
        return JobResult(user, code=error.code)
    return JobResult(user, ChangeSet(report={"actions": list(actions)}))


async def _claims(ctx: WorkerContext, job: StageJob, user: str | None, alone: set[str]) -> list[Claim]:
    """Claim a batch per user; a single item for those in ``alone``: a change set left it, and it may fail by itself."""
    lease_s = ctx.settings.lease_s
    single = [claim for name in sorted(alone) for claim in await ctx.store.claim(job.stage, 1, lease_s, user=name)]
    return [*single, *await ctx.store.claim(job.stage, job.limit, lease_s, user=user)]


def summary(stage: Stage, results: Sequence[JobResult], *, preview: bool = False) -> WorkReport:
    """Merge the reports of change sets, in the order they were made."""
    reports = [result.change_set.report for result in results]
    actions = tuple(action for report in reports for action in report.get("actions", ()))
    counts = Counter(action["action"] for action in actions)
    rejected, errors = Counter[str](), Counter(result.code for result in results if result.code)
    for report in reports:
        rejected.update(report.get("rejected", {}))
        errors.update(report.get("errors", {}))
    return WorkReport(
        stage,
        model="",
        actions=actions,
        new=counts["new"],
        merged=counts["merged"],
        superseded=counts["superseded"],
        rejected=dict(rejected),
        done=0 if preview else sum(len(result.change_set.done) for result in results),
        errors=dict(errors),
        preview=preview,
        proposed=counts["proposed"],
    )


async def _with_pending(
    ctx: WorkerContext, stages: Sequence[Stage], user: str | None, report: WorkReport
) -> WorkReport:
    """Add pending items, each once, and their errors, including batches that failed before and wait."""
    stats = await ctx.store.stats(user)
    waiting = sum(stats.failed[stage] + stats.parked[stage] for stage in stages)
    errors = report.errors or (stats.errors if waiting else {})
    return replace(report, pending=waiting + sum(stats.pending[stage] for stage in stages), errors=errors)


# ----------------------------------------------------------------------------------------------------------- one claim


async def attempt(ctx: WorkerContext, job: StageJob, claim: Claim, *, preview: bool = False) -> JobResult:
    """Process one claim: done, or failed with a code and a time to try again. Raises nothing but a cancellation."""
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
        await asyncio.shield(_give_back(ctx, claim))
        raise
    except Exception as error:
        if process_is_ending():
            await _give_back(ctx, claim)
            return JobResult(claim.user)
        return JobResult(claim.user, code=await _fail(ctx, claim, error, time.monotonic() - began))
    result = JobResult(claim.user, change_set, moved=bool(change_set.done or change_set.report.get(ALONE)))
    report = summary(job.stage, [result])
    if job.stage == "consolidate":
        await count_facts(ctx, {"kept": report.new + report.proposed + report.merged, **report.rejected})
    await job.hooks.after(job.stage, report, scope=Scope(claim.user))
    return result


def process_is_ending() -> bool:
    """Returns whether the interpreter shuts down: executors refuse work, and whatever fails then is no failure."""
    executor = ThreadPoolExecutor(1)
    try:
        executor.submit(int)
    except RuntimeError:
        return True
    finally:
        executor.shutdown(wait=False)
    return False


async def _plan(ctx: WorkerContext, job: StageJob, claim: Claim, preview: bool) -> ChangeSet:
    """Returns the saved change set, else a new one, made while the lease is kept."""
    if claim.change_set is not None and UNFINISHED not in claim.change_set.report:
        return claim.change_set
    save = None if preview else partial(ctx.store.save_reply, claim)
    metered = replace(ctx, chat=MeteredChat(ctx, claim.user, job.stage), save=save)
    making = asyncio.ensure_future(job.make(metered, claim))
    keeping = asyncio.create_task(_keep(ctx, claim))
    try:
        await asyncio.wait({making, keeping}, return_when=asyncio.FIRST_COMPLETED)
        return _checked(ctx, claim, making.result()) if making.done() else keeping.result()
    finally:
        making.cancel()
        keeping.cancel()
        await asyncio.gather(making, keeping, return_exceptions=True)


def _checked(ctx: WorkerContext, claim: Claim, change_set: ChangeSet) -> ChangeSet:
    """Raise ``WorkerError`` for a change set that no store should keep: workers may be anybody's."""
    limits = validation.Limits(**ctx.settings.limits.model_dump())
    try:
        if any(one.scope.user != claim.user or not one.sources for one in change_set.new):
            raise InputError("a memory of another user, or without a source")
        for memory in (*change_set.new, *(revision.memory for revision in change_set.revised)):
            check_record(sound(memory), limits)
    except Exception as error:
        said = str(error) if isinstance(error, InputError) else type(error).__name__
        raise WorkerError(f"the workers of {claim.stage} made what cannot be stored: {said}") from None
    return change_set


async def _keep(ctx: WorkerContext, claim: Claim) -> ChangeSet:
    """Extends the lease at a third of it, so that a failure of the store loses nothing; ends by ``LeaseLost``."""
    while True:
        await asyncio.sleep(ctx.settings.lease_s / 3)
        try:
            await ctx.store.extend(claim, ctx.settings.lease_s)
        except LeaseLost:
            raise
        except StoreError as error:
            log.warning("a lease could not be extended: %s", error.code)


async def _give_back(ctx: WorkerContext, claim: Claim) -> None:
    with suppress(StoreError):  # it runs out by itself then
        await ctx.store.give_back(claim)


async def _fail(ctx: WorkerContext, claim: Claim, error: Exception, seconds: float) -> str:
    code = error.code if isinstance(error, MemscopeError) else WorkerError.code
    if code == WorkerError.code:
        log.error("a worker of %s failed: %s", claim.stage, _where(error))
    when = _store_time(claim, ctx.settings.lease_s, seconds) + timedelta(seconds=pause(ctx, claim, error))
    with suppress(StoreError):  # the lease runs out by itself then
        await ctx.store.fail(claim, code, when, counted=not isinstance(error, OUTAGES))
    return code


def pause(ctx: WorkerContext, claim: Claim, error: Exception) -> float:
    """Returns seconds until the next attempt: as the server asked, else longer each time."""
    asked = error.retry_after if isinstance(error, ModelError) else None
    retry_s = ctx.settings.retry_s
    own = min(OUTAGE_S, retry_s * 6) if isinstance(error, OUTAGES) else float(retry_s * 4 ** (claim.attempt - 1))
    return min(max(asked or 0.0, own), LONGEST_WAIT_S)


def _store_time(claim: Claim, lease_s: float, seconds: float) -> datetime:
    """Returns the time by the store's clock, which may not be ours: ``seconds`` after the claim."""
    return claim.until + timedelta(seconds=seconds - lease_s)


def _where(error: Exception) -> str:
    """Returns the kind of an error and its line; not its words, which may be those of a conversation."""
    cause = error.__cause__ or error
    frame = extract_tb(cause.__traceback__)[-1]
    return f"{type(cause).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"
