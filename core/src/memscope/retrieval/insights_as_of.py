"""Insights as of a time: without sentences of facts that had ended or expired, even if no job has removed them yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from memscope.languages.insight_text import as_read
from memscope.records import Insight, Observation, Record
from memscope.stores import Store


async def insights_as_read(
    store: Store, user: str, insights: Iterable[Insight], when: datetime, now: datetime, *, expiry_alone: bool = False
) -> list[Insight | None]:
    """Return each insight as it reads at ``when``, or None if nothing of it holds. Facts are fetched once.

    What has expired by ``now`` counts as ended at ``when``: it is not shown of the past either. ``expiry_alone``: leave
    insights as they are stored unless they rest on something expired.
    """
    asked = list(insights)
    ids = list(dict.fromkeys(id for one in asked for id in one.sources))
    records = (await store.fetch(user, ids)).records.values() if ids else ()
    facts = {record.id: record for record in records if isinstance(record, Observation)}
    expired = {id: replace(fact, valid_to=when) for id, fact in facts.items() if fact.expired(now)}
    facts |= expired
    return [
        one if expiry_alone and expired.keys().isdisjoint(one.sources) else as_read(one, facts, when) for one in asked
    ]


async def without_expired_facts(store: Store, user: str, records: Sequence[Record], now: datetime) -> list[Record]:
    """Leave out of insights what rests on expired facts, which reads hide although ``reflect`` has not run since."""
    insights = (one for one in records if isinstance(one, Insight))
    read = iter(await insights_as_read(store, user, insights, now, now, expiry_alone=True))
    shown = (next(read) if isinstance(one, Insight) else one for one in records)
    return [one for one in shown if one is not None]
