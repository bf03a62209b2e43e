"""reconcile: merge facts that are already known, supersede memories that no longer hold.

Rules first: the same words about the same subject are one fact. Only pairs that are close but not equal are shown to
the model, in one call; ``reconciliation.settlement`` applies its verdicts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache

from pydantic import BaseModel, model_validator

from memscope.consolidation.batch import FactBatch
from memscope.consolidation.extract import clean
from memscope.consolidation.known_names import known_aliases
from memscope.dates.iso import written
from memscope.errors import ModelReplyError
from memscope.languages.worded import every
from memscope.pipeline import worker
from memscope.reconciliation.approval import proposed_before
from memscope.reconciliation.related import related
from memscope.reconciliation.settlement import FactRelation, Settlement
from memscope.reconciliation.similarity import MIN_SIMILARITY, closeness, same
from memscope.reconciliation.subjects import (
    NO_ALIASES,
    NOBODY,
    Aliases,
    may_meet,
    meet,
    share_thing,
    subjects,
    user_names,
)
from memscope.reconciliation.supersession import Verdict, by_saying
from memscope.records import Interval, Json, Observation, Scope, Turn
from memscope.services import Services
from memscope.text.tokens import fold
from memscope.text.topics import topics

MAX_PAIRS_PER_CALL = 12  # in one call
PAIRS_A_FACT = 3
MAX_EVENT_LENGTH = timedelta(days=3)  # what lasts no longer may be one event, told twice


class PairVerdict(BaseModel):
    pair: int
    relation: Verdict
    rest: str = ""


class Verdicts(BaseModel):
    pairs: list[PairVerdict]


@lru_cache(MAX_PAIRS_PER_CALL)
def schema(count: int) -> type[Verdicts]:
    """Return ``Verdicts`` limited to this number of pairs."""

    class All(Verdicts):
        @model_validator(mode="after")
        def _complete(self) -> All:
            if missing := set(range(1, count + 1)) - {verdict.pair for verdict in self.pairs}:
                raise ValueError(f"no relation for pair {min(missing)}")
            return self

    All.__name__ = All.__qualname__ = "Verdicts"
    return All


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts about one subject; ``new`` is the one said later."""

    new: Observation
    old: Observation
    closeness: float


@worker(
    reads=["facts", "refused_facts", "turns", "before"],
    writes=["facts", "refused_facts", "rejected", "revised", "closed", "actions"],
)
async def reconcile(batch: FactBatch, ctx: Services) -> FactBatch:
    """Merge repeated facts, then supersede memories that the new facts end."""
    batch = await without_earlier_proposals(batch, ctx) if ctx.settings.approve else batch
    known = await related(ctx, Scope(batch.user, batch.agent), [fact.text for fact in batch.facts])
    aliases = await known_aliases(batch, [fact.about for fact in (*batch.facts, *known)], ctx) if known else NO_ALIASES
    # Thousands of comparisons: beside an agent's loop, as consolidate may run in its process.
    settlement, pairs = await asyncio.to_thread(_compare, batch, known, aliases, ctx)
    if pairs:
        settlement.settle(await judge_pairs(pairs, ctx))
    return replace(batch.settled(settlement), facts=tuple(settlement.fresh.values()))


def _compare(
    batch: FactBatch, known: Sequence[Observation], aliases: Aliases, ctx: Services
) -> tuple[Settlement, list[Pair]]:
    own, fresh = user_names((*batch.facts, *known)), {fact.id: fact for fact in batch.facts}
    settlement = Settlement(fresh, ctx.clock(), find_recaps(batch), ctx.settings.approve, own, aliases)
    merge_known(settlement, known)
    latest = [settlement.latest(old) for old in known]
    return settlement, nominate_pairs([*settlement.fresh.values()], latest, own, aliases)


async def without_earlier_proposals(batch: FactBatch, ctx: Services) -> FactBatch:
    """Leave out facts that wait already, and those that a person rejected."""
    before = await proposed_before(ctx.store, Scope(batch.user, batch.agent))
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
    return (
        subjects(one.about) == subjects(other.about)
        and same(one.text, other.text)
        and _together(one.happened, other.happened)
    )


def is_proposed_again(fact: Observation, before: Observation) -> bool:
    """Return whether the fact is an earlier proposal, or another wording of it that rests on the same words."""
    return is_equal(fact, before) or (
        _rests_on_words_of(fact, before)
        and meet(fact, before)
        and _together(fact.happened, before.happened)
        and make_pair(fact, before).closeness >= MIN_SIMILARITY
    )


def _rests_on_words_of(fact: Observation, before: Observation) -> bool:
    told = [quote.text for quote in before.quotes]
    return bool(fact.quotes) and all(any(same(quote.text, words) for words in told) for quote in fact.quotes)


def _together(one: Interval | None, other: Interval | None) -> bool:
    return one is None or other is None or one.overlaps(other)


def merge_known(settlement: Settlement, known: Sequence[Observation]) -> None:
    """Merge facts equal to an earlier one of the batch or to a known one: that one gains their sources."""
    before: list[Observation] = []
    for fact in list(settlement.fresh.values()):
        kept = next((one for one in (*before, *known) if is_equal(fact, settlement.latest(one))), None)
        if kept is None:
            before.append(fact)
        else:
            settlement.merge(fact, settlement.latest(kept), recap=fact.id in settlement.recaps)


