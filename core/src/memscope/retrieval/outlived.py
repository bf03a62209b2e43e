"""Insights without the sentences that have ended by the time asked about, though no job took them out."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Sequence
from datetime import datetime

from memscope.languages.insight_text import as_read
from memscope.records import FetchResult, Handle, Insight, Observation, Record
from memscope.retrieval.query import Query
from memscope.services import Services
from memscope.stores import Store


async def insights_as_read(
    store: Store, user: str, insights: Iterable[Insight], when: datetime
) -> list[Insight | None]:
    """Return each insight as it reads then, None for one of which nothing holds; the facts are fetched once."""
    asked = list(insights)
    ids = list(dict.fromkeys(id for one in asked for id in one.sources))
    records = (await store.fetch(user, ids)).records.values() if ids else ()
    facts = {one.id: one for one in records if isinstance(one, Observation)}
    return [as_read(one, facts, when) for one in asked]


async def with_insights_as_read(
    query: Query, fetched: FetchResult, handles: Sequence[Handle], ctx: Services
) -> FetchResult:
    """Return the records with the insights as they read at the time of the query; those of which nothing holds go."""
    insights = {handle: one for handle in handles if isinstance(one := fetched.records.get(handle), Insight)}
    when = query.as_of or query.now
    read = zip(insights, await insights_as_read(ctx.store, query.scope.user, insights.values(), when), strict=True)
    others: dict[Handle, Record | None] = {handle: new for handle, new in read if new is not insights[handle]}
    return FetchResult(ChainMap(others, fetched.records), fetched.derived) if others else fetched  # type: ignore[arg-type]  # only read
