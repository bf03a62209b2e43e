"""reconcile: contradictions and repeats over the long term, as ``update`` saw them among the facts of one subject.

No call: the model has nominated, the rules of ``supersession`` decide.
"""

from __future__ import annotations

from dataclasses import replace

from memscope.pipeline import WorkerContext, worker
from memscope.reconciliation.supersession import SOURCES, contradicted, joined, replaced, same_subject
from memscope.records import Observation, Revision, Supersession
from memscope.reflection.batch import Batch, Relation


@worker(reads=["relations"], writes=["closed", "revised", "actions"], name="reconcile")
async def reconcile(batch: Batch, ctx: WorkerContext) -> Batch:
    """Each observation at most once: over, or merged into an older one."""
    touched: set[str] = set()
    for relation in batch.relations:
        newer, older = relation.newer, relation.older
        if {newer.id, older.id} & touched or newer.closed or older.closed or not same_subject(newer, older):
            continue
        touched |= {newer.id, older.id}
        batch = _over(batch, relation, ctx) if relation.relation == "contradicts" else _merged(batch, relation, ctx)
    return batch


def _over(batch: Batch, relation: Relation, ctx: WorkerContext) -> Batch:
    closing = contradicted(relation.newer, relation.older, ctx.clock())
    assert closing is not None
    gone = relation.older if closing.id == relation.older.id else relation.newer
    return _close(batch, closing).act("superseded", gone, by=closing.by)


def _merged(batch: Batch, relation: Relation, ctx: WorkerContext) -> Batch:
    newer, older = relation.newer, relation.older
    batch = _close(batch, replaced(newer, older, ctx.clock()))
    if len(older.sources) < SOURCES:
        batch = replace(batch, revised=(*batch.revised, _with_sources(older, newer)))
    return batch.act("merged", newer, into=older.id)


def _with_sources(older: Observation, newer: Observation) -> Revision:
    """``said`` stays: it could be known since it was first said."""
    return Revision(replace(joined(older, newer), said=older.said), older.version)


def _close(batch: Batch, closing: Supersession) -> Batch:
    return replace(batch, closed=(*batch.closed, closing))
