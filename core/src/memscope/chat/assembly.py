"""Assemble a context within one token budget: core memory, top entities, a summary of turns that left the window,
recent turns, and hits.

Each part has a share of the budget (settings ``context``); hits get all that the other parts leave unused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memscope import languages
from memscope.blocks import AsyncBlocks, render
from memscope.entities.operations import AsyncEntities
from memscope.languages.statements import sentences
from memscope.records import Block, Insight, Scope, Turn
from memscope.retrieval.context import context
from memscope.retrieval.window import current_conversation, fit_turns, summary_of
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memscope.config.settings import ContextSettings
    from memscope.entities.results import Entity
    from memscope.records import Retrieval
    from memscope.retrieval.context import Lines
    from memscope.runtime import Runtime

MIN_ENTITY_TURNS = 2  # entities in fewer turns are not shown
MAX_ENTITIES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The parts of a context except the hits, and the number of tokens left for the hits."""

    core: str = ""
    entities: str = ""
    summary: str = ""
    recent: tuple[Turn, ...] = ()
    left: int = 0

    @property
    def lead(self) -> str:
        """Core memory, entities and summary: the text that precedes the hits."""
        return "\n\n".join(part for part in (self.core, self.entities, self.summary) if part)

    @property
    def keys(self) -> list[str]:
        return [turn.key for turn in self.recent]

    def text(self, retrieval: Retrieval, lines: Lines = "memories") -> str:
        """Render the conversation, core memory, entities, summary and hits.

        The conversation comes first because its beginning stays the same between calls, which suits a prompt cache.
        """
        remembered = context(retrieval, tokens=self.left, lines=lines, core=self.lead)
        return "\n\n".join(part for part in (_conversation(self.recent), remembered) if part)


async def assemble(
    runtime: Runtime, where: Scope, tokens: int, *, as_of: datetime | None = None,
    blocks: Sequence[Block] | None = None, shown: Collection[str] | None = None,
) -> AssembledContext:  # fmt: skip
    """Assemble all parts except the hits. ``blocks``: the blocks to show, by default all.

    ``shown``: keys of the turns that the model already sees. If set, recent turns are not read.
    """
    shares: ContextSettings = runtime.services.settings.context
    if blocks is None:
        blocks = await AsyncBlocks(runtime, where.user, where.agent).list(as_of=as_of)
    core = render(blocks, min(int(tokens * shares.core), runtime.services.settings.blocks.tokens))
    core = core if estimate_tokens(core) <= tokens * shares.core else ""
    entities = await AsyncEntities(runtime, where.user, where.agent).list(top=MAX_ENTITIES_SHOWN, as_of=as_of)
    named = entity_lines(entities, int(tokens * shares.entities))
    recent = list[Turn]()
    if shown is None:
        turns = await current_conversation(runtime.services.store, where, as_of or runtime.services.clock())
        recent = fit_turns([turn for turn in turns if as_of is None or turn.time <= as_of], int(tokens * shares.recent))
        shown = [turn.key for turn in recent]
    summary = await summary_of(runtime.services.store, where)
    earlier = ""
    if summary and (as_of is None or summary.said <= as_of) and not set(summary.sources) <= set(shown):
        earlier = summary_text(summary, int(tokens * shares.summary))  # it covers a turn that is not shown
    used = sum(map(estimate_tokens, (core, named, earlier, _conversation(recent))))
    return AssembledContext(core, named, earlier, tuple(recent), max(0, tokens - used))


def summary_text(summary: Insight, tokens: int) -> str:
    """Return a heading and the first sentences of the summary that fit into ``tokens``; "" if none fits."""
    heading = languages.main(summary.text).phrases.earlier_heading
    shown, left = "", tokens - estimate_tokens(heading + "\n")
    for sentence in sentences(summary.text):
        longer = f"{shown}{' ' if shown and sentence.isascii() else ''}{sentence}"
        if estimate_tokens(longer) > left:
            break
        shown = longer
    return f"{heading}\n{shown}" if shown else ""


def entity_lines(entities: Sequence[Entity], tokens: int) -> str:
    """Return a heading and a line for each entity with ``MIN_ENTITY_TURNS`` turns, as many as fit; "" if none fits."""
    named = [entity for entity in entities if entity.count >= MIN_ENTITY_TURNS]
    phrases = languages.main("".join(entity.name for entity in named)).phrases
    shown, left = [phrases.entities_heading], tokens - estimate_tokens(phrases.entities_heading + "\n")
    for entity in named:
        kind = phrases.entity_kinds.get(entity.kind, entity.kind)
        aliases = "".join(f", {alias}" for alias in entity.aliases)
        line = phrases.entity.format(name=entity.name, kind=kind, aliases=aliases, count=entity.count, last=entity.last)
        left -= estimate_tokens(line + "\n")
        if left < 0:
            break
        shown.append(line)
    return "\n".join(shown) if len(shown) > 1 else ""


def _conversation(turns: Sequence[Turn]) -> str:
    if not turns:
        return ""
    heading = languages.main("".join(turn.text for turn in turns)).phrases.conversation_heading
    return "\n".join([heading, *(f"{turn.speaker}: {turn.text}" for turn in turns)])
