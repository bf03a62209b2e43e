"""reconcile: settle the long-term contradictions and repetitions that ``update`` reported, without a model call.

``reconciliation.settlement`` applies the verdicts.
"""

from __future__ import annotations

from memscope.pipeline import worker
from memscope.reconciliation.settlement import FactRelation, Settlement
from memscope.reconciliation.subjects import may_meet, share_thing
from memscope.reflection.batch import TopicBatch
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
