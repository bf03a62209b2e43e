"""update: rewrite the insight of each changed subject from its facts.

One call a topic, all at once, as many as the settings allow; what is beyond stays for the next batch. A topic whose
call fails leaves its observations unseen: they are tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pydantic import BaseModel, field_validator, model_validator

from memscope.dates.iso import written
from memscope.errors import ModelError, ModelReplyError
from memscope.models.structured_output import ask
from memscope.pipeline import WorkerContext, worker
from memscope.prompts import visible
from memscope.prompts.loader import Prompts
from memscope.reconciliation.settlement import relation_of
from memscope.reconciliation.similarity import same, translated
from memscope.reconciliation.supersession import Verdict, replaced
from memscope.records import Insight, Json, Observation
from memscope.reflection.batch import Topic, TopicBatch, memory_id
from memscope.text.language import language

FACTS = 20  # of one subject in a call, the latest
SHOWN = 300  # characters of a fact
LONGEST = 1_000  # of a value


class Related(BaseModel):
    older: int
    newer: int
    relation: Verdict


class Value(BaseModel):
    """The subject's value, and the facts that say so."""

    value: str
    facts: list[int]
    relations: list[Related]

    @field_validator("value")
    @classmethod
    def _some(cls, value: str) -> str:
        value = " ".join(visible(value).split())
        if not 0 < len(value) <= LONGEST:
            raise ValueError(f"the value must have 1 to {LONGEST} characters")
        return value


@lru_cache(FACTS)
def schema(count: int) -> type[Value]:
    """Returns a ``Value`` that must rest on at least one of this number of facts."""

    class Grounded(Value):
        @model_validator(mode="after")
        def _complete(self) -> Grounded:
            if not set(self.facts) & set(range(1, count + 1)):
                raise ValueError(f"the value must rest on facts from 1 to {count}")
            return self

    Grounded.__name__ = Grounded.__qualname__ = "Value"
    return Grounded


@dataclass(frozen=True, slots=True)
class TopicUpdate:
    """A topic, the facts shown to the model, and its reply or the reason there is none."""

    topic: Topic
    facts: Sequence[Observation]
    value: Value | None
    error: ModelError | None = None


@worker(reads=["topics"], writes=["new", "closed", "relations", "updated", "failed"])
async def update(batch: TopicBatch, ctx: WorkerContext) -> TopicBatch:
    """Write new insights, each in the place of the one before it."""
    chosen = batch.topics[: ctx.settings.reflection.calls]
    told = await asyncio.gather(*(update_topic(topic, ctx) for topic in chosen))
    errors = [one.error for one in told if one.error]
    if errors and len(errors) == len(told) and not batch.alone:
        raise errors[0]
    for ordinal, one in enumerate(told):
        batch = apply_update(batch, one, ordinal, ctx)
    missed = {id for one in told if not one.value for id in one.topic.placed}
    updated = {id for one in told for id in one.topic.placed} - missed
    updated -= {id for topic in batch.topics[len(chosen) :] for id in topic.placed}
    return replace(batch, updated=frozenset(updated))


async def update_topic(topic: Topic, ctx: WorkerContext) -> TopicUpdate:
    facts = sorted(topic.facts, key=lambda fact: (fact.said, fact.id))[-FACTS:]
    messages = (ctx.prompts or Prompts()).messages("update", [fact.text for fact in facts], topic_data(topic, facts))
    assert ctx.chat is not None
    try:
        value = await ask(ctx.chat, messages, schema(len(facts)))
        if translated(value.value, [fact.text for fact in facts]):
            raise ModelReplyError("the value is not in the language of its facts")
        return TopicUpdate(topic, facts, value)
    except ModelError as error:
        return TopicUpdate(topic, facts, None, error)


def topic_data(topic: Topic, facts: Sequence[Observation]) -> Json:
    value = topic.insight.text if topic.insight else ""
    return {"subject": topic.subject, "value": value, "facts": [_fact_data(n, fact) for n, fact in enumerate(facts, 1)]}


def _fact_data(number: int, fact: Observation) -> dict[str, Json]:
    told = {"n": number, "said": f"{fact.said:%Y-%m-%d}", "text": fact.text[:SHOWN]}
    if fact.happened:
        told["when"] = written(fact.happened)
    return {**told, "over": True} if fact.closed else told


def apply_update(batch: TopicBatch, told: TopicUpdate, ordinal: int, ctx: WorkerContext) -> TopicBatch:
    """Convert the value to an insight. An unchanged value changes nothing."""
    if told.value is None:
        return replace(batch, failed=(*batch.failed, told.error.code)) if told.error else batch
    numbers = range(1, len(told.facts) + 1)
    relations = tuple(
        relation_of(told.facts[one.newer - 1], told.facts[one.older - 1], one.relation)
        for one in told.value.relations
        if one.newer in numbers and one.older in numbers and one.newer != one.older
    )
    batch = replace(batch, relations=(*batch.relations, *relations))
    insight = make_insight(batch, told.topic.subject, told.value, told.facts, ordinal, ctx)
    old = told.topic.insight
    if old is not None and same(old.text, insight.text):
        return batch
    batch = replace(batch, new=(*batch.new, insight)).act("new", insight)
    if old is None:
        return batch
    closing = replace(replaced(old, insight, ctx.clock()), valid_to=insight.said)
    return replace(batch, closed=(*batch.closed, closing)).act("superseded", old, by=insight.id)


def make_insight(
    batch: TopicBatch, subject: str, value: Value, facts: Sequence[Observation], ordinal: int, ctx: WorkerContext
) -> Insight:
    used = [facts[number - 1] for number in dict.fromkeys(value.facts) if 1 <= number <= len(facts)]
    colon = "：" if language(value.value) in ("zh", "ja") else ": "
    return Insight(
        id=memory_id(batch.id, ordinal),
        scope=batch.scope,
        text=f"{subject}{colon}{value.value}",
        sources=tuple(fact.id for fact in used),
        said=max(fact.said for fact in used),
        recorded=ctx.clock(),
        origin="reflect",
        subject=subject,
    )
