"""subjects: assign each new observation to a known subject, a new one, or none.

One call, bounded: the batch, a few earlier facts near it, the nearest subjects. An observation that the reply leaves
out is not marked as seen; one that stands alone is, and may be joined by a later one through the earlier facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic import BaseModel

from memscope.models.structured_output import ask
from memscope.pipeline import WorkerContext, worker
from memscope.prompts import visible
from memscope.prompts.loader import Prompts
from memscope.reconciliation.related import related
from memscope.reconciliation.similarity import closeness, translated
from memscope.records import Insight, Json, Observation
from memscope.reflection.batch import Topic, TopicBatch
from memscope.text.tokens import fold

EARLIER = 20  # earlier facts
SUBJECTS = 40
LONGEST = 300  # characters of a fact that are shown
LONGEST_NAME = 80
NEAR = 0.2
TOGETHER = 2  # facts make a new subject


class Assignment(BaseModel):
    fact: int
    subject: int
    name: str


class Assignments(BaseModel):
    places: list[Assignment]


@worker(reads=["observations", "insights", "sources"], writes=["topics", "alone", "rejected"])
async def subjects(batch: TopicBatch, ctx: WorkerContext) -> TopicBatch:
    """Assign every observation; also adds the subjects that lost a fact to one of them."""
    earlier = await _earlier_facts(batch, ctx)
    facts = (*batch.observations, *earlier)
    known = nearest_insights(batch.insights, batch.observations)
    most = ctx.settings.reflection.new_subjects
    messages = (ctx.prompts or Prompts()).messages(
        "subjects", [fact.text for fact in batch.observations], subjects_data(batch, earlier, known), most=str(most)
    )
    assert ctx.chat is not None
    reply = await ask(ctx.chat, messages, Assignments)
    return assign_facts(batch, facts, known, reply, most)


async def _earlier_facts(batch: TopicBatch, ctx: WorkerContext) -> list[Observation]:
    """Returns observations near the new ones that no insight rests on yet, the closest first."""
    texts = [fact.text for fact in batch.observations]
    own = {fact.id for fact in batch.observations} | batch.sources.keys()
    found = [fact for fact in await related(ctx, batch.scope, texts) if fact.id not in own]
    rated = [(max(closeness(fact.text, text) for text in texts), fact) for fact in found]
    rated.sort(key=lambda pair: (-pair[0], pair[1].id))
    return [fact for score, fact in rated[:EARLIER] if score >= NEAR]


def nearest_insights(insights: Sequence[Insight], facts: Sequence[Observation]) -> list[Insight]:
    """Returns as many insights as a prompt holds, those whose subjects occur in the facts first."""
    if len(insights) <= SUBJECTS:
        return list(insights)
    rated = [(max(closeness(insight.text, fact.text) for fact in facts), insight) for insight in insights]
    rated.sort(key=lambda pair: (-pair[0], pair[1].id))
    return [insight for _, insight in rated[:SUBJECTS]]


def subjects_data(batch: TopicBatch, earlier: Sequence[Observation], known: Sequence[Insight]) -> Json:
    first = len(batch.observations) + 1
    return {
        "facts": [_fact_data(number, fact) for number, fact in enumerate(batch.observations, 1)],
        "earlier": [_fact_data(number, fact) for number, fact in enumerate(earlier, first)],
        "subjects": [{"n": number, "subject": insight.subject} for number, insight in enumerate(known, 1)],
    }


def _fact_data(number: int, fact: Observation) -> Json:
    return {"n": number, "text": fact.text[:LONGEST], "about": fact.about}


def assign_facts(
    batch: TopicBatch, facts: Sequence[Observation], known: Sequence[Insight], reply: Assignments, most: int
) -> TopicBatch:
    """Convert the reply to topics. A known subject's name means that subject, whether the model was shown it or not."""
    members, reasons = facts_by_subject(facts, known, reply)
    there = {fold(insight.subject): insight for insight in batch.insights}
    alone = {fact.id for fact in members.pop("", [])}
    new = [name for name in members if fold(name) not in there]
    single = [name for name in new if len({fact.id for fact in members[name]}) < TOGETHER]
    alone |= {fact.id for name in single for fact in members.pop(name)}
    foreign = [name for name in new if name in members and translated(name, [fact.text for fact in members[name]])]
    beyond = [name for name in new if name in members and name not in foreign][most:]
    reasons += Counter(translated=len(foreign), too_many_subjects=len(beyond))
    members = {name: placed for name, placed in members.items() if name not in {*foreign, *beyond}}
    topics = [make_topic(batch, name, there.get(fold(name)), placed) for name, placed in members.items()]
    return replace(batch, topics=(*topics, *topics_that_lost_facts(batch, topics)), alone=frozenset(alone)).reject(
        reasons
    )


def facts_by_subject(
    facts: Sequence[Observation], known: Sequence[Insight], reply: Assignments
) -> tuple[dict[str, list[Observation]], Counter[str]]:
    """Group the facts by the subject's name as first written, "" for none; also counts the invalid entries."""
    spelled: dict[str, str] = {}
    members: dict[str, list[Observation]] = {}
    reasons: Counter[str] = Counter()
    for one in reply.places:
        if not 1 <= one.fact <= len(facts) or not 0 <= one.subject <= len(known):
            reasons["unknown_number"] += 1
            continue
        name = known[one.subject - 1].subject if one.subject else " ".join(visible(one.name).split())
        if len(name) > LONGEST_NAME:
            reasons["too_long"] += 1
        else:
            members.setdefault(spelled.setdefault(fold(name), name), []).append(facts[one.fact - 1])
    return members, reasons


def make_topic(batch: TopicBatch, name: str, insight: Insight | None, facts: Iterable[Observation]) -> Topic:
    own = {fact.id for fact in batch.observations}
    before = [batch.sources[id] for id in insight.sources if id in batch.sources] if insight else []
    whole = {fact.id: fact for fact in (*before, *facts)}
    name = insight.subject if insight else name
    return Topic(name, insight, tuple(whole.values()), frozenset(whole) & own)


def topics_that_lost_facts(batch: TopicBatch, topics: Sequence[Topic]) -> list[Topic]:
    """Returns topics with no new fact, one of whose facts was superseded by a new observation."""
    own = {fact.id: fact for fact in batch.observations}
    touched = {fold(topic.subject) for topic in topics}
    found = []
    for insight in batch.insights:
        over = {batch.sources[id].superseded_by for id in insight.sources if id in batch.sources} & own.keys()
        if over and fold(insight.subject) not in touched:
            found.append(make_topic(batch, insight.subject, insight, [own[id] for id in sorted(filter(None, over))]))
    return found
