"""Blocks that the back end keeps up from insights (setting ``blocks.maintain``): one call when the insights changed.

A three-way merge by lines. Lines that a person or a model wrote stay word for word, lines of the back end that they
removed do not come back, and only lines of the back end's own are replaced. Each new line is a version of its own with
the insights it rests on, so that forgetting takes exactly these lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from pydantic import BaseModel

from memscope.blocks.visible import View, visible
from memscope.errors import Conflict
from memscope.jobs.costs import change_counters, read_counters, user_counters
from memscope.prompts import visible as visible_text
from memscope.reconciliation.similarity import same, translated
from memscope.records import SUMMARY, Block, Insight, Json, Select
from memscope.stores.block_rules import by_key

if TYPE_CHECKING:
    from memscope.pipeline import WorkerContext

INSIGHTS, LONGEST = 40, 600  # that are shown, the latest; characters of each
REMOVED = 20  # removed lines that are shown, the latest
NO_LONGER = "no insight says so any more"


class BlockLine(BaseModel):
    text: str
    insights: list[int]


class BlockLines(BaseModel):
    lines: list[BlockLine]


@dataclass(frozen=True, slots=True)
class BlockState:
    """A block, its lines that the back end wrote, and those of them that others removed."""

    block: Block
    own: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def others(self) -> list[str]:
        """Returns the lines of people and models."""
        return [line for line in self.block.value.split("\n") if line.strip() and line not in self.own]

    def with_lines(self, lines: Sequence[str]) -> str:
        """Returns the value with these lines in the place of the back end's; all others stay as and where they are."""
        value, fresh = list[str](), list(lines)
        for line in self.block.value.split("\n") if self.block.value else ():
            if line in self.own:
                value, fresh = [*value, *fresh], []
            else:
                value.append(line)
        return "\n".join([*value, *fresh])


async def maintain(ctx: WorkerContext, user: str) -> list[Mapping[str, Json]]:
    """Bring the blocks of the settings up to date with the user's insights; returns the actions for a report."""
    if not ctx.settings.blocks.maintain or ctx.chat is None:
        return []
    select = Select(user, kinds=frozenset({"insight"}), current=True, live_at=ctx.clock())
    found = [one async for page in ctx.store.scan(select) for one in page if isinstance(one, Insight)]
    insights = [one for one in found if one.namespace != SUMMARY]
    histories = by_key(await ctx.store.blocks(user, versions=True))
    actions: list[Mapping[str, Json]] = []
    counters = await user_counters(ctx, user)
    seen = (await read_counters(ctx, counters)).get("blocks", {})  # the insights of each block's last update
    for block, of_block in _maintained(ctx, user, insights, [history[-1] for history in histories.values()]):
        key, digest = _key(block), _digest(of_block)
        if seen.get(key, _digest(())) != digest:
            actions += await _update(ctx, block_state(block, histories.get(block.key, ())), of_block)
            await change_counters(ctx, counters, partial(_note, key, digest))
    return actions


def _maintained(
    ctx: WorkerContext, user: str, insights: Sequence[Insight], stored: Sequence[Block]
) -> list[tuple[Block, list[Insight]]]:
    """Returns the blocks to keep up, each with the insights of all agents that see it."""
    agents = {one.scope.agent for one in insights} | {block.scope.agent for block in stored} | {None}
    found: dict[tuple[str | None, str], tuple[Block, list[Insight]]] = {}
    for agent in sorted(agents, key=lambda agent: agent or ""):
        for block in visible(View(user, agent, ctx.clock()), stored, ctx.settings.blocks.shared):
            if block.label in ctx.settings.blocks.maintain and not block.read_only:
                _, told = found.setdefault(block.key, (block, []))
                told += [one for one in insights if one.scope.agent == agent]
    return [(block, sorted(told, key=lambda one: (one.said, one.id))) for block, told in found.values()]


