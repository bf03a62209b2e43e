"""reconcile: merge facts that are already known, supersede memories that no longer hold.

Rules first: the same words about the same subject are one fact. Only pairs that are close but not equal are shown to
the model, in one call; ``reconciliation.settlement`` applies its verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pydantic import BaseModel, model_validator

from memscope.consolidation.batch import FactBatch
from memscope.consolidation.recap import find_recaps
from memscope.dates.iso import written
from memscope.models.structured_output import ask
from memscope.pipeline import WorkerContext, worker
from memscope.prompts.loader import Prompts
from memscope.reconciliation.related import related
from memscope.reconciliation.settlement import FactRelation, Settlement
from memscope.reconciliation.similarity import CLOSE, closeness, same
from memscope.reconciliation.supersession import Verdict, by_saying, same_subject
from memscope.records import Interval, Json, Observation, Scope
from memscope.text.tokens import fold

PAIRS = 12  # in one call
PAIRS_A_FACT = 3


class PairVerdict(BaseModel):
    pair: int
    relation: Verdict


class Verdicts(BaseModel):
    pairs: list[PairVerdict]


@lru_cache(PAIRS)
def schema(count: int) -> type[Verdicts]:
    """Returns ``Verdicts`` limited to this number of pairs."""

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


@worker(reads=["facts", "turns", "before"], writes=["facts", "revised", "closed", "actions"])
async def reconcile(batch: FactBatch, ctx: WorkerContext) -> FactBatch:
    """Merge repeated facts, then supersede memories that the new facts end."""
    known = await related(ctx, Scope(batch.user, batch.agent), [fact.text for fact in batch.facts])
    settlement = Settlement(
        {fact.id: fact for fact in batch.facts}, ctx.clock(), find_recaps(batch), propose=ctx.settings.approve
    )
    merge_known(settlement, known)
    pairs = nominate_pairs(list(settlement.fresh.values()), [settlement.latest(old) for old in known])
    if pairs:
        settlement.settle(await judge_pairs(pairs, ctx))
    return apply_settlement(batch, settlement)


def apply_settlement(batch: FactBatch, settlement: Settlement) -> FactBatch:
    batch = replace(
        batch,
        facts=tuple(settlement.fresh.values()),
        revised=(*batch.revised, *settlement.revised.values()),
        closed=(*batch.closed, *settlement.closed.values()),
    )
    for action in settlement.actions:
        batch = batch.act(action.name, action.memory, **action.more)
    return batch


# ---------------------------------------------------------------------------------------------------- without a model


def is_equal(one: Observation, other: Observation) -> bool:
    """Returns whether both say the same about the same subject; events on different days differ."""
    return same_subject(one, other) and same(one.text, other.text) and _together(one.happened, other.happened)


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


def nominate_pairs(facts: Sequence[Observation], known: Sequence[Observation]) -> list[Pair]:
    """Returns the closest pairs about one subject: each new fact with known ones, and with new ones before it."""
    pairs: list[Pair] = []
    for place, fact in enumerate(facts):
        others = [make_pair(fact, old) for old in (*known, *facts[:place]) if same_subject(fact, old)]
        close = sorted((one for one in others if one.closeness >= CLOSE), key=lambda one: -one.closeness)
        pairs += close[:PAIRS_A_FACT]
    return sorted(pairs, key=lambda one: -one.closeness)[:PAIRS]


def make_pair(fact: Observation, other: Observation) -> Pair:
    topics = {fold(word) for word in fact.keywords} & {fold(word) for word in other.keywords} - {fold(fact.about)}
    old, new = by_saying(fact, other)
    return Pair(new, old, closeness(fact.text, other.text, without=fact.about, topics=bool(topics)))


# --------------------------------------------------------------------------------------------------- with a model


async def judge_pairs(pairs: Sequence[Pair], ctx: WorkerContext) -> list[FactRelation]:
    """Ask the model for verdicts on all pairs, in one call."""
    shown = [_pair_data(number, pair) for number, pair in enumerate(pairs, 1)]
    messages = (ctx.prompts or Prompts()).messages("reconcile", [pair.new.text for pair in pairs], shown)
    assert ctx.chat is not None
    reply = await ask(ctx.chat, messages, schema(len(pairs)))
    verdicts = {verdict.pair: verdict.relation for verdict in reply.pairs}
    return [FactRelation(pair.new, pair.old, verdicts[number]) for number, pair in enumerate(pairs, 1)]


def _pair_data(number: int, pair: Pair) -> dict[str, Json]:
    both = (pair.old, pair.new)
    when = [written(fact.happened) if fact.happened else "" for fact in both]
    said = [f"{fact.said:%Y-%m-%d}" for fact in both]
    told = {"pair": number, "old": pair.old.text, "new": pair.new.text, "said": said}
    return {**told, "when": when} if any(when) else told
