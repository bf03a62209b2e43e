"""Assemble a context within one budget of tokens: core memory, top entities, the summary of what left the window,
recent turns, and hits with what is left.

Each part has a share of the budget (settings ``context``); hits get what the parts before them do not use.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeGuard

from memscope.blocks import AsyncBlocks, render
from memscope.entities import operations as entities
from memscope.records import Block, Insight, Scope, Turn
from memscope.retrieval.context import context
from memscope.retrieval.window import fit_turns, said_lately, summary_of
from memscope.text.language import language
from memscope.text.statements import sentences
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memscope.config.settings import ContextSettings
    from memscope.entities.results import Entity
    from memscope.records import Retrieval
    from memscope.retrieval.context import Lines
    from memscope.runtime import Runtime

_MOST = {"en": "Spoken of most and most lately:", "zh": "最近最常提到的："}
_EARLIER = {"en": "Earlier in this conversation:", "zh": "这次对话前面的内容："}
_RECENT = {"en": "The conversation so far:", "zh": "到目前为止的对话："}
_ENTITY = {"en": "{name} ({kind}{aliases}): {count} turns, last {last:%Y-%m-%d}",
           "zh": "{name}（{kind}{aliases}）：{count} 次，最近 {last:%Y-%m-%d}"}  # fmt: skip
_KINDS = {"person": "人", "place": "地点", "organisation": "机构", "thing": "事物", "topic": "话题"}
FEWEST = 2  # turns of an entity that is shown
TOP = 20


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """All parts but the hits, and the tokens that these may take."""

    core: str = ""
    entities: str = ""
    summary: str = ""
    recent: tuple[Turn, ...] = ()
    left: int = 0

    @property
    def lead(self) -> str:
        """Core memory, the entities, and the summary of what left the window."""
        return "\n\n".join(part for part in (self.core, self.entities, self.summary) if part)

    @property
    def keys(self) -> list[str]:
        return [turn.key for turn in self.recent]

    def text(self, found: Retrieval, lines: Lines = "memories") -> str:
        """Core memory, entities, summary, hits, and the turns of the conversation, each on its lines."""
        told = context(found, tokens=self.left, lines=lines, core=self.lead)
        return "\n\n".join(part for part in (told, _conversation(self.recent)) if part)


async def assemble(
    runtime: Runtime,
    where: Scope,
    tokens: int,
    *,
    as_of: datetime | None = None,
    blocks: Sequence[Block] | None = None,
    shown: Collection[str] | None = None,
) -> AssembledContext:
    """Make all parts but the hits; ``blocks``: those that are shown, by default all.

    ``shown``: keys of the turns that the model sees anyway; then no recent turns are read.
    """
    shares: ContextSettings = runtime.settings.context
    if blocks is None:
        blocks = await AsyncBlocks(runtime, where.user, where.agent).list(as_of=as_of)
    core = render(blocks, min(int(tokens * shares.core), runtime.settings.blocks.tokens))
    core = core if estimate_tokens(core) <= tokens * shares.core else ""
    found = await entities.entities(runtime, where.user, top=TOP, agent=where.agent, as_of=as_of)
    named = entity_lines(found, int(tokens * shares.entities))
    recent = list[Turn]()
    if shown is None:
        turns = await said_lately(runtime.store, where, as_of or runtime.clock())
        recent = fit_turns([turn for turn in turns if as_of is None or turn.time <= as_of], int(tokens * shares.recent))
        shown = [turn.key for turn in recent]
    summary = await summary_of(runtime.store, where)
    earlier = summary_text(summary, int(tokens * shares.summary)) if _is_news(summary, shown, as_of) else ""
    used = sum(map(estimate_tokens, (core, named, earlier, _conversation(recent))))
    return AssembledContext(core, named, earlier, tuple(recent), max(0, tokens - used))


def _is_news(summary: Insight | None, shown: Collection[str], as_of: datetime | None) -> TypeGuard[Insight]:
    """Returns whether the summary tells of a turn that is not shown, and nothing that was said after ``as_of``."""
    if summary is None or (as_of is not None and summary.said > as_of):
        return False
    return not set(summary.sources) <= set(shown)


def summary_text(summary: Insight, tokens: int) -> str:
    """Returns as many of the summary's first sentences as fit, under a heading; "" for none."""
    lang = "zh" if language(summary.text) == "zh" else "en"
    shown, left = "", tokens - estimate_tokens(_EARLIER[lang] + "\n")
    for sentence in sentences(summary.text):
        longer = f"{shown}{' ' if shown and sentence.isascii() else ''}{sentence}"
        if estimate_tokens(longer) > left:
            break
        shown = longer
    return f"{_EARLIER[lang]}\n{shown}" if shown else ""


def entity_lines(found: Sequence[Entity], tokens: int) -> str:
    """Returns a line per entity that is named more than once, as many as fit; "" for none."""
    named = [one for one in found if one.count >= FEWEST]
    lang = "zh" if language("".join(one.name for one in named)) == "zh" else "en"
    shown, left = [_MOST[lang]], tokens - estimate_tokens(_MOST[lang] + "\n")
    for one in named:
        kind = _KINDS[one.kind] if lang == "zh" else one.kind
        aliases = "".join(f", {alias}" for alias in one.aliases)
        line = _ENTITY[lang].format(name=one.name, kind=kind, aliases=aliases, count=one.count, last=one.last)
        left -= estimate_tokens(line + "\n")
        if left < 0:
            break
        shown.append(line)
    return "\n".join(shown) if len(shown) > 1 else ""


def _conversation(turns: Sequence[Turn]) -> str:
    if not turns:
        return ""
    lang = "zh" if language("".join(turn.text for turn in turns)) == "zh" else "en"
    return "\n".join([_RECENT[lang], *(f"{turn.speaker}: {turn.text}" for turn in turns)])