def block_state(block: Block, history: Sequence[Block]) -> BlockState:
    """Returns who wrote which line, from all versions of the block."""
    own, removed = dict[str, None](), dict[str, None]()
    before: set[str] = set()
    for version in history:
        lines = version.value.split("\n")
        for line in lines:
            if line not in before and line.strip():
                own.pop(line, None)
                if version.author == "backend":
                    own[line] = None
        if version.author != "backend":
            removed |= dict.fromkeys(line for line in own if line not in lines)
        before = set(lines)
    present = block.value.split("\n")
    return BlockState(block, tuple(line for line in own if line in present), tuple(removed))


# ------------------------------------------------------------------------------------------------------------ the call


async def _update(ctx: WorkerContext, state: BlockState, insights: Sequence[Insight]) -> list[Mapping[str, Json]]:
    """Ask for the lines and write a version per change; none where somebody edits at the same time."""
    shown = insights[-INSIGHTS:]
    lines: dict[str, tuple[str, ...]] = {}
    if shown:
        reply = await ctx.ask("block", [one.text for one in shown], block_data(state, shown), BlockLines)
        lines = usable_lines(state, shown, reply)
    versions = next_versions(state, lines, ctx)
    if not versions:
        return []
    try:
        await ctx.store.put_blocks(state.block.scope.user, versions)
    except Conflict:
        return []
    label, version = state.block.label, versions[-1].version
    return [{"action": "updated", "kind": "block", "id": f"{label} version {version}", "text": " / ".join(lines)}]


def block_data(state: BlockState, insights: Sequence[Insight]) -> Json:
    block = state.block
    return {
        "block": block.label,
        "about": block.description,
        "room": max(0, block.limit - len(state.with_lines(()))),
        "others": state.others,
        "lines": list(state.own),
        "removed": list(state.removed[-REMOVED:]),
        "insights": [{"n": n, "text": one.text[:LONGEST]} for n, one in enumerate(insights, 1)],
    }


def usable_lines(state: BlockState, insights: Sequence[Insight], reply: BlockLines) -> dict[str, tuple[str, ...]]:
    """Returns the lines that can be used, each with the ids of its insights.

    A line rests on insights and is in their language, nobody else wrote or removed it, and it fits into the limit.
    """
    taken: dict[str, tuple[str, ...]] = {}
    for line in reply.lines:
        text = " ".join(visible_text(line.text).split())
        told = [insights[n - 1] for n in dict.fromkeys(line.insights) if 1 <= n <= len(insights)]
        if not text or not told or any(same(text, one) for one in (*state.others, *state.removed, *taken)):
            continue
        fits = len(state.with_lines([*taken, text])) <= state.block.limit
        if fits and not translated(text, [one.text for one in told]):
            taken[text] = tuple(one.id for one in told)
    return taken


def next_versions(state: BlockState, lines: Mapping[str, tuple[str, ...]], ctx: WorkerContext) -> list[Block]:
    """Returns a version without the lines that no longer hold, then one per new line with its sources."""
    made: list[Block] = []
    written = [text for text in lines if text in state.own]

    def write(reason: str, sources: tuple[str, ...]) -> None:
        last = made[-1] if made else state.block
        value = state.with_lines([text for text in lines if text in written])
        if value != last.value:
            made.append(
                replace(
                    last, value=value, version=last.version + 1, recorded=ctx.clock(), author="backend",
                    reason=reason, sources=sources,
                )
            )  # fmt: skip

    write(NO_LONGER, ())
    for text, sources in lines.items():
        if text not in written:
            written.append(text)
            write("from insights", sources)
    return made


# ------------------------------------------------------------------------------------------------- what was seen before


def _note(key: str, digest: str, counters: dict[str, Json]) -> None:
    counters.setdefault("blocks", {})[key] = digest


def _key(block: Block) -> str:
    return blake2b(f"{block.scope.agent or ''}\n{block.label}".encode(), digest_size=8).hexdigest()


def _digest(insights: Iterable[Insight]) -> str:
    told = sorted(f"{one.id} {one.text}" for one in insights)
    return blake2b("\n".join(told).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
