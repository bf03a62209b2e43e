"""Full names of the people and things that a batch calls by a shorter name or a role: "Anna", "my sister"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from memscope.consolidation.batch import FactBatch
from memscope.entities.cache import ask
from memscope.entities.index import EntityIndex, EntityView
from memscope.errors import StoreError
from memscope.reconciliation.subjects import Aliases, folded_name, role_names, subjects
from memscope.records import Scope
from memscope.records.filters import has_name
from memscope.services import Services

MAX_KNOWN_NAMES = 12  # per call
MAX_TURNS_READ = 5_000  # stores without change tracking read all names again each time: skip larger users there


async def known_names(batch: FactBatch, ctx: Services) -> Mapping[str, str]:
    """Map each short name in the batch that means one entity only to its full name; empty if the store fails."""
    text = "\n".join(turn.text for turn in (*batch.before, *batch.turns))
    by_alias = await _names_by_alias(batch.scope, ctx, lambda alias: has_name(text, alias))
    return dict(list(by_alias.items())[:MAX_KNOWN_NAMES])


async def known_aliases(scope: Scope, about: Iterable[str], ctx: Services) -> Aliases:
    """Pair aliases that facts are ``about`` ("my sister", or a merged name) with the name of their entity."""
    named = {name for one in about for name in subjects(one)}
    by_alias = await _names_by_alias(scope, ctx, lambda alias: not named.isdisjoint(role_names(folded_name(alias))))
    return frozenset(
        (role, folded_name(name)) for alias, name in by_alias.items() for role in role_names(folded_name(alias))
    )


async def _names_by_alias(scope: Scope, ctx: Services, is_wanted: Callable[[str], bool]) -> dict[str, str]:
    """Map each wanted alias that means one entity only to that entity's name; empty if the store fails."""

    def question(index: EntityIndex) -> dict[str, str]:
        by_alias: dict[str, set[str]] = {}
        for node in index.nodes:
            for alias in node.aliases if node.kind != "topic" else ():
                if is_wanted(alias):
                    by_alias.setdefault(alias, set()).add(node.name)
        return {alias: next(iter(names)) for alias, names in by_alias.items() if len(names) == 1}

    try:
        if not hasattr(ctx.store, "changes") and (await ctx.store.stats(scope.user)).turns > MAX_TURNS_READ:
            return {}
        return await ask(ctx.store, scope.user, EntityView(scope.agent, None, None, ctx.clock()), question)
    except StoreError:
        return {}
