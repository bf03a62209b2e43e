"""Insights made of topics: each rests on every fact that was ever placed under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memscope import languages
from memscope.reconciliation.similarity import same
from memscope.reconciliation.supersession import replaced
from memscope.records import ChangeSet, Insight, Observation, Revision, Select
from memscope.records.identity import memory_id
from memscope.reflection.batch import Topic, TopicBatch, value_of
from memscope.stores import Store
from memscope.text.tokens import fold


def with_insights(batch: TopicBatch, now: datetime) -> TopicBatch:
    """Write the batch's topics: a new value supersedes the old insight, the same one only gains sources."""
    for ordinal, topic in enumerate(batch.topics):
        batch = _written(batch, topic, ordinal, now)
    return batch


def _written(batch: TopicBatch, topic: Topic, ordinal: int, now: datetime) -> TopicBatch:
    old, sources = topic.insight, _sources(batch, topic)
    if not sources:
        return batch
    said = max([fact.said for fact in topic.facts] + ([old.said] if old and not topic.whole else []))
    if old and same(value_of(old), topic.value) and not topic.whole:
        if set(sources) <= set(old.sources):
            return batch
        grown = replace(old, sources=tuple(dict.fromkeys((*old.sources, *sources))), said=said, recorded=now)
        return replace(batch, revised=(*batch.revised, Revision(grown, old.version)))
    insight = _made(batch, topic, sources, said, ordinal, now)
    batch = replace(batch, new=(*batch.new, insight))
    if old is None:
        return batch
    closing = replace(replaced(old, insight, now), valid_to=insight.said)
    return replace(batch, closed=(*batch.closed, closing)).act("superseded", old, by=insight.id)


def _sources(batch: TopicBatch, topic: Topic) -> Sequence[str]:
    """Return the facts' ids, those of the old insight first; for one that was merged, the fact it was merged into."""
    before = () if topic.insight is None or topic.whole else topic.insight.sources
    ids = [_survivor(batch, id) for id in (*before, *(fact.id for fact in topic.facts))]
    return tuple(dict.fromkeys(ids))


def _survivor(batch: TopicBatch, id: str) -> str:
    fact = batch.sources.get(id)
    merged = fact is not None and fact.superseded_by is not None and fact.valid_to is None
    return str(fact.superseded_by) if fact is not None and merged else id


async def stated_insight(store: Store, fact: Observation, subject: str) -> ChangeSet:
    """Return a person's statement about a subject as an insight on it, in the place of the insight there is."""
    select = Select(fact.scope.user, fact.scope.agent, kinds=frozenset({"insight"}), current=True)
    found = [one async for page in store.scan(select) for one in page if isinstance(one, Insight)]
    old = [
        one for one in found if one.scope == fact.scope and fold(one.subject) == fold(subject) and one.said <= fact.said
    ]
    insight = Insight(
        id=memory_id(fact.id, 0), scope=fact.scope, text=_headed(subject, fact.text), sources=(fact.id,),
        said=fact.said, recorded=fact.recorded, origin=fact.origin, subject=subject, name=fact.name,
        namespace=fact.namespace, data=fact.data, expires=fact.expires,
    )  # fmt: skip
    closed = [replace(replaced(one, insight, fact.recorded), valid_to=fact.said) for one in old]
    return ChangeSet((replace(fact, name=None, namespace=None, data={}), insight), tuple(closed))


def _made(
    batch: TopicBatch, topic: Topic, sources: Sequence[str], said: datetime, ordinal: int, now: datetime
) -> Insight:
    id = memory_id(batch.id, ordinal)
    return Insight(
        id=id, scope=batch.scope, text=_headed(topic.subject, topic.value), sources=tuple(sources), said=said,
        recorded=now, origin="reflect", subject=topic.subject,
    )  # fmt: skip


def _headed(subject: str, value: str) -> str:
    return f"{subject}{languages.main(value).phrases.colon}{value}"
