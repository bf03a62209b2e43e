"""split: an insight whose value has grown too long becomes several, each with its facts; nothing is cut.

One call per such insight. If it fails the value stays as long as it is, and the next change tries again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, Field

from memscope.errors import ModelError, ModelReplyError
from memscope.pipeline import worker
from memscope.prompts import visible
from memscope.reconciliation.similarity import closeness, translated
from memscope.records import Json, Observation
from memscope.reflection.batch import Topic, TopicBatch, without_heading
from memscope.reflection.update import MAX_SHOWN_FACT_CHARS, MAX_TOPIC_CHARS
from memscope.services import Services
from memscope.text.tokens import fold

MAX_INSIGHT_VALUE_CHARS = 1_000  # characters of a value
MAX_SHOWN_FACTS = 60  # that are shown, the latest


class Part(BaseModel):
    subject: str = Field(min_length=1, max_length=MAX_TOPIC_CHARS)
    value: str = Field(min_length=1, max_length=MAX_INSIGHT_VALUE_CHARS)
    facts: list[int]


class Parts(BaseModel):
    insights: list[Part] = Field(min_length=2, max_length=5)


@worker(reads=["topics", "insights", "sources"], writes=["topics", "failed"])
async def split(batch: TopicBatch, ctx: Services) -> TopicBatch:
    """Replace each topic that is too long by its parts."""
    told = await asyncio.gather(*(_parts(batch, topic, ctx) for topic in batch.topics))
    errors = tuple(one.code for one in told if isinstance(one, ModelError))
    parts = zip(batch.topics, told, strict=True)
    topics = [one for topic, made in parts for one in ((topic,) if isinstance(made, ModelError) else made)]
    return replace(batch, topics=tuple(topics), failed=(*batch.failed, *errors))


async def _parts(batch: TopicBatch, topic: Topic, ctx: Services) -> Sequence[Topic] | ModelError:
    if len(topic.value) <= MAX_INSIGHT_VALUE_CHARS:
        return (topic,)
    facts = list({fact.id: fact for fact in (*batch.facts_of(topic.insight), *topic.facts)}.values())
    shown = sorted(facts, key=lambda fact: (fact.said, fact.id))[-MAX_SHOWN_FACTS:]
    texts = [fact.text for fact in shown]
    try:
        reply = await ctx.ask("split", texts, split_data(topic, shown), Parts)
        if any(translated(part.value, texts) for part in reply.insights):
            raise ModelReplyError("a value is not in the language of its facts")
    except ModelError as error:
        return error
    return divide(batch, topic, facts, shown, reply.insights)


def split_data(topic: Topic, facts: Sequence[Observation]) -> Json:
    told: list[Json] = [{"n": number, "text": fact.text[:MAX_SHOWN_FACT_CHARS]} for number, fact in enumerate(facts, 1)]
    return {"subject": topic.subject, "value": topic.value, "facts": told}


def divide(
    batch: TopicBatch, topic: Topic, facts: Sequence[Observation], shown: Sequence[Observation], parts: Sequence[Part]
) -> list[Topic]:
    """Return a topic per part. Every fact rests under one: its own by the reply, else the one it is closest to.

    The part with the old name, else the first, takes the place of the old insight; the others are new.
    """
    names = _names(batch, topic, parts)
    heir = next((at for at, name in enumerate(names) if fold(name) == fold(topic.subject)), 0)
    named = {shown[n - 1].id: at for at, part in enumerate(parts) for n in part.facts if 1 <= n <= len(shown)}
    homes = {fact.id: named[fact.id] if fact.id in named else _closest(fact, parts) for fact in facts}
    made = []
    for at, part in enumerate(parts):
        own = tuple(fact for fact in facts if homes[fact.id] == at)
        value = without_heading(" ".join(visible(part.value).split()), part.subject)
        old = topic.insight if at == heir else None
        made.append(Topic(names[at], old, value, own, topic.placed & {fact.id for fact in own}, whole=True))
    return [one for one in made if one.facts]


def _names(batch: TopicBatch, topic: Topic, parts: Sequence[Part]) -> list[str]:
    """Return the names of the parts; one that another insight has gets the old subject before it."""
    taken = [insight.subject for insight in batch.insights] + [other.subject for other in batch.topics]
    others = set(map(fold, taken)) - {fold(topic.subject)}
    names = [" ".join(visible(part.subject).split()) for part in parts]
    return [f"{topic.subject}: {name}" if fold(name) in others else name for name in names]


def _closest(fact: Observation, parts: Sequence[Part]) -> int:
    return max(range(len(parts)), key=lambda at: closeness(fact.text, parts[at].value))
