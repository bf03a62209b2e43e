"""Insights as of a time: without sentences of facts that had ended or expired, even if no job has removed them yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from memscope.languages.insight_text import as_read
from memscope.records import Insight, Observation
from memscope.stores import Store


async def insights_as_read(
    store: Store, user: str, insights: Iterable[Insight], when: datetime, now: datetime
) -> list[Insight | None]:
    """Return each insight as it reads at ``when``, or None if nothing of it holds. Facts are fetched once.

    What has expired by ``now`` counts as ended at ``when``: it is not shown of the past either.
    """
    asked = list(insights)
    ids = list(dict.fromkeys(id for one in asked for id in one.sources))
    records = (await store.fetch(user, ids)).records.values() if ids else ()
    facts = {
        record.id: replace(record, valid_to=when) if record.expired(now) else record
        for record in records
        if isinstance(record, Observation)
    }
    return [as_read(one, facts, when) for one in asked]
