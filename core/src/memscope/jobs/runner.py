"""Driving a stage of the back end: claims, leases, failures, the report. ``jobs/background.py`` runs it by itself.

    claim ──▶ make the plan ──▶ save_reply ──▶ complete         the plan of a worker that died is only completed
       │           └─ lease extended at a third of it; lost: what was made is thrown away
       └──▶ fail(code, not before)                              every item stays: pending, failed or parked

A ``Duty`` says what a stage makes of a claim; consolidation and reflection bring theirs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import PurePath
from traceback import extract_tb
from typing import Any, Protocol, TypeVar

from memscope.errors import OUTAGES, LeaseLost, MemscopeError, ModelError, StoreError
from memscope.models import Usage
from memscope.pipeline import Kit
from memscope.records import LONGEST_WAIT_S, Claim, Plan, Scope, Stage, WorkReport

T = TypeVar("T")
Make = Callable[[Kit, Claim], Awaitable[Plan]]

log = logging.getLogger("memscope")
OUTAGE_S = 30.0


class Hooks(Protocol):
    """The plugins' part in an operation (``plugins.Plugins``)."""

    async def before(self, operation: str, value: T, **context: Any) -> T: ...
    async def after(self, operation: str, value: object, **context: Any) -> None: ...


class NoHooks:
    async def before(self, operation: str, value: T, **context: Any) -> T:
        return value

    async def after(self, operation: str, value: object, **context: Any) -> None:
        return None


@dataclass(frozen=True)
class Duty:
    """What a stage does: of a claim of up to ``limit`` items, ``make`` makes the plan. It writes nothing itself."""

    stage: Stage
    make: Make
    limit: int
    hooks: Hooks


@dataclass(frozen=True)
class Outcome:
    """What became of one claim. ``moved``: some of its items are done, so that asking for the next makes sense."""

    user: str
    plan: Plan = field(default_factory=Plan)
    code: str = ""
    moved: bool = False


# ---------------------------------------------------------------------------------------------------------- until done


async def drive(kit: Kit, duty: Duty, user: str | None = None, *, preview: bool = False) -> WorkReport:
    """Work until nothing more can be claimed (of one user, or of all). What fails stays pending and is in the report.

    ``preview`` makes the plans of one batch a user and writes nothing.
    """
    if kit.chat is None:
        return await _with_pending(kit, duty.stage, user, WorkReport(duty.stage, model="none", preview=preview))
    began, usage = time.perf_counter(), Usage()
    with usage.counting():
        outcomes = await outcomes_of(kit, duty, user, preview, set())
    report = await _with_pending(kit, duty.stage, user, summary(duty.stage, outcomes, preview=preview))
    return replace(
        report,
        model=kit.chat.name,
        calls=usage.calls,
        prompt_characters=usage.prompt_characters,
        milliseconds=(time.perf_counter() - began) * 1000,
    )


async def outcomes_of(kit: Kit, duty: Duty, user: str | None, preview: bool, over: set[str]) -> list[Outcome]:
    """``over``: users whose claims are given back; one that did not move joins them, or it would be asked for ever."""
    outcomes: list[Outcome] = []
    while claims := await kit.store.claim(duty.stage, duty.limit, kit.settings.lease_s, user=user):
        fresh = [claim for claim in claims if claim.user not in over]
        for claim in claims:
            if claim.user in over:
                await _give_back(kit, claim)
        if not fresh:
            break
        made = await asyncio.gather(*(attempt(kit, duty, claim, preview=preview) for claim in fresh))
        outcomes += made
        over |= {outcome.user for outcome in made if not outcome.moved}
        if user in over:
            break
    return outcomes


def summary(stage: Stage, outcomes: Sequence[Outcome], *, preview: bool = False) -> WorkReport:
    """What the plans of the outcomes say together, in the order they were made."""
    reports = [outcome.plan.report for outcome in outcomes]
    actions = tuple(action for report in reports for action in report.get("actions", ()))
    counts = Counter(action["action"] for action in actions)
    rejected, errors = Counter[str](), Counter(outcome.code for outcome in outcomes if outcome.code)
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
        done=0 if preview else sum(len(outcome.plan.done) for outcome in outcomes),
        errors=dict(errors),
        preview=preview,
    )


def together(operation: str, reports: Sequence[WorkReport]) -> WorkReport:
    """Several reports as one."""
    first, last = reports[0], reports[-1]
    count: dict[str, Any] = {
        name: sum(getattr(report, name) for report in reports)
        for name in ("new", "merged", "superseded", "done", "pending", "calls", "prompt_characters", "milliseconds")
    }
    rejected, errors = Counter[str](), Counter[str]()
    for report in reports:
        rejected.update(report.rejected)
        errors.update(report.errors)
    actions = tuple(action for report in reports for action in report.actions)
    return WorkReport(
        operation, first.model, actions, rejected=dict(rejected), errors=dict(errors), preview=last.preview, **count
    )


