"""update: place new observations under subjects and rewrite the sentences there, in one call.

The reply adds, merges, moves and drops numbered sentences. Sentences that were not shown stay untouched, and one is
replaced only if none of its names and numbers is lost. Where a sentence is unusable, or has a name that the model
was not shown, the facts stand in their own words. An observation that the reply ignores stays pending. One placed in no
subject is done, and is shown again beside a similar one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from memscope.errors import ModelReplyCut, ModelReplyError
from memscope.languages.names import names
from memscope.languages.similarity import translated
from memscope.languages.wording import every
from memscope.models.structured_output import null_as
from memscope.pipeline import worker
from memscope.prompts import visible
from memscope.reconciliation.insight_sentences import (
    MIN_COVERED_WORD_SHARE,
    attributed,
    covers_text,
    keeps_details,
    with_fact,
    without_heading,
)
from memscope.reconciliation.settlement import relation_of
from memscope.reconciliation.supersession import Verdict
from memscope.records import Insight, Observation, Sentence
from memscope.reflection.batch import Topic, TopicBatch
from memscope.reflection.known_insights import ShownFacts, shown
from memscope.services import Services
from memscope.text.tokens import fold

MAX_TOPIC_CHARS = 80
MIN_REPORTED_WORD_SHARE = 0.5  # share of a fact's words in a sentence if the model reports nothing new
MAX_REPLY_SENTENCE_CHARS = 400  # of a sentence
MIN_FACTS_PER_SUBJECT = 2  # for a new subject


Number = Annotated[int, null_as(0)]
Numbers = Annotated[list[int], null_as([])]
Text = Annotated[str, null_as("")]
VERDICTS = ("ends", "was", "repeats", "refines", "contradicts")


class Related(BaseModel):
    older: Number
    newer: Number
    relation: Annotated[Verdict, BeforeValidator(lambda one: one if one in VERDICTS else "unrelated")]


class Told(BaseModel):
    insight: Number
    subject: Text
    text: Text
    facts: Numbers
    replaces: Numbers


class Updates(BaseModel):
    sentences: list[Told]
    alone: list[int]
    relations: list[Related]


@dataclass(frozen=True)
class Entry:
    """A sentence of the reply: its text, the facts it rests on, and the sentences it replaces."""

    text: str
    facts: Sequence[Observation]
    old: Sequence[tuple[Insight, Sentence]]


@dataclass
class Draft:
    """A subject of the reply with its entries, and its insight's sentences with the entries applied."""

    subject: str
    insight: Insight | None
    entries: list[Entry] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    worded: set[str] = field(default_factory=set)

    @property
    def facts(self) -> dict[str, Observation]:
        return {fact.id: fact for entry in self.entries for fact in entry.facts}


