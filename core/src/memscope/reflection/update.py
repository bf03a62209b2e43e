"""update: place new observations under subjects, and bring the insights of these subjects up to date, in one call.

The call is bounded: the batch, facts near it, the nearest insights (the first of them with their values). What it
places stays placed: a value that cannot be used keeps the insight's own, with the facts added to it. An observation
that the reply leaves out is not marked as seen; one that stands alone is, and may join a subject later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from memscope.dates.iso import written
from memscope.errors import ModelReplyCut, ModelReplyError
from memscope.languages.statements import sentences
from memscope.languages.worded import every
from memscope.pipeline import worker
from memscope.prompts import visible
from memscope.reconciliation.related import related
from memscope.reconciliation.settlement import relation_of
from memscope.reconciliation.similarity import closeness, form, translated
from memscope.reconciliation.supersession import Verdict
from memscope.records import Insight, Json, Observation
from memscope.reflection.batch import Topic, TopicBatch, value_of, without_heading
from memscope.services import Services
from memscope.text.tokens import fold

MAX_EARLIER_FACTS = 20  # facts near the new ones
MIN_TOPIC_COSINE = 0.2
MAX_NAMED_INSIGHTS, MAX_SHOWN_VALUES = 40, 12  # insights that are named; those whose values are shown
MAX_SHOWN_FACT_CHARS = 300  # characters that are shown
MAX_TOPIC_CHARS = 80
MIN_FACTS_PER_SUBJECT = 2  # facts make a new subject


class Related(BaseModel):
    older: int
    newer: int
    relation: Verdict


class Update(BaseModel):
    insight: int
    subject: str
    value: str
    facts: list[int]


class Updates(BaseModel):
    insights: list[Update]
    alone: list[int]
    relations: list[Related]


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """Facts (new ones, then those near them) and insights as the model sees them; ``values``: how many with a value."""

    facts: Sequence[Observation]
    insights: Sequence[Insight]
    values: int


@dataclass
class TopicDraft:
    """The reply on one subject."""

    subject: str
    insight: Insight | None
    value: str = ""
    facts: dict[str, Observation] = field(default_factory=dict)


@worker(
    reads=["scope", "observations", "insights", "sources"],
    writes=["observations", "topics", "alone", "relations", "rejected"],
)
async def update(batch: TopicBatch, ctx: Services) -> TopicBatch:
    """Place every observation and rewrite the values that change. A reply that was cut halves the batch."""
    shown = await _shown(batch, ctx)
    texts = [fact.text for fact in batch.observations]
    try:
        return apply_updates(batch, shown, await ctx.ask("update", texts, update_data(batch, shown), Updates))
    except ModelReplyCut:
        if len(batch.observations) == 1:
            raise
        half = batch.observations[: len(batch.observations) // 2]  # the others stay unseen: the next batch has them
        return await update(replace(batch, observations=half), ctx)


# --------------------------------------------------------------------------------------------------------- the question


async def _shown(batch: TopicBatch, ctx: Services) -> ShownFacts:
    texts = [fact.text for fact in batch.observations]
    own = {fact.id for fact in batch.observations}
    near = [fact for fact in await related(ctx, batch.scope, texts) if fact.id not in own]
    rated = sorted((-max(closeness(fact.text, text) for text in texts), fact.id, fact) for fact in near)
    earlier = [fact for score, _, fact in rated[:MAX_EARLIER_FACTS] if -score >= MIN_TOPIC_COSINE]
    lost = {insight.id for insight in batch.insights if over(batch, insight)}
    insights = sorted(nearest_in_turn(batch.insights, batch.observations), key=lambda one: one.id not in lost)
    return ShownFacts((*batch.observations, *earlier), insights[:MAX_NAMED_INSIGHTS], max(MAX_SHOWN_VALUES, len(lost)))


def nearest_in_turn(insights: Sequence[Insight], facts: Sequence[Observation]) -> list[Insight]:
    """Return the insights, the one nearest to each fact first, then the second nearest, ...

    What many insights share with one fact, the name of a person for one, crowds out none that another fact needs.
    """
    order: dict[str, Insight] = {}
    rankings = [
        sorted(insights, key=lambda one: (-closeness(one.text, fact.text, without=fact.about), one.id))
        for fact in facts
    ]
    for group in zip(*rankings, strict=True):
        order |= {one.id: one for one in group if one.id not in order}
    return [*order.values()]


def over(batch: TopicBatch, insight: Insight) -> list[str]:
    """Return the facts under the insight that one of the batch has ended: a repeat that was merged ended nothing."""
    own = {fact.id for fact in batch.observations}
    facts = (batch.sources[id] for id in insight.sources if id in batch.sources)
    return [fact.text for fact in facts if fact.superseded_by in own and fact.valid_to is not None]


def update_data(batch: TopicBatch, shown: ShownFacts) -> Json:
    facts = [_fact_data(number, fact) for number, fact in enumerate(shown.facts, 1)]
    count = len(batch.observations)
    insights = [
        _insight_data(batch, number, insight, valued=number <= shown.values)
        for number, insight in enumerate(shown.insights, 1)
    ]
    return {"facts": facts[:count], "earlier": facts[count:], "insights": insights}


def _fact_data(number: int, fact: Observation) -> dict[str, Json]:
    told: dict[str, Json] = {"n": number, "said": f"{fact.said:%Y-%m-%d}", "text": fact.text[:MAX_SHOWN_FACT_CHARS]}
    if fact.happened:
        told["when"] = written(fact.happened)
    return {**told, "about": fact.about}


def _insight_data(batch: TopicBatch, number: int, insight: Insight, *, valued: bool) -> dict[str, Json]:
    told: dict[str, Json] = {"n": number, "subject": insight.subject}
    if valued:
        told["value"] = value_of(insight)
    ended = over(batch, insight)
    return {**told, "over": [text[:MAX_SHOWN_FACT_CHARS] for text in ended]} if ended else told


# ------------------------------------------------------------------------------------------------------------ the reply


def apply_updates(batch: TopicBatch, shown: ShownFacts, reply: Updates) -> TopicBatch:
    """Convert the reply to topics. Raises ``ModelReplyError`` if it places none of the facts."""
    drafts, reasons = _drafts(batch, shown, reply)
    own = {fact.id for fact in batch.observations}
    alone = {shown.facts[n - 1].id for n in reply.alone if 1 <= n <= len(shown.facts)} & own
    for key in [key for key, draft in drafts.items() if not _founds(draft)]:
        alone |= drafts.pop(key).facts.keys() & own
    foreign = [key for key, one in drafts.items() if one.insight is None and _is_foreign(one.subject, one)]
    for key in foreign:  # its facts stay unseen: there is no name for their subject
        del drafts[key]
    reasons["translated"] += len(foreign) + sum(_is_foreign(draft.value, draft) for draft in drafts.values())
    topics = tuple(_topic(draft, own, shown) for draft in drafts.values())
    placed = {id for topic in topics for id in topic.placed}
    if not placed and not alone:
        raise ModelReplyError("the reply places none of the facts")
    numbers = range(1, len(shown.facts) + 1)
    relations = tuple(
        relation_of(shown.facts[one.newer - 1], shown.facts[one.older - 1], one.relation)
        for one in reply.relations
        if one.newer in numbers and one.older in numbers and one.newer != one.older
    )
    return replace(
        batch, topics=topics, alone=frozenset(alone - placed), relations=(*batch.relations, *relations)
    ).reject({reason: count for reason, count in reasons.items() if count})


def _drafts(batch: TopicBatch, shown: ShownFacts, reply: Updates) -> tuple[dict[str, TopicDraft], Counter[str]]:
    """Group the reply by subject; a known subject's name means that subject. Also counts what makes no sense."""
    known = {fold(insight.subject): insight for insight in batch.insights}
    drafts: dict[str, TopicDraft] = {}
    reasons: Counter[str] = Counter()
    for one in reply.insights:
        if not 0 <= one.insight <= len(shown.insights):
            reasons["unknown_number"] += 1
            continue
        name = shown.insights[one.insight - 1].subject if one.insight else " ".join(visible(one.subject).split())
        if not 0 < len(name) <= MAX_TOPIC_CHARS:
            reasons["too_long" if name else "no_subject"] += 1
            continue
        insight = known.get(fold(name))
        draft = drafts.setdefault(fold(name), TopicDraft(insight.subject if insight else name, insight))
        facts = [shown.facts[n - 1] for n in one.facts if 1 <= n <= len(shown.facts)]
        reasons["unknown_number"] += len(one.facts) - len(facts)
        draft.facts |= {fact.id: fact for fact in facts}
        draft.value = " ".join(filter(None, (draft.value, without_heading(one.value, draft.subject))))
    return drafts, reasons


