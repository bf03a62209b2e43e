"""Names that the turns of a batch use for people and things known under a fuller one: "Anna", "my sister"."""

from __future__ import annotations

from collections.abc import Mapping

from memscope.consolidation.batch import FactBatch
from memscope.entities.cache import ask
from memscope.entities.index import EntityIndex, EntityView
from memscope.errors import StoreError
from memscope.pipeline import WorkerContext
from memscope.records.filters import has_name

MOST = 12  # in one call
MOST_TURNS = 5_000  # of a user whose names are read anew each time, where the store tells no changes


async def known_names(batch: FactBatch, ctx: WorkerContext) -> Mapping[str, str]:
    """Returns the full name for each shorter one in the batch that means one entity only; none if the store fails."""
    text = "\n".join(turn.text for turn in (*batch.before, *batch.turns))

    def question(index: EntityIndex) -> dict[str, str]:
        found: dict[str, set[str]] = {}
        for node in index.nodes:
            for alias in node.aliases if node.kind != "topic" else ():
                if has_name(text, alias):
                    found.setdefault(alias, set()).add(node.name)
        return {alias: next(iter(names)) for alias, names in found.items() if len(names) == 1}

    try:
        if not hasattr(ctx.store, "changes") and (await ctx.store.stats(batch.user)).turns > MOST_TURNS:
            return {}
        view = EntityView(batch.agent, None, None, ctx.clock())
        return dict(list((await ask(ctx.store, batch.user, view, question)).items())[:MOST])
    except StoreError:
        return {}
