"""Blocks that the back end maintains from insights (setting ``blocks.maintain``), one call when the insights changed.

A three-way merge by lines: lines of people and models stay verbatim, lines that they removed do not come back, and only
lines of the back end are replaced. Each new line gets a version with its insights as sources, so that forgetting
removes exactly the lines concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel

from memscope.blocks.corrections import OUTDATED, remove_outdated_lines
from memscope.blocks.visible import visible
from memscope.errors import Conflict
from memscope.jobs.costs import change_counters, read_counters, user_counters
from memscope.languages.similarity import same, translated
from memscope.prompts import visible as visible_text
from memscope.records import SUMMARY_NAMESPACE, Block, Insight, Json, Scope, Select
from memscope.records.identity import fingerprint
from memscope.retrieval.insights_as_of import insights_as_read
from memscope.stores.block_rules import by_key, next_version

if TYPE_CHECKING:
    from memscope.services import Services

MAX_SHOWN_INSIGHTS, MAX_INSIGHT_CHARS = 40, 600  # latest insights in the prompt, each cut to this length
MAX_REMOVED_LINES = 20  # the latest removed lines, shown in the prompt


class BlockLine(BaseModel):
    text: str
    insights: list[int]


class BlockLines(BaseModel):
    lines: list[BlockLine]


@dataclass(frozen=True, slots=True)
class BlockState:
    """A block, its lines written by the back end, and those of them that others removed."""

    block: Block
    own: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def others(self) -> list[str]:
        """Lines of people and models."""
        return [line for line in self.block.value.split("\n") if line.strip() and line not in self.own]

    def with_lines(self, lines: Sequence[str]) -> str:
        """Replace the back end's lines by these; all others stay in place."""
        value, fresh = list[str](), list(lines)
        for line in self.block.value.split("\n") if self.block.value else ():
            if line in self.own:
                value, fresh = [*value, *fresh], []
            else:
                value.append(line)
        return "\n".join([*value, *fresh])


async def maintain(ctx: Services, user: str) -> list[Mapping[str, Json]]:
    """Update the maintained blocks from the user's insights; return the actions for a report."""
    await remove_outdated_lines(ctx, user)
    if not ctx.settings.blocks.maintain or ctx.chat is None:
        return []
    select = Select(user, kinds=frozenset({"insight"}), current=True, live_at=ctx.clock())
    current = [one async for page in ctx.store.scan(select) for one in page if isinstance(one, Insight)]
    stated = [one for one in current if one.namespace != SUMMARY_NAMESPACE]
    now = ctx.clock()
    insights = [one for one in await insights_as_read(ctx.store, user, stated, now, now) if one]
    histories = by_key(await ctx.store.blocks(user, versions=True))
    actions: list[Mapping[str, Json]] = []
    counters = await user_counters(ctx, user)
    seen = (await read_counters(ctx, counters)).get("blocks", {})  # digest of the insights at each block's last update
    for block, of_block in _maintained(ctx, user, insights, [history[-1] for history in histories.values()]):
        key, digest = fingerprint(f"{block.scope.agent or ''}\n{block.label}", 8), _digest(of_block)
        if seen.get(key, _digest(())) != digest:
            actions += await _update(ctx, block_state(block, histories.get(block.key, ())), of_block)
            await change_counters(ctx, counters, partial(_note_digest, key, digest))
    return actions


def _maintained(
    ctx: Services, user: str, insights: Sequence[Insight], stored: Sequence[Block]
) -> list[tuple[Block, list[Insight]]]:
    """Return the maintained blocks, each with the insights of all agents that see it."""
    agents = {insight.scope.agent for insight in insights} | {block.scope.agent for block in stored} | {None}
    groups: dict[tuple[str | None, str], tuple[Block, list[Insight]]] = {}
    for agent in sorted(agents, key=lambda agent: agent or ""):
        for block in visible(Scope(user, agent), ctx.clock(), stored, ctx.settings.blocks.shared):
            if block.label in ctx.settings.blocks.maintain and not block.read_only:
                _, of_block = groups.setdefault(block.key, (block, []))
                of_block += [insight for insight in insights if insight.scope.agent == agent]
    return [(block, sorted(of_block, key=lambda one: (one.said, one.id))) for block, of_block in groups.values()]


