"""Write topics as insights: their sentences, and as sources every fact ever placed under the subject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from memscope.languages.insight_text import composed, headed
from memscope.reconciliation.insight_sentences import attributed, corrected, end_came_since
from memscope.reconciliation.supersession import supersede
from memscope.records import ChangeSet, Insight, Observation, Revision, Select, Sentence, Supersession
from memscope.records.identity import memory_id
from memscope.reflection.batch import Topic, TopicBatch
from memscope.stores import Store
from memscope.text.tokens import fold

MAX_INSIGHT_VALUE_CHARS = 1_500  # of the sentences; the oldest beyond that become a separate insight


def with_insights(batch: TopicBatch, now: datetime) -> TopicBatch:
    """Write the batch's topics: changed sentences supersede the old insight, additional sources only revise it."""
    known = {topic.insight.id for topic in batch.topics if topic.insight}
    others = [Topic(one.subject, one, attributed(one, batch.facts)) for one in batch.insights if one.id not in known]
    settled = [_without_ended(batch, topic, now) for topic in (*batch.topics, *others)]
    topics = [part for topic in settled for part in _parts(batch, topic)]
    for ordinal, topic in enumerate(topics):
        batch = _written(batch, topic, ordinal, now)
    return batch


def _without_ended(batch: TopicBatch, topic: Topic, now: datetime) -> Topic:
    """Drop what ended facts say from the topic, and replace merged facts by their survivors."""
    facts = batch.facts
    ended = {closing.id: closing.by for closing in batch.closed if closing.valid_to is not None}
    ended |= {one.id: one.superseded_by for one in ended_since(batch, topic.insight, now)}
    replacements = {id: [facts[by]] if by in facts else [] for id, by in ended.items()}
    sentences = corrected(topic.sentences, replacements, facts, topic.worded)
    ids = [dict.fromkeys(_survivor(batch, id) for id in sentence.sources) for sentence in sentences]
    named = (replace(one, sources=tuple(fact_ids)) for one, fact_ids in zip(sentences, ids, strict=True))
    return replace(topic, sentences=tuple(named))


def ended_since(batch: TopicBatch, insight: Insight | None, now: datetime) -> list[Observation]:
    """Return the facts of an insight that have ended since it was written."""
    if insight is None:
        return []
    facts = [batch.sources[id] for id in insight.sources if id in batch.sources]
    return [
        fact for fact in facts
        if end_came_since(fact, insight, now) or (fact.valid_to and fact.closed and fact.closed > insight.recorded)
    ]  # fmt: skip


def _survivor(batch: TopicBatch, id: str) -> str:
    """Return the fact into which this one was merged, through any number of merges."""
    merged = {closing.id: closing.by for closing in batch.closed if closing.valid_to is None and closing.by}
    seen: set[str] = set()
    while id not in seen:
        seen.add(id)
        fact = batch.sources.get(id)
        if fact is not None and fact.superseded_by and fact.valid_to is None:
            id = fact.superseded_by
        else:
            id = merged.get(id, id)
    return id


def _parts(batch: TopicBatch, topic: Topic) -> Iterator[Topic]:
    """Split an overlong topic: yield its older sentences as dated topics, then the topic with the newest ones."""
    parts: list[list[Sentence]] = [[]]
    for sentence in reversed(topic.sentences):
        if parts[-1] and sum(len(one.text) for one in (*parts[-1], sentence)) > MAX_INSIGHT_VALUE_CHARS:
            parts.append([])
        parts[-1].insert(0, sentence)
    for older in reversed(parts[1:]):
        ids = [id for one in older for id in one.sources]
        days = sorted(fact.said for id in ids if (fact := batch.facts.get(id)))
        when = f" ({days[0]:%Y-%m-%d} – {days[-1]:%Y-%m-%d})" if days else ""
        yield Topic(f"{topic.subject}{when}", None, tuple(older))
    yield replace(topic, sentences=tuple(parts[0]))


def _written(batch: TopicBatch, topic: Topic, ordinal: int, now: datetime) -> TopicBatch:
    old = topic.insight
    if not topic.sentences:
        gone = (Supersession(old.id, None, now, old.said, old.said),) if old else ()
        return replace(batch, closed=(*batch.closed, *gone))
    stated = [id for sentence in topic.sentences for id in sentence.sources]
    placed = [observation.id for observation in batch.observations if observation.id in topic.placed]
    ids = (*(old.sources if old else ()), *stated, *placed)
    sources = tuple(dict.fromkeys(_survivor(batch, id) for id in ids))
    newest = max([batch.facts[id].said for id in sources if id in batch.facts] + ([old.said] if old else []))
    if old and [one.text for one in attributed(old, batch.facts)] == [sentence.text for sentence in topic.sentences]:
        grown = replace(old, sources=sources, sentences=topic.sentences, said=newest, recorded=now)
        if set(sources) <= set(old.sources) and old.sentences in ((), topic.sentences):
            return batch
        return replace(batch, revised=(*batch.revised, Revision(grown, old.version)))
    insight = Insight(
        id=memory_id(batch.id, ordinal), scope=batch.scope, text=composed(topic.subject, topic.sentences),
        sources=sources, said=newest, recorded=now, origin="reflect", subject=topic.subject, sentences=topic.sentences,
    )  # fmt: skip
    batch = replace(batch, new=(*batch.new, insight))
    if old is None:
        return batch
    closing = replace(supersede(old, insight, now), valid_to=insight.said)
    return replace(batch, closed=(*batch.closed, closing)).act("superseded", old, by=insight.id)


async def stated_insight(store: Store, fact: Observation, subject: str) -> ChangeSet:
    """Make a person's statement about a subject an insight that supersedes the present one.

    The one said later holds: an insight stated late is superseded by those said after it.
    """
    select = Select(fact.scope.user, fact.scope.agent, kinds=frozenset({"insight"}), current=True)
    insights = [record async for page in store.scan(select) for record in page if isinstance(record, Insight)]
    same = [one for one in insights if one.scope == fact.scope and fold(one.subject) == fold(subject)]
    insight = Insight(
        id=memory_id(fact.id, 0), scope=fact.scope, text=headed(subject, fact.text), sources=(fact.id,),
        said=fact.said, recorded=fact.recorded, origin=fact.origin, subject=subject, name=fact.name,
        namespace=fact.namespace, data=fact.data, expires=fact.expires,
    )  # fmt: skip
    pairs = [(one, insight) for one in same if one.said <= fact.said]
    pairs += [(insight, one) for one in sorted(same, key=lambda one: one.said) if one.said > fact.said][:1]
    closed = [replace(supersede(old, new, fact.recorded), valid_to=new.said) for old, new in pairs]
    return ChangeSet((replace(fact, name=None, namespace=None, data={}), insight), tuple(closed))