def _founds(draft: TopicDraft) -> bool:
    """Return whether the subject is there, has facts enough, or is the one of lone lasting facts."""
    basic = bool(draft.facts) and fold(draft.subject).endswith(tuple(every("basics")))
    return draft.insight is not None or basic or len(draft.facts) >= MIN_FACTS_PER_SUBJECT


def _is_foreign(text: str, draft: TopicDraft) -> bool:
    """Return whether the text is not in the language of the subject's facts."""
    texts = [fact.text for fact in draft.facts.values()] or [draft.insight.text if draft.insight else draft.subject]
    return bool(text) and translated(text, texts)


def _with_news(old: str, value: str) -> str:
    """Return the old value with the sentences of the other that it does not have."""
    known = {form(sentence).tokens for sentence in sentences(old)}
    fresh = (sentence.strip() for sentence in sentences(value) if form(sentence).tokens not in known)
    return " ".join((old, *fresh))


def _topic(draft: TopicDraft, own: set[str], shown: ShownFacts) -> Topic:
    """Return the topic; where the reply has no usable value, the old one with the facts' own sentences.

    A value is added to one that the model did not see, since it cannot hold that.
    """
    value = "" if _is_foreign(draft.value, draft) else draft.value
    old = value_of(draft.insight) if draft.insight else ""
    seen = draft.insight is not None and draft.insight in shown.insights[: shown.values]
    if old and value and not seen:
        value = _with_news(old, value)
    if not value and not (seen and not draft.value):
        value = " ".join([*filter(None, [old]), *(fact.text for fact in draft.facts.values() if fact.text not in old)])
    facts = tuple(draft.facts.values())
    return Topic(draft.subject, draft.insight, value or old, facts, frozenset(draft.facts) & own)
