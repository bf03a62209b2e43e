"""Insights without the sentences that have ended by the time asked about, though no job took them out."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

from memscope.languages.insight_text import as_read
from memscope.records import FetchResult, Handle, Insight, Observation, Record
from memscope.retrieval.query import Query
from memscope.services import Services


async def with_insights_as_read(
    query: Query, fetched: FetchResult, handles: Sequence[Handle], ctx: Services
) -> FetchResult:
    """Return the records with the insights as they read at the time of the query; those of which nothing holds go."""
    insights = {handle: one for handle in handles if isinstance(one := fetched.records.get(handle), Insight)}
    ids = list(dict.fromkeys(id for one in insights.values() for id in one.sources))
    if not ids:
        return fetched
    records = (await ctx.store.fetch(query.scope.user, ids)).records.values()
    facts = {one.id: one for one in records if isinstance(one, Observation)}
    when = query.as_of or query.now
    read = {handle: as_read(one, facts, when) for handle, one in insights.items()}
    others: dict[Handle, Record | None] = {handle: new for handle, new in read.items() if new is not insights[handle]}
    return FetchResult(ChainMap(others, fetched.records), fetched.derived) if others else fetched  # type: ignore[arg-type]  # only read
