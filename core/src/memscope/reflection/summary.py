"""summary: keep the turns that left a session's window as one insight per session, which is replaced when more leave.

Enabled by ``context.budget`` in the settings. The batch of consolidate that sees turns leave makes one call for the
turns that left since the last summary, once they fill half a window. The summary is saved, applied and repeated with
the batch's change set. It rests on every turn it covers, is forgotten with any of them, and is never a search hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from pydantic import BaseModel, Field

from memscope import languages
from memscope.errors import ModelError, ModelReplyError
from memscope.jobs.runner import Hooks, StageJob
from memscope.languages.similarity import translated
from memscope.prompts import visible
from memscope.records import (
    INJECTED,
    SUMMARY_NAMESPACE,
    ChangeSet,
    Claim,
    Insight,
    Json,
    Revision,
    Scope,
    Turn,
    in_zone,
)
from memscope.records.identity import memory_id
from memscope.retrieval.window import cost, current_conversation, fit_turns, summary_name, summary_of
from memscope.services import Services
from memscope.text.language import is_wide

MAX_SUMMARY_CHARS = 4_000  # of a reply
MAX_SHOWN_TURN_CHARS, MAX_SHOWN_CHARS = 1_000, 10_000  # per turn, and in all, shown in one call


class Summary(BaseModel):
    summary: str = Field(min_length=1, max_length=MAX_SUMMARY_CHARS)


def with_summary(job: StageJob) -> StageJob:
    """Extend the job of consolidate so that its batches also update the summaries of their sessions.

    A failed call leaves the summary unchanged and its error code in the report; the next batch tries again.
    """

    async def make(ctx: Services, claim: Claim) -> ChangeSet:
        change_set = await job.make(ctx, claim)
        records = (await ctx.store.fetch(claim.user, change_set.done)).records.values()
        for where in dict.fromkeys(turn.scope for turn in records if isinstance(turn, Turn)):
            try:
                change_set = await _with_summary_of(where, change_set, ctx, claim, job.hooks)
            except ModelError as error:
                errors = change_set.report.get("errors", {})
                counted = {**errors, error.code: errors.get(error.code, 0) + 1}
                change_set = replace(change_set, report={**change_set.report, "errors": counted})
        return change_set

    return replace(job, make=make)


async def _with_summary_of(where: Scope, change_set: ChangeSet, ctx: Services, claim: Claim, hooks: Hooks) -> ChangeSet:
    old = await summary_of(ctx.store, where)
    turns = await current_conversation(ctx.store, where, ctx.clock())
    left = _turns_to_add(turns, old, ctx)
    spoken = [turn for turn in left if not turn.metadata.get(INJECTED)]
    shown = list(await hooks.before("consolidate", spoken, scope=Scope(claim.user))) if spoken else []
    if not shown:
        return change_set
    # Replace the summary of an earlier conversation instead of continuing it.
    known = old if old is not None and not {turn.key for turn in turns}.isdisjoint(old.sources) else None
    text = await _ask(ctx, known.text if known else "", shown)
    insight = Insight(
        id=old.id if old else memory_id("/".join((claim.id, *claim.items, "summary")), len(change_set.new)),
        scope=where, text=text, sources=(*(known.sources if known else ()), *(turn.key for turn in left)),
        said=left[-1].time, recorded=ctx.clock(), origin="summary", name=summary_name(where),
        namespace=SUMMARY_NAMESPACE,
        subject=languages.main(text).phrases.conversation,
    )  # fmt: skip
    action = {"action": "updated", "kind": "insight", "id": insight.id, "text": text}
    report = {**change_set.report, "actions": [*change_set.report.get("actions", ()), action]}
    if old is None:
        return replace(change_set, new=(*change_set.new, insight), report=report)
    return replace(change_set, revised=(*change_set.revised, Revision(insight, old.version)), report=report)


def _turns_to_add(turns: Sequence[Turn], old: Insight | None, ctx: Services) -> list[Turn]:
    """Return the oldest turns that left the window since the last summary, up to one call's worth; none if few."""
    shares = ctx.settings.context
    window = int((shares.budget or 0) * shares.recent)
    left = turns[: len(turns) - len(fit_turns(turns, window))]
    fresh = [turn for turn in left if old is None or turn.key not in old.sources]
    sizes = accumulate(min(len(turn.text), MAX_SHOWN_TURN_CHARS) for turn in fresh)
    fitting = [turn for turn, size in zip(fresh, sizes, strict=True) if size <= MAX_SHOWN_CHARS]
    return fitting if sum(map(cost, fresh)) >= window / 2 else []


async def _ask(ctx: Services, previous: str, turns: Sequence[Turn]) -> str:
    texts = [turn.text for turn in turns]
    reply = await ctx.ask("summary", texts, summary_data(ctx, previous, turns), Summary)
    text = " ".join(visible(reply.summary).split())
    if not text or translated(text, [previous, *texts]):
        raise ModelReplyError("the summary is empty, or not in the language of the conversation")
    return text


def summary_data(ctx: Services, previous: str, turns: Sequence[Turn]) -> Json:
    shares = ctx.settings.context
    tokens = int((shares.budget or 0) * shares.summary)
    wide = is_wide("\n".join(turn.text for turn in turns))
    lines = [
        {"at": f"{in_zone(turn.time, ctx.zone):%Y-%m-%d %H:%M}", "by": turn.speaker,
         "text": visible(turn.text)[:MAX_SHOWN_TURN_CHARS]}
        for turn in turns
    ]  # fmt: skip
    return {"so_far": previous, "turns": lines, "characters": tokens if wide else 4 * tokens}
