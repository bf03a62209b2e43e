"""Reflect: place observations in insights. Without new observations there is no call.

update ─────────────────▶ reconcile          each takes and returns a TopicBatch
one call: where each      which facts end
new one belongs, and      or repeat others
which sentences change
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from memscope.jobs.runner import Finish, Hooks, StageJob
from memscope.pipeline import Worker, run, worker
from memscope.reconciliation.insight_sentences import with_corrections
from memscope.reconciliation.related import related
from memscope.reconciliation.settlement import FactRelation, Settlement
from memscope.reconciliation.subjects import may_meet, share_thing
from memscope.records import SUMMARY_NAMESPACE, ChangeSet, Claim, Insight, Observation, Scope, Select
from memscope.reflection.batch import TopicBatch, change_set
from memscope.reflection.insights import with_insights
from memscope.reflection.update import update
from memscope.services import Services


@worker(reads=["relations"], writes=["closed", "revised", "actions"], name="reconcile")
async def reconcile(batch: TopicBatch, ctx: Services) -> TopicBatch:
    """Merge, supersede or revise observations by the model's verdicts."""
    settlement = Settlement({}, ctx.clock())
    settlement.settle(filter(_counts, batch.relations))
    return batch.settled(settlement)


def _counts(relation: FactRelation) -> bool:
    """Return whether the verdict applies: both facts are current and about the same subject or thing."""
    one_subject = may_meet(relation.new, relation.old) or share_thing(relation.new, relation.old)
    return not relation.new.closed and not relation.old.closed and one_subject


REFLECTION_STEPS: tuple[Worker[TopicBatch], ...] = (update, reconcile)


def job(ctx: Services, steps: Sequence[Worker[TopicBatch]], hooks: Hooks, finish: Finish | None = None) -> StageJob:
    return StageJob("reflect", partial(_plan, steps=steps, hooks=hooks), ctx.settings.reflection.batch, hooks, finish)


async def _plan(ctx: Services, claim: Claim, steps: Sequence[Worker[TopicBatch]], hooks: Hooks) -> ChangeSet:
    records = (await ctx.store.fetch(claim.user, claim.items)).records
    present = [one for id in claim.items if isinstance(one := records.get(id), Observation) and one.current]
    now = ctx.clock()
    current = [one for one in present if ctx.may_state(one) and not (one.expires and one.expires <= now)]
    chosen = [memory for memory in current if memory.scope.agent == current[0].scope.agent]
    gone = frozenset(claim.items) - {memory.id for memory in current}
    facts = tuple(await hooks.before("reflect", chosen, scope=Scope(claim.user)))
    if not facts:
        return ChangeSet(done=tuple(gone | {one.id for one in chosen}))
    batch = TopicBatch("/".join((claim.user, claim.id, *claim.items)), Scope(claim.user, facts[0].scope.agent), facts)
    batch = with_insights(await run(steps, await _with_known(ctx, batch), ctx), ctx.clock())
    gone |= {one.id for one in chosen} - {fact.id for fact in facts}
    changes = change_set(batch, gone, propose=ctx.settings.approve)
    return await with_corrections(ctx.store, claim.user, changes, ctx.clock())


async def _with_known(ctx: Services, batch: TopicBatch) -> TopicBatch:
    """Add the agent's current insights, the observations they rest on, and nearby observations outside any insight.

    Observations that wait for a later batch are left out.
    """
    scope = batch.scope
    select = Select(scope.user, scope.agent, kinds=frozenset({"insight"}), current=True, live_at=ctx.clock())
    insights = [record async for page in ctx.store.scan(select) for record in page if isinstance(record, Insight)]
    insights = [one for one in insights if one.scope.agent == scope.agent and one.namespace != SUMMARY_NAMESPACE]
    ids = dict.fromkeys(id for insight in insights for id in insight.sources)
    records = (await ctx.store.fetch(scope.user, list(ids))).records.values()
    sources = {record.id: record for record in records if isinstance(record, Observation)}
    pages = ctx.store.scan(Select(scope.user, scope.agent, kinds=frozenset({"observation"}), pending="reflect"))
    waiting = {record.id async for page in pages for record in page if isinstance(record, Observation)}
    texts = [observation.text for observation in batch.observations]
    others = [one for one in await related(ctx, scope, texts) if ctx.may_state(one)]
    near = [memory for memory in others if memory.id not in sources and memory.id not in waiting]
    return replace(batch, insights=tuple(insights), sources=sources, near=tuple(near))


__all__ = ["REFLECTION_STEPS", "TopicBatch", "job", "reconcile", "update"]