async def _with_pending(kit: Kit, stage: Stage, user: str | None, report: WorkReport) -> WorkReport:
    """What is left, and why: also of batches that failed before and wait."""
    stats = await kit.store.stats(user)
    waiting = stats.failed[stage] + stats.parked[stage]
    errors = report.errors or (stats.errors if waiting else {})
    return replace(report, pending=stats.pending[stage] + waiting, errors=errors)


# ----------------------------------------------------------------------------------------------------------- one claim


async def attempt(kit: Kit, duty: Duty, claim: Claim, *, preview: bool = False) -> Outcome:
    """One claim: done, or failed with a code and a time to try again. Raises nothing but a cancellation."""
    began = time.monotonic()
    try:
        plan = await _plan(kit, duty, claim)
        if preview:
            await kit.store.give_back(claim)
            return Outcome(claim.user, plan)
        if claim.plan is None:
            await kit.store.save_reply(claim, plan)
        await kit.store.complete(claim, plan)
    except LeaseLost as error:
        return Outcome(claim.user, code=error.code)
    except asyncio.CancelledError:
        await asyncio.shield(_give_back(kit, claim))
        raise
    except Exception as error:
        return Outcome(claim.user, code=await _fail(kit, claim, error, time.monotonic() - began))
    outcome = Outcome(claim.user, plan, moved=bool(plan.done))
    await duty.hooks.after(duty.stage, summary(duty.stage, [outcome]), scope=Scope(claim.user))
    return outcome


async def _plan(kit: Kit, duty: Duty, claim: Claim) -> Plan:
    """The saved plan, else a new one, made while the lease is kept."""
    if claim.plan is not None:
        return claim.plan
    making = asyncio.ensure_future(duty.make(kit, claim))
    keeping = asyncio.create_task(_keep(kit, claim))
    try:
        await asyncio.wait({making, keeping}, return_when=asyncio.FIRST_COMPLETED)
        return making.result() if making.done() else keeping.result()
    finally:
        making.cancel()
        keeping.cancel()
        await asyncio.gather(making, keeping, return_exceptions=True)


async def _keep(kit: Kit, claim: Claim) -> Plan:
    """Extends the lease at a third of it, so that a failure of the store loses nothing; ends by ``LeaseLost``."""
    while True:
        await asyncio.sleep(kit.settings.lease_s / 3)
        try:
            await kit.store.extend(claim, kit.settings.lease_s)
        except LeaseLost:
            raise
        except StoreError as error:
            log.warning("a lease could not be extended: %s", error.code)


async def _give_back(kit: Kit, claim: Claim) -> None:
    with suppress(StoreError):  # it runs out by itself then
        await kit.store.give_back(claim)


async def _fail(kit: Kit, claim: Claim, error: Exception, seconds: float) -> str:
    code = error.code if isinstance(error, MemscopeError) else "worker"
    if not isinstance(error, MemscopeError):
        log.error("a worker of %s failed: %s", claim.stage, _where(error))
    when = _store_time(claim, kit.settings.lease_s, seconds) + timedelta(seconds=pause(kit, claim, error))
    with suppress(StoreError):  # the lease runs out by itself then
        await kit.store.fail(claim, code, when, counted=not isinstance(error, OUTAGES))
    return code


def pause(kit: Kit, claim: Claim, error: Exception) -> float:
    """Seconds until the next attempt: as the server asked, else longer each time."""
    asked = error.retry_after if isinstance(error, ModelError) else None
    own = min(OUTAGE_S, kit.settings.retry_s * 6) if isinstance(error, OUTAGES) else _growing(kit, claim)
    return min(max(asked or 0.0, own), LONGEST_WAIT_S)


def _growing(kit: Kit, claim: Claim) -> float:
    return float(kit.settings.retry_s * 4 ** (claim.attempt - 1))


def _store_time(claim: Claim, lease_s: float, seconds: float) -> datetime:
    """Now by the store's clock, which may not be ours: ``seconds`` after the claim."""
    return claim.until + timedelta(seconds=seconds - lease_s)


def _where(error: Exception) -> str:
    """The kind of an error and its line; not its words, which may be those of a conversation."""
    frame = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"


__all__ = ["Duty", "Hooks", "NoHooks", "Outcome", "attempt", "drive", "outcomes_of", "summary", "together"]
