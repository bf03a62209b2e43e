"""observations → insights. Nothing new: no call.

update ─────────────────▶ split ──────────▶ reconcile        each from TopicBatch to TopicBatch
one call: where each      what grew too     which facts end
new one belongs, and      long becomes      or repeat others
what is known now         several
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from memscope.jobs.runner import Finish, Hooks, StageJob
from memscope.pipeline import Worker, run
from memscope.records import SUMMARY_NAMESPACE, ChangeSet, Claim, Insight, Observation, Scope, Select
from memscope.reflection.batch import TopicBatch, change_set
from memscope.reflection.insights import with_insights
from memscope.reflection.reconcile import reconcile
from memscope.reflection.split import split
from memscope.reflection.update import update
from memscope.services import Services

REFLECTION_STEPS: tuple[Worker[TopicBatch], ...] = (update, split, reconcile)


def job(ctx: Services, steps: Sequence[Worker[TopicBatch]], hooks: Hooks, finish: Finish | None = None) -> StageJob:
    return StageJob("reflect", partial(_plan, steps=steps, hooks=hooks), ctx.settings.reflection.batch, hooks, finish)


async def _plan(ctx: Services, claim: Claim, steps: Sequence[Worker[TopicBatch]], hooks: Hooks) -> ChangeSet:
    records = (await ctx.store.fetch(claim.user, claim.items)).records
    found = [one for id in claim.items if isinstance(one := records.get(id), Observation) and one.current]
    chosen = [one for one in found if one.scope.agent == found[0].scope.agent]
    gone = frozenset(claim.items) - {one.id for one in found}
    given = tuple(await hooks.before("reflect", chosen, scope=Scope(claim.user)))
    if not given:
        return ChangeSet(done=tuple(gone | {one.id for one in chosen}))
    batch = TopicBatch("/".join((claim.user, claim.id, *claim.items)), Scope(claim.user, given[0].scope.agent), given)
    batch = with_insights(await run(steps, await _with_known(ctx, batch), ctx), ctx.clock())
    return change_set(
        batch, gone | ({one.id for one in chosen} - {one.id for one in given}), propose=ctx.settings.approve
    )


async def _with_known(ctx: Services, batch: TopicBatch) -> TopicBatch:
    """Add the current insights about the user, and the observations they rest on."""
    scope = batch.scope
    select = Select(scope.user, scope.agent, kinds=frozenset({"insight"}), current=True, live_at=ctx.clock())
    insights = [one async for page in ctx.store.scan(select) for one in page if isinstance(one, Insight)]
    insights = [one for one in insights if one.scope.agent == scope.agent and one.namespace != SUMMARY_NAMESPACE]
    ids = dict.fromkeys(id for insight in insights for id in insight.sources)
    records = (await ctx.store.fetch(scope.user, list(ids))).records.values()
    sources = {one.id: one for one in records if isinstance(one, Observation)}
    return replace(batch, insights=tuple(insights), sources=sources)


__all__ = ["REFLECTION_STEPS", "TopicBatch", "job", "reconcile", "split", "update"]
