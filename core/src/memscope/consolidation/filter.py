"""filter: drop facts whose level is not kept (MemoryScope's scale from 0 to 3; by default 2 and 3 are kept)."""

from __future__ import annotations

from dataclasses import replace

from memscope.consolidation.batch import FactBatch
from memscope.pipeline import worker
from memscope.services import Services


@worker(reads=["facts"], writes=["facts", "rejected", "actions"], name="filter")
async def by_level(batch: FactBatch, ctx: Services) -> FactBatch:
    """Drop and report facts of other levels: by default small talk, hypotheses and fiction."""
    facts = tuple(fact for fact in batch.facts if fact.level in ctx.settings.consolidation.levels)
    for fact in batch.facts:
        if fact not in facts:
            batch = batch.refuse("level", fact.text, [quote.text for quote in fact.quotes])
    return replace(batch, facts=facts)