@worker(
    reads=["scope", "observations", "insights", "sources", "near"],
    writes=["observations", "topics", "alone", "relations", "rejected"],
)
async def update(batch: TopicBatch, ctx: Services) -> TopicBatch:
    """Place every observation and write its news. If the reply was cut, retry with half of the batch."""
    view = shown(batch, ctx.clock())
    texts = [fact.text for fact in batch.observations]
    try:
        return apply_updates(batch, view, await ctx.ask("update", texts, view.data, Updates))
    except ModelReplyCut:
        if len(batch.observations) == 1:
            raise
        half = batch.observations[: len(batch.observations) // 2]  # the others stay pending for the next batch
        return await update(replace(batch, observations=half), ctx)


def apply_updates(batch: TopicBatch, view: ShownFacts, reply: Updates) -> TopicBatch:
    """Convert the reply to topics. Raise ``ModelReplyError`` if it places none of the facts."""
    drafts, reasons = _drafts(batch, view, reply)
    new = {fact.id for fact in batch.observations}
    alone = {view.facts[n - 1].id for n in reply.alone if 1 <= n <= len(view.facts)} & new
    for key in [key for key, draft in drafts.items() if not _makes_subject(draft)]:
        alone |= drafts.pop(key).facts.keys() & new
    topics = _topics(batch, [*drafts.values()], new, reasons)
    placed = {id for topic in topics for id in topic.placed}
    if not placed and not alone:
        raise ModelReplyError("the reply places none of the facts")
    numbers = range(1, len(view.facts) + 1)
    relations = tuple(
        relation_of(view.facts[relation.newer - 1], view.facts[relation.older - 1], relation.relation)
        for relation in reply.relations
        if relation.newer in numbers and relation.older in numbers and relation.newer != relation.older
    )
    batch = batch.reject(reasons)
    return replace(batch, topics=topics, alone=frozenset(alone - placed), relations=(*batch.relations, *relations))


def _drafts(batch: TopicBatch, view: ShownFacts, reply: Updates) -> tuple[dict[str, Draft], Counter[str]]:
    """Group the reply by subject, matching known subjects by name; also count unusable parts by reason."""
    known = {fold(insight.subject): insight for insight in batch.insights}
    data = fold(json.dumps(view.data, ensure_ascii=False))
    drafts: dict[str, Draft] = {}
    reasons: Counter[str] = Counter()
    for one in reply.sentences:
        if not 0 <= one.insight <= len(view.insights):
            reasons["unknown_number"] += 1
            continue
        name = view.insights[one.insight - 1].subject if one.insight else " ".join(visible(one.subject).split())
        facts = [view.facts[n - 1] for n in one.facts if 1 <= n <= len(view.facts)]
        old = [view.sentences[n - 1] for n in dict.fromkeys(one.replaces) if 1 <= n <= len(view.sentences)]
        reasons["unknown_number"] += len(one.facts) - len(facts) + len({*one.replaces}) - len(old)
        insight = known.get(fold(name))
        if not 0 < len(name) <= MAX_TOPIC_CHARS:
            reasons["too_long" if name else "no_subject"] += 1
        elif insight is None and translated(name, [fact.text for fact in facts] or [name]):
            reasons["translated"] += 1  # its facts stay pending without a usable subject
        else:
            draft = drafts.setdefault(fold(name), Draft(insight.subject if insight else name, insight))
            entry = Entry(without_heading(one.text, draft.subject), facts, old)
            unknown = (name for name in names(entry.text) if name.weight and name.kind != "topic")
            if any(fold(name.text) not in data for name in unknown) and not _refusal(entry):
                reasons["invented_name"] += 1
                entry = replace(entry, text="")  # its facts stand in their own words
            draft.entries.append(entry)
    return drafts, reasons


def _makes_subject(draft: Draft) -> bool:
    """Return whether the subject exists, has enough facts, or is the collective one for single lasting facts."""
    facts = draft.facts.keys() | {id for entry in draft.entries for _, one in entry.old for id in one.sources}
    basic = bool(facts) and fold(draft.subject).endswith(tuple(every("basics")))
    return draft.insight is not None or basic or len(facts) >= MIN_FACTS_PER_SUBJECT


# ---- the sentences


def _topics(batch: TopicBatch, drafts: list[Draft], new: set[str], reasons: Counter[str]) -> tuple[Topic, ...]:
    """Apply the entries of all drafts, those that only drop or move sentences last."""
    of = {draft.insight.id: draft for draft in drafts if draft.insight}
    for insight in [one for draft in drafts for entry in draft.entries for one, _ in entry.old]:
        if insight.id not in of:  # an insight that only loses sentences
            of[insight.id] = Draft(insight.subject, insight)
            drafts.append(of[insight.id])
    for draft in drafts:
        draft.sentences = [*attributed(draft.insight, batch.facts)] if draft.insight else []
    pairs = [(draft, entry) for draft in drafts for entry in draft.entries]
    for draft, entry in sorted(pairs, key=lambda pair: not (pair[1].text or pair[1].facts)):
        reasons.update(_apply(batch, draft, entry, of))
    return tuple(
        Topic(
            draft.subject, draft.insight, tuple(draft.sentences), frozenset(draft.facts) & new,
            frozenset(sentence for sentence in draft.sentences if sentence.text in draft.worded),
        )
        for draft in drafts
    )  # fmt: skip


def _apply(batch: TopicBatch, draft: Draft, entry: Entry, of: dict[str, Draft]) -> Counter[str]:
    """Add what the entry says to the draft and remove what it replaces; count refusals by reason."""
    old = [(of[insight.id], one) for insight, one in entry.old if one in of[insight.id].sentences]
    if not entry.text and not entry.facts:
        return Counter({"would_lose": sum(not _take_out(batch, draft, home, one) for home, one in old)})
    refused = _refusal(entry)
    text = entry.text if not refused else ""
    whole = text or " ".join(fact.text for fact in entry.facts)
    gone = [(home, one) for home, one in old if not refused and keeps_details(whole, one, batch.facts)]
    at = min((draft.sentences.index(one) for home, one in gone if home is draft), default=None)
    for home, one in gone:
        if one in home.sentences:  # not an equal one, which is gone already
            home.sentences.remove(one)
    known = [one for _, one in entry.old]  # the text may have words even of those that it fails to replace
    ids = tuple(dict.fromkeys([*(fact.id for fact in entry.facts), *(id for one in known for id in one.sources)]))
    if text and (entry.facts or gone):
        draft.worded.add(text)
        if at is None:
            draft.sentences = with_fact(draft.sentences, text, ids)
        else:
            draft.sentences.insert(at, Sentence(text, ids))
    min_share = MIN_COVERED_WORD_SHARE if entry.text or old else MIN_REPORTED_WORD_SHARE
    for fact in () if text else entry.facts:
        draft.sentences = with_fact(draft.sentences, fact.text, [fact.id], min_share)
    return Counter({refused: 1} if refused else {"would_lose": len(old) - len(gone)})


def _take_out(batch: TopicBatch, draft: Draft, home: Draft, one: Sentence) -> bool:
    """Move a sentence to the draft. In its own draft, drop it if another says the same or all its facts have ended."""
    if one not in home.sentences:  # it was equal to one that is gone already
        return True
    if home is not draft:
        draft.sentences.append(one)
    elif not any(covers_text(other.text, one.text) for other in home.sentences if other is not one) and not all(
        id in batch.facts and batch.facts[id].closed for id in one.sources
    ):
        return False
    home.sentences.remove(one)
    return True


def _refusal(entry: Entry) -> str:
    """Return why an entry's text is unusable: too long, or not in the language of its facts."""
    texts = [fact.text for fact in entry.facts] + [one.text for _, one in entry.old]
    if entry.text and texts and translated(entry.text, texts):
        return "translated"
    return "too_long" if len(entry.text) > MAX_REPLY_SENTENCE_CHARS else ""
