"""reconcile: merge facts that are already known and supersede memories that no longer hold, without a model call.

Rules come first: equal words about the same subject are one fact. ``reconciliation.settlement`` then applies the
verdicts in extract's reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from memscope.consolidation.batch import FactBatch
from memscope.consolidation.known_names import known_aliases
from memscope.languages.similarity import MIN_SIMILARITY, closeness, same
from memscope.pipeline import worker
from memscope.reconciliation.approval import proposed_before
from memscope.reconciliation.related import related
from memscope.reconciliation.settlement import FactRelation, Settlement
from memscope.reconciliation.subjects import Aliases, People, meet, subjects, user_names
from memscope.reconciliation.vetoes import keywords
from memscope.records import Interval, Observation, Turn
from memscope.services import Services
from memscope.text.topics import topics

MAX_EVENT_LENGTH = timedelta(days=3)  # two facts about a time no longer than this may tell of one event


@worker(
    reads=["facts", "refused_facts", "relations", "turns", "before"],
    writes=["facts", "refused_facts", "rejected", "judged", "revised", "closed", "actions"],
)
async def reconcile(batch: FactBatch, ctx: Services) -> FactBatch:
    """Merge repeated facts, then apply the model's verdicts."""
    batch = await without_earlier_proposals(batch, ctx) if ctx.settings.approve else batch
    named = [relation.old for relation in batch.relations]
    known = await related(ctx, batch.scope, [fact.text for fact in batch.facts], named)
    about = [fact.about for fact in (*batch.facts, *known)]
    aliases: Aliases = await known_aliases(batch.scope, about, ctx) if known else frozenset()
    # Thousands of comparisons: in a thread, to keep the event loop of an embedding agent free.
    settlement = await asyncio.to_thread(_settle, batch, known, aliases, ctx)
    batch = batch.judge({"wrong_verdict": len(settlement.refused) + len(settlement.over_limit)})
    return replace(batch.settled(settlement), facts=tuple(settlement.fresh.values()))


def _settle(batch: FactBatch, known: Sequence[Observation], aliases: Aliases, ctx: Services) -> Settlement:
    fresh, people = {fact.id: fact for fact in batch.facts}, People(user_names((*batch.facts, *known)), aliases)
    recaps = frozenset(fact.id for fact in batch.facts if is_recap(fact, batch))
    settlement = Settlement(fresh, ctx.clock(), recaps, ctx.settings.approve, people)
    facts = {fact.id: fact for fact in (*known, *batch.facts)}
    merge_known(settlement, known)
    relations = []
    for one in batch.relations:
        new, old = facts.get(one.new), facts.get(one.old)
        if new is None or old is None or set(new.sources) == set(old.sources):
            continue  # facts from exactly the same turns do not affect each other
        if one.verdict == "ends" and new.said < old.said:
            new, old = old, new  # an old conversation is read late: the known fact is the newer one
        relations.append(FactRelation(new, old, one.verdict, one.rest))
    settlement.settle(relations)
    return settlement


async def without_earlier_proposals(batch: FactBatch, ctx: Services) -> FactBatch:
    """Drop facts that already await approval or that a person rejected."""
    before = await proposed_before(ctx.store, batch.scope)
    noted = (*batch.facts, *batch.refused_facts)
    again = await asyncio.to_thread(
        lambda: [fact for fact in noted if any(is_proposed_again(fact, one) for one in before)]
    )
    for fact in again:
        batch = batch.refuse("proposed_before", fact.text, [quote.text for quote in fact.quotes])
    facts = tuple(fact for fact in batch.facts if fact not in again)
    return replace(batch, facts=facts, refused_facts=tuple(fact for fact in batch.refused_facts if fact not in again))


# ---------------------------------------------------------------------------------------------------- without a model


def is_equal(one: Observation, other: Observation) -> bool:
    """Return whether both say the same about the same subject; events on different days differ."""
    one_subject = subjects(one.about) == subjects(other.about)
    return one_subject and same(one.text, other.text) and _together(one.happened, other.happened)


def is_proposed_again(fact: Observation, before: Observation) -> bool:
    """Match an equal earlier proposal, or another wording of it that rests on the same quotes."""
    if is_equal(fact, before):
        return True
    rests_on_words = all(any(same(quote.text, other.text) for other in before.quotes) for quote in fact.quotes)
    if not fact.quotes or not rests_on_words or not meet(fact, before) or not _together(fact.happened, before.happened):
        return False
    names = " ".join((fact.about, before.about))
    return closeness(fact.text, before.text, without=names, topics=_share_topic(fact, before)) >= MIN_SIMILARITY


def _together(one: Interval | None, other: Interval | None) -> bool:
    return one is None or other is None or one.overlaps(other)


def merge_known(settlement: Settlement, known: Sequence[Observation]) -> None:
    """Merge each fact into an equal one that is known or earlier in the batch; that one gains its sources.

    A known fact with the same id is no duplicate: another worker stored it after this one's lease expired.
    """
    before: list[Observation] = []
    for fact in list(settlement.fresh.values()):
        others = (one for one in (*before, *known) if one.id != fact.id)
        equal = next((other for other in others if is_equal(fact, settlement.latest(other))), None)
        if equal is None:
            before.append(fact)
        else:
            settlement.merge(fact, settlement.latest(equal), recap=fact.id in settlement.recaps)


def _share_topic(one: Observation, other: Observation) -> bool:
    """Match facts that share a keyword or everyday topic ("diet", "food"), or are events of the same time."""
    if keywords(one) & keywords(other) or _topics(one) & _topics(other):
        return True
    return _is_event(one.happened) and _is_event(other.happened) and _together(one.happened, other.happened)


def _topics(fact: Observation) -> frozenset[int]:
    return topics(" ".join(fact.keywords))


def _is_event(when: Interval | None) -> bool:
    return when is not None and when.end - when.start <= MAX_EVENT_LENGTH


def is_recap(fact: Observation, batch: FactBatch) -> bool:
    """Return whether the assistant stated the fact and the person only confirmed it.

    An answer to the assistant's question is no recap: "Are you allergic to nuts?", "Yes".
    """
    cited = [(batch.turn(quote.turn), quote.text) for quote in fact.quotes]
    restated = [words for turn, words in cited if turn.role == "assistant" and not _stands_in_question(words, turn)]
    spoken = [words for turn, words in cited if turn.role != "assistant"]
    return bool(restated) and not any(closeness(fact.text, words) for words in spoken)


def _stands_in_question(words: str, turn: Turn) -> bool:
    """Return whether the sentence that contains the words is a question."""
    behind = turn.text[turn.text.find(words) + len(words.rstrip("?？ ")) :]
    end = next((mark for mark in behind if mark in ".!?。！？\n"), "")
    return end in ("?", "？")
