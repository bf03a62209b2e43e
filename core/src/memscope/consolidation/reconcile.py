"""reconcile: what was known already is merged, what is no longer true is superseded.

Rules first: the same words about the same subject are one fact. Only pairs that are close but not equal are shown to
the model, in one call; it nominates, and the rules of ``supersession`` decide which of the two is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, model_validator

from memscope.consolidation.batch import Batch
from memscope.dates.iso import written
from memscope.models.structured_output import ask
from memscope.pipeline import WorkerContext, worker
from memscope.prompts.loader import Prompts
from memscope.reconciliation.related import near
from memscope.reconciliation.similarity import CLOSE, closeness, same
from memscope.reconciliation.supersession import SOURCES, contradicted, joined, replaced, same_subject
from memscope.records import Interval, Json, Observation, Revision, Scope, Supersession
from memscope.text.tokens import fold

PAIRS = 12  # in one call
PAIRS_A_FACT = 3
Relation = Literal["contradicts", "repeats", "refines", "unrelated"]


class Verdict(BaseModel):
    pair: int
    relation: Relation


class Verdicts(BaseModel):
    pairs: list[Verdict]


@lru_cache(PAIRS)
def schema(count: int) -> type[Verdicts]:
    """``Verdicts`` on each of so many pairs."""

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
    new: Observation
    old: Observation
    closeness: float


@worker(reads=["facts"], writes=["facts", "revised", "closed", "actions"])
async def reconcile(batch: Batch, ctx: WorkerContext) -> Batch:
    """Facts that are new, once each; memories that are repeated or over."""
    batch = unite(batch)
    known = await near(ctx, Scope(batch.user, batch.agent), [fact.text for fact in batch.facts])
    batch = recognise(batch, known)
    pairs = nominate(batch.facts, known)
    if not pairs:
        return batch
    relations = await judge(pairs, ctx)
    for pair, relation in zip(pairs, relations, strict=True):
        batch = settle(batch, pair, relation, ctx)
    return batch


# ---------------------------------------------------------------------------------------------------- without a model


def equal(one: Observation, other: Observation) -> bool:
    """The same about the same; what happens on different days is not the same."""
    return same_subject(one, other) and same(one.text, other.text) and _together(one.happened, other.happened)


def _together(one: Interval | None, other: Interval | None) -> bool:
    return one is None or other is None or one.overlaps(other)


def unite(batch: Batch) -> Batch:
    """Facts of the batch that say the same become one, with the quotes of all."""
    kept: list[Observation] = []
    for fact in batch.facts:
        place = next((i for i, other in enumerate(kept) if equal(fact, other)), None)
        if place is None:
            kept.append(fact)
        else:
            kept[place] = joined(kept[place], fact)
            batch = batch.act("merged", fact, into=kept[place].id)
    return replace(batch, facts=tuple(kept))


def recognise(batch: Batch, known: Sequence[Observation]) -> Batch:
    """Facts that are known already add their source to what is known."""
    for fact in batch.facts:
        old = next((old for old in known if equal(fact, old)), None)
        if old is not None:
            batch = repeated(batch, fact, old)
    return batch


def repeated(batch: Batch, fact: Observation, old: Observation) -> Batch:
    """``said`` stays: the fact could be known since it was first said."""
    batch = replace(batch, facts=tuple(other for other in batch.facts if other.id != fact.id))
    if any(other.id == old.id for other in batch.facts):
        united = tuple(joined(other, fact) if other.id == old.id else other for other in batch.facts)
        return replace(batch, facts=united).act("merged", fact, into=old.id)
    before = _revised(batch).get(old.id, old)
    if len(before.sources) < SOURCES and not set(fact.sources) <= set(before.sources):
        revision = Revision(replace(joined(before, fact), said=old.said), old.version)
        batch = replace(batch, revised=(*_without(batch, old.id), revision))
    return batch.act("merged", fact, into=old.id)


def _revised(batch: Batch) -> dict[str, Observation]:
    return {one.memory.id: one.memory for one in batch.revised if isinstance(one.memory, Observation)}


def _without(batch: Batch, id: str) -> tuple[Revision, ...]:
    return tuple(revision for revision in batch.revised if revision.memory.id != id)


def nominate(facts: Sequence[Observation], known: Sequence[Observation]) -> list[Pair]:
    """The closest pairs about one subject: each new fact with what is known, and with the new ones before it."""
    pairs: list[Pair] = []
    for place, fact in enumerate(facts):
        others = [pair(fact, old) for old in (*known, *facts[:place]) if same_subject(fact, old)]
        close = sorted((one for one in others if one.closeness >= CLOSE), key=lambda one: -one.closeness)
        pairs += close[:PAIRS_A_FACT]
    return sorted(pairs, key=lambda one: -one.closeness)[:PAIRS]


def pair(new: Observation, old: Observation) -> Pair:
    topics = {fold(word) for word in new.keywords} & {fold(word) for word in old.keywords} - {fold(new.about)}
    return Pair(new, old, closeness(new.text, old.text, without=new.about, topics=bool(topics)))


# --------------------------------------------------------------------------------------------------- with a model


async def judge(pairs: Sequence[Pair], ctx: WorkerContext) -> list[Relation]:
    """The one call."""
    shown = [_shown(number, pair) for number, pair in enumerate(pairs, 1)]
    messages = (ctx.prompts or Prompts()).messages("reconcile", [pair.new.text for pair in pairs], shown)
    assert ctx.chat is not None
    reply = await ask(ctx.chat, messages, schema(len(pairs)))
    relations = {verdict.pair: verdict.relation for verdict in reply.pairs}
    return [relations[number] for number in range(1, len(pairs) + 1)]


def _shown(number: int, pair: Pair) -> dict[str, Json]:
    both = (pair.old, pair.new)
    when = [written(fact.happened) if fact.happened else "" for fact in both]
    said = [f"{fact.said:%Y-%m-%d}" for fact in both]
    told = {"pair": number, "old": pair.old.text, "new": pair.new.text, "said": said}
    return {**told, "when": when} if any(when) else told


def settle(batch: Batch, pair: Pair, relation: Relation, ctx: WorkerContext) -> Batch:
    """What the verdict leads to, unless one of the two is gone or over by an earlier one."""
    facts = {fact.id: fact for fact in batch.facts}
    over = {closing.id for closing in batch.closed}
    if relation == "unrelated" or pair.new.id not in facts or {pair.new.id, pair.old.id} & over:
        return batch
    new, old = facts[pair.new.id], facts.get(pair.old.id) or _revised(batch).get(pair.old.id) or pair.old
    if relation == "repeats":
        return repeated(batch, new, old)
    if relation == "refines":
        return refined(batch, new, old, ctx)
    closing = contradicted(new, old, ctx.clock())
    if closing is None:
        return batch
    gone = old if closing.id == old.id else new
    return close(batch, closing).act("superseded", gone, by=closing.by)


def refined(batch: Batch, new: Observation, old: Observation, ctx: WorkerContext) -> Batch:
    """The new one stands on the sources of both."""
    whole = joined(new, old)
    inside = any(fact.id == old.id for fact in batch.facts)
    facts = tuple(whole if fact.id == new.id else fact for fact in batch.facts if fact.id != old.id)
    batch = replace(batch, facts=facts)
    if inside:
        return batch.act("merged", old, into=new.id)
    return close(batch, replaced(old, whole, ctx.clock())).act("superseded", old, by=new.id)


def close(batch: Batch, closing: Supersession) -> Batch:
    """What is over is not revised as well."""
    return replace(batch, closed=(*batch.closed, closing), revised=_without(batch, closing.id))
