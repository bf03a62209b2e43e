"""Consolidate: turn a batch of turns into observations with one chat call.

extract ──────▶ filter ──────▶ date ──────▶ reconcile          each takes and returns a FactBatch
chat call:      by the fact's  by rules     rules on the model's
facts, quotes,  level                       verdicts about new
levels                                      and known facts
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

from memscope.consolidation.batch import FactBatch, change_set, resumed
from memscope.consolidation.date import by_rules
from memscope.consolidation.extract import extract
from memscope.consolidation.reconcile import reconcile
from memscope.consolidation.transcript import MAX_CONTEXT_CHARS, MAX_TRANSCRIPT_CHARS, spoken_text
from memscope.jobs.runner import RETRY_FIRST_ITEM_ALONE, Finish, Hooks, StageJob
from memscope.languages.wording import every
from memscope.pipeline import Worker, run, worker
from memscope.reconciliation.insight_sentences import with_corrections
from memscope.records import INJECTED, ChangeSet, Claim, Interval, Scope, Select, Turn, in_zone
from memscope.services import Services

MAX_CONTEXT_AGE = timedelta(days=1)  # older turns are not shown as context
MIN_CONVERSATION_GAP = timedelta(hours=6)  # a longer pause starts a new conversation


@worker(reads=["facts"], writes=["facts", "rejected", "actions"], name="filter")
async def by_level(batch: FactBatch, ctx: Services) -> FactBatch:
    """Drop and report facts whose level is not kept (a scale from 0 to 3): by default small talk and fiction."""
    facts = tuple(fact for fact in batch.facts if fact.level in ctx.settings.consolidation.levels)
    for fact in batch.facts:
        if fact not in facts:
            batch = batch.refuse("level", fact.text, [quote.text for quote in fact.quotes])
    return replace(batch, facts=facts)


CONSOLIDATION_STEPS: tuple[Worker[FactBatch], ...] = (extract, by_level, by_rules, reconcile)


def job(ctx: Services, steps: Sequence[Worker[FactBatch]], hooks: Hooks, finish: Finish | None = None) -> StageJob:
    return StageJob("consolidate", partial(_plan, steps=steps, hooks=hooks), ctx.settings.batch_turns, hooks, finish)


async def _plan(ctx: Services, claim: Claim, steps: Sequence[Worker[FactBatch]], hooks: Hooks) -> ChangeSet:
    records = (await ctx.store.fetch(claim.user, claim.items)).records
    turns = [turn for key in claim.items if isinstance(turn := records.get(key), Turn)]
    chosen = choose_turns(turns, ctx)
    # A long turn is read in parts: save and retry it apart from the other turns.
    if ctx.save and len(claim.items) > 1 and [len(turn.text) > MAX_TRANSCRIPT_CHARS for turn in chosen] == [True]:
        return ChangeSet(report={RETRY_FIRST_ITEM_ALONE: True})
    done = tuple(turn.key for turn in chosen) or claim.items
    hooked = await hooks.before("consolidate", chosen, scope=Scope(claim.user))
    shown = tuple(in_user_zone(turn, ctx) for turn in hooked)
    if not shown:
        return ChangeSet(done=done)
    before = tuple(in_user_zone(turn, ctx) for turn in await earlier_turns(ctx, shown[0]))
    excluded = frozenset(turn.key for turn in shown if not is_eligible(turn, ctx))
    batch = FactBatch("/".join((claim.user, claim.id, *claim.items)), shown, before, excluded)
    changes = change_set(await run(steps, resumed(batch, claim.change_set), ctx), done, propose=ctx.settings.approve)
    return await with_corrections(ctx.store, claim.user, changes, ctx.clock())


def in_user_zone(turn: Turn, ctx: Services) -> Turn:
    """Convert the turn's time to the user's time zone, so that "tomorrow" in it means the user's tomorrow."""
    return replace(turn, time=in_zone(turn.time, ctx.zone)) if ctx.zone else turn


def choose_turns(turns: Sequence[Turn], ctx: Services) -> list[Turn]:
    """Select one agent's turns for one call; once it has half a batch, stop where a conversation ends."""
    chosen: list[Turn] = []
    room = MAX_TRANSCRIPT_CHARS
    for turn in turns:
        if turn.scope.agent != turns[0].scope.agent:
            continue
        room -= len(turn.text) if is_eligible(turn, ctx) else min(len(turn.text), MAX_CONTEXT_CHARS)
        enough = 2 * len(chosen) >= ctx.settings.batch_turns
        if chosen and (room < 0 or (enough and not _together(chosen[-1], turn))):
            break
        chosen.append(turn)
    return chosen


def _together(one: Turn, other: Turn) -> bool:
    return one.scope == other.scope and abs(other.time - one.time) < MIN_CONVERSATION_GAP


def is_eligible(turn: Turn, ctx: Services) -> bool:
    """Return whether facts may rest on the turn. Excluded: other roles, AI speakers, injected and empty turns."""
    if turn.role == "person" and turn.speaker.casefold() in every("assistant_names"):
        return False
    return turn.role in ctx.settings.consolidation.roles and not turn.metadata.get(INJECTED) and bool(spoken_text(turn))


async def earlier_turns(ctx: Services, first: Turn) -> tuple[Turn, ...]:
    """Fetch the context: the last turns stored before the batch, of its session and agent and within a day of it."""
    scope, turns = first.scope, deque[Turn](maxlen=ctx.settings.consolidation.context_turns)
    if not turns.maxlen:
        return ()
    with suppress(OverflowError):  # a time near the first or last year of the calendar
        period = Interval(first.time - MAX_CONTEXT_AGE, first.time + MAX_CONTEXT_AGE)
        select = Select(scope.user, scope.agent, scope.session, kinds=frozenset({"turn"}), period=period)
        async for page in ctx.store.scan(select):
            before = (turn for turn in page if isinstance(turn, Turn) and turn.seq < first.seq and turn.scope == scope)
            turns.extend(turn for turn in before if not turn.metadata.get(INJECTED))
    return tuple(turns)


__all__ = ["CONSOLIDATION_STEPS", "FactBatch", "by_level", "extract", "job", "reconcile"]
