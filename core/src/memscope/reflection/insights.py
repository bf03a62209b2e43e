"""Insights made of topics: each rests on every fact that was ever placed under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memscope.reconciliation.similarity import same
from memscope.reconciliation.supersession import replaced
from memscope.records import Insight, Revision
from memscope.reflection.batch import Topic, TopicBatch, memory_id, value_of
from memscope.text.language import language


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
    batch = replace(batch, new=(*batch.new, insight)).act("new", insight)
    if old is None:
        return batch
    closing = replace(replaced(old, insight, now), valid_to=insight.said)
    return replace(batch, closed=(*batch.closed, closing)).act("superseded", old, by=insight.id)


def _sources(batch: TopicBatch, topic: Topic) -> Sequence[str]:
    """Returns the facts' ids, those of the old insight first; for one that was merged, the fact it was merged into."""
    before = () if topic.insight is None or topic.whole else topic.insight.sources
    ids = [_survivor(batch, id) for id in (*before, *(fact.id for fact in topic.facts))]
    return tuple(dict.fromkeys(ids))


def _survivor(batch: TopicBatch, id: str) -> str:
    fact = batch.sources.get(id)
    merged = fact is not None and fact.superseded_by is not None and fact.valid_to is None
    return str(fact.superseded_by) if fact is not None and merged else id


def _made(
    batch: TopicBatch, topic: Topic, sources: Sequence[str], said: datetime, ordinal: int, now: datetime
) -> Insight:
    colon = "：" if language(topic.value) in ("zh", "ja") else ": "
    return Insight(
        id=memory_id(batch.id, ordinal),
        scope=batch.scope,
        text=f"{topic.subject}{colon}{topic.value}",
        sources=tuple(sources),
        said=said,
        recorded=now,
        origin="reflect",
        subject=topic.subject,
    )
