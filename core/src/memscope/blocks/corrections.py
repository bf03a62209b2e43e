"""Remove outdated lines of the back end from blocks, by rules and without a model call.

A line rests on insights, and these on facts; it is outdated once such a fact has ended or a person has corrected it.
Everything is derived from what is stored, so repeating it is safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memscope.errors import Conflict
from memscope.languages.insight_text import past_plan, told_as_ahead
from memscope.languages.similarity import form
from memscope.languages.wording import worded
from memscope.reconciliation.approval import SUPERSESSIONS
from memscope.reconciliation.insight_sentences import covers_text, details, with_corrections
from memscope.records import Block, ChangeSet, Handle, Insight, Json, Memory, Observation, Record, Revision
from memscope.records.identity import stated_fact
from memscope.records.stored import CORRECTED
from memscope.stores.block_rules import by_key, next_version
from memscope.text.tokens import fold

if TYPE_CHECKING:
    from memscope.services import Services

OUTDATED = "no insight says so any more"
MIN_OLD_WORDS_SHARE = 0.5  # share of the words only in the old fact that makes a line state it


@dataclass(frozen=True, slots=True)
class OutdatedFact:
    """Text of a fact that has ended, expired or was corrected, and the text that replaces it ("" if unknown).

    ``by_name``: its end was announced, so lines about the news share most words, such as "lives". ``ahead``: a plan
    whose day has passed; a line about its outcome stays.
    """

    text: str
    instead: str
    by_name: bool = False
    ahead: bool = False


async def apply_correction(ctx: Services, old: Memory, revision: Revision) -> None:
    """Apply a person's change of a memory, and remove what no longer holds from insights and blocks."""
    user, new = old.scope.user, replace(revision.memory, origin=CORRECTED)
    if isinstance(new, Insight) and new.text != old.text:
        new = replace(new, sentences=())
    if SUPERSESSIONS in old.data:  # of a proposal, for when it is accepted
        new = replace(new, data={**new.data, SUPERSESSIONS: old.data[SUPERSESSIONS]})
    stated = await _stated(ctx, old, new) if isinstance(new, Insight) else ()
    changes = ChangeSet(revised=(replace(revision, memory=new), *stated))
    await ctx.store.apply(user, await with_corrections(ctx.store, user, changes, ctx.clock()))
    await remove_outdated_lines(ctx, user)


async def _stated(ctx: Services, old: Memory, new: Insight) -> Sequence[Revision]:
    """Return the revision of the fact that a stated insight rests on: it is corrected and expires with it."""
    id = stated_fact(new)
    fact = (await ctx.store.fetch(new.scope.user, [id])).records.get(id) if id else None
    if not isinstance(fact, Observation) or (new.text, new.expires) == (old.text, old.expires):
        return ()
    changed = replace(fact, expires=new.expires, recorded=new.recorded)
    if new.text != old.text:
        changed = replace(changed, text=new.text.removeprefix(f"{new.subject}: "), origin=CORRECTED)
    return (Revision(changed, fact.version),)


async def remove_outdated_lines(ctx: Services, user: str) -> Sequence[Mapping[str, Json]]:
    """Write a version without outdated lines of each block that has some; return no report actions."""
    for history in by_key(await ctx.store.blocks(user, versions=True)).values():
        last, value = history[-1], await _without_outdated(ctx, user, history, ctx.clock())
        if value != last.value:
            with suppress(Conflict):  # edited meanwhile; checked again after the next batch
                await ctx.store.put_blocks(user, [next_version(last, value, OUTDATED, ctx.clock())])
    return ()


async def as_read(ctx: Services, user: str, blocks: Sequence[Block], when: datetime) -> list[Block]:
    """Return the blocks as they read at ``when``: without the back end's lines that were outdated by then."""
    if not any(block.value and block.version for block in blocks):
        return [*blocks]
    stored = await ctx.store.blocks(user, versions=True)
    histories = by_key([block for block in stored if block.recorded <= when])
    return [
        replace(block, value=await _without_outdated(ctx, user, histories[block.key], when))
        if block.version and block.key in histories else block
        for block in blocks
    ]  # fmt: skip


async def _without_outdated(ctx: Services, user: str, history: Sequence[Block], when: datetime) -> str:
    """Return the latest text of a block without lines that are outdated at ``when``."""
    lines = _sourced_lines(history)
    outdated = await _outdated(ctx, user, lines, when) if lines else set()
    return "\n".join(line for line in history[-1].value.split("\n") if line not in outdated)


def _sourced_lines(history: Sequence[Block]) -> dict[str, tuple[str, ...]]:
    """Map the current lines written by the back end to the insights they rest on."""
    written: dict[str, tuple[str, ...]] = {}
    before: set[str] = set()
    for version in history:
        lines = set(version.value.split("\n"))
        for line in lines - before - {""}:
            written[line] = version.sources if version.author == "backend" else ()
        before = lines
    return {line: sources for line, sources in written.items() if sources and line in before}


async def _outdated(ctx: Services, user: str, lines: Mapping[str, Sequence[str]], when: datetime) -> set[str]:
    ids = {id for sources in lines.values() for id in sources}
    insights = (await ctx.store.fetch(user, sorted(ids))).records
    facts = {id for insight in insights.values() if isinstance(insight, Insight) for id in insight.sources}
    records = (await ctx.store.fetch(user, sorted(facts))).records
    successors = {record.superseded_by for record in records.values() if isinstance(record, Observation)} - {None}
    records = {**records, **(await ctx.store.fetch(user, sorted(map(str, successors)))).records}
    old = {id: await _outdated_facts(ctx, records, id, when) for id in facts}
    return {
        line for line, sources in lines.items()
        if any(_is_outdated_by(line, gone) for one in map(insights.get, sources) if isinstance(one, Insight)
               for id in one.sources for gone in old[id])
    }  # fmt: skip


async def _outdated_facts(
    ctx: Services, records: Mapping[Handle, Record], id: str, when: datetime
) -> list[OutdatedFact]:
    fact = records.get(id)
    if not isinstance(fact, Observation):
        return []
    if fact.expired(ctx.clock()):
        return [OutdatedFact(fact.text, "", by_name=True)]
    if fact.closed is not None and fact.valid_to is not None:
        new = records.get(fact.superseded_by or "")
        instead = new.text if isinstance(new, Observation) else ""
        return [OutdatedFact(fact.text, instead)] if fact.closed <= when else []
    if fact.ended(when):
        happened = (one for one in records.values() if isinstance(one, Observation) and one.happened)
        announced = (one.text for one in happened if one.happened and one.happened.start == fact.valid_to)
        return [OutdatedFact(fact.text, next(announced, ""), by_name=True)]
    if past_plan(fact, when):
        return [OutdatedFact(fact.text, "", ahead=True)]
    if fact.origin != CORRECTED:
        return []
    versions = await ctx.store.history(fact.scope.user, id)
    return [OutdatedFact(one.text, fact.text) for one in versions if one.id == id and one.version < fact.version]


def _is_outdated_by(line: str, fact: OutdatedFact) -> bool:
    """Return whether a line states what only the old fact says: its words, a name, a number, or its negation."""
    old, new = fact.text, fact.instead
    if fact.ahead and not told_as_ahead(line):
        return False
    lost = form(old).topics - form(new).topics
    if not lost:
        return covers_text(line, old) and worded("denies", line) != worded("denies", new)
    if any(one in fold(line) for one in details(old) - details(new)):
        return True
    if fact.by_name:
        return covers_text(line, old)
    return len(lost & form(line).topics) >= MIN_OLD_WORDS_SHARE * len(lost)