def block_state(block: Block, history: Sequence[Block]) -> BlockState:
    """Derive who wrote which line from all versions of a block."""
    written, removed = dict[str, None](), dict[str, None]()
    before: set[str] = set()
    for version in history:
        lines = version.value.split("\n")
        for line in lines:
            if line not in before and line.strip():
                written.pop(line, None)
                if version.author == "backend":
                    written[line] = None
        if version.author != "backend":
            removed |= dict.fromkeys(line for line in written if line not in lines)
        before = set(lines)
    present = block.value.split("\n")
    return BlockState(block, tuple(line for line in written if line in present), tuple(removed))


# ------------------------------------------------------------------------------------------------------------ the call


async def _update(ctx: Services, state: BlockState, insights: Sequence[Insight]) -> list[Mapping[str, Json]]:
    """Ask for the lines and write a version per change.

    Write none if the block is edited meanwhile, or an insight that was shown is forgotten: any line may repeat it.
    """
    user, shown = state.block.scope.user, insights[-MAX_SHOWN_INSIGHTS:]
    lines: dict[str, tuple[str, ...]] = {}
    if shown:
        reply = await ctx.ask("block", [insight.text for insight in shown], block_data(state, shown), BlockLines)
        lines = usable_lines(state, shown, reply)
        if len((await ctx.store.fetch(user, [insight.id for insight in shown])).records) < len(shown):
            return []
    versions = next_versions(state, lines, ctx)
    if not versions:
        return []
    try:
        await ctx.store.put_blocks(user, versions)
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
        "removed": list(state.removed[-MAX_REMOVED_LINES:]),
        "insights": [{"n": n, "text": insight.text[:MAX_INSIGHT_CHARS]} for n, insight in enumerate(insights, 1)],
    }


def usable_lines(state: BlockState, insights: Sequence[Insight], reply: BlockLines) -> dict[str, tuple[str, ...]]:
    """Return the usable lines with the ids of their insights.

    A line needs insights and their language, must not be one that others wrote or removed, and must fit the limit.
    """
    taken: dict[str, tuple[str, ...]] = {}
    for line in reply.lines:
        text = " ".join(visible_text(line.text).split())
        sources = [insights[n - 1] for n in dict.fromkeys(line.insights) if 1 <= n <= len(insights)]
        if not text or not sources or any(same(text, other) for other in (*state.others, *state.removed, *taken)):
            continue
        fits = len(state.with_lines([*taken, text])) <= state.block.limit
        if fits and not translated(text, [insight.text for insight in sources]):
            taken[text] = tuple(insight.id for insight in sources)
    return taken


def next_versions(state: BlockState, lines: Mapping[str, tuple[str, ...]], ctx: Services) -> list[Block]:
    """Build a version without obsolete lines, then one per new line with its sources."""
    versions: list[Block] = []
    written = [text for text in lines if text in state.own]

    def write(reason: str, sources: tuple[str, ...]) -> None:
        last = versions[-1] if versions else state.block
        value = state.with_lines([text for text in lines if text in written])
        if value != last.value:
            versions.append(next_version(last, value, reason, ctx.clock(), sources))

    write(OUTDATED, ())
    for text, sources in lines.items():
        if text not in written:
            written.append(text)
            write("from insights", sources)
    return versions


def _note_digest(key: str, digest: str, counters: dict[str, Json]) -> None:
    counters.setdefault("blocks", {})[key] = digest


def _digest(insights: Iterable[Insight]) -> str:
    return fingerprint("\n".join(sorted(f"{insight.id} {insight.text}" for insight in insights)), 8)