def nominate_pairs(
    facts: Sequence[Observation],
    known: Sequence[Observation],
    own: frozenset[str] = NOBODY,
    aliases: Aliases = NO_ALIASES,
) -> list[Pair]:
    """Return the closest pairs about one subject: each new fact with known ones, and with new ones before it.

    Facts of one message are no pair: what was said in one breath stands side by side. Those that meet by a thing of one
    owner ("the user's boss") are close by that.
    """
    pairs: list[Pair] = []
    for place, fact in enumerate(facts):
        others = [old for old in (*known, *facts[:place]) if set(old.sources) != set(fact.sources)]
        made = [pair for old in others if (pair := _pair_of_one_subject(fact, old, own, aliases))]
        pairs += sorted((one for one in made if one.closeness >= MIN_SIMILARITY), key=lambda one: -one.closeness)[
            :PAIRS_A_FACT
        ]
    return sorted(pairs, key=lambda one: -one.closeness)[:MAX_PAIRS_PER_CALL]


def _pair_of_one_subject(fact: Observation, other: Observation, own: frozenset[str], aliases: Aliases) -> Pair | None:
    if may_meet(fact, other, own, aliases):
        return make_pair(fact, other, own)
    if share_thing(fact, other, own):
        old, new = by_saying(fact, other)
        return Pair(new, old, max(MIN_SIMILARITY, closeness(fact.text, other.text, without=" ".join(own))))
    return None


def make_pair(fact: Observation, other: Observation, own: frozenset[str] = NOBODY) -> Pair:
    old, new = by_saying(fact, other)
    names = " ".join((fact.about, other.about, *own))
    return Pair(new, old, closeness(fact.text, other.text, without=names, topics=_meet_by_topic(fact, other)))


def _meet_by_topic(one: Observation, other: Observation) -> bool:
    """Return whether the facts share a keyword or an everyday topic ("diet", "food"), or happened at one time."""
    if _keywords(one) & _keywords(other) or _topics(one) & _topics(other):
        return True
    return _is_event(one.happened) and _is_event(other.happened) and _together(one.happened, other.happened)


def _keywords(fact: Observation) -> set[str]:
    return {fold(word) for word in fact.keywords} - subjects(fact.about) - every("other")


def _topics(fact: Observation) -> frozenset[int]:
    return topics(" ".join(fact.keywords))


def _is_event(when: Interval | None) -> bool:
    return when is not None and when.end - when.start <= MAX_EVENT_LENGTH


def find_recaps(batch: FactBatch) -> frozenset[str]:
    """Return ids of recaps: facts that stand in an assistant's statement, not in the words of who confirmed it.

    The answer to an assistant's question is no recap: "Are you allergic to nuts?", "Yes".
    """
    return frozenset(fact.id for fact in batch.facts if _only_agreed_to(fact, batch))


def _only_agreed_to(fact: Observation, batch: FactBatch) -> bool:
    cited = [(batch.turn(quote.turn), quote.text) for quote in fact.quotes]
    restated = [words for turn, words in cited if turn.role == "assistant" and not _asked(words, turn)]
    own = [words for turn, words in cited if turn.role != "assistant"]
    return bool(restated) and not any(closeness(fact.text, words) for words in own)


def _asked(words: str, turn: Turn) -> bool:
    """Return whether the sentence around the words is a question."""
    behind = turn.text[turn.text.find(words) + len(words.rstrip("?？ ")) :]
    end = next((mark for mark in behind if mark in ".!?。！？\n"), "")
    return end in ("?", "？")


# --------------------------------------------------------------------------------------------------- with a model


async def judge_pairs(pairs: Sequence[Pair], ctx: Services) -> list[FactRelation]:
    """Ask the model for verdicts on all pairs in one call; in two where its reply cannot be used."""
    shown = [pair_data(number, pair) for number, pair in enumerate(pairs, 1)]
    try:
        wanted = await asyncio.to_thread(schema, len(pairs))
        reply = await ctx.ask("reconcile", [pair.new.text for pair in pairs], shown, wanted)
    except ModelReplyError:
        if len(pairs) == 1:
            raise
        half = len(pairs) // 2
        return [*await judge_pairs(pairs[:half], ctx), *await judge_pairs(pairs[half:], ctx)]
    verdicts = {verdict.pair: verdict for verdict in reply.pairs}
    told = [(pair, verdicts[number]) for number, pair in enumerate(pairs, 1)]
    return [FactRelation(pair.new, pair.old, verdict.relation, clean(verdict.rest)) for pair, verdict in told]


def pair_data(number: int, pair: Pair) -> dict[str, Json]:
    both = (pair.old, pair.new)
    told: dict[str, Json] = {"pair": number, "old": pair.old.text, "new": pair.new.text}
    told["said"] = [f"{fact.said:%Y-%m-%d}" for fact in both]
    when = [written(fact.happened) if fact.happened else "" for fact in both]
    about = [fact.about for fact in both]
    if any(when):
        told["when"] = when
    return {**told, "about": about} if about[0] != about[1] else told
