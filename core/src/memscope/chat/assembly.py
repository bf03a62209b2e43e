"""Assemble a context within one budget of tokens: core memory, top entities, recent turns, and hits with what is left.

Each part has a share of the budget (settings ``context``); hits get what the parts before them do not use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memscope.blocks import AsyncBlocks, render
from memscope.chat.window import recent_turns
from memscope.entities import operations as entities
from memscope.records import Block, Scope, Turn
from memscope.retrieval.context import context
from memscope.text.language import language
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memscope.config.settings import ContextSettings
    from memscope.entities.results import Entity
    from memscope.records import Retrieval
    from memscope.retrieval.context import Lines
    from memscope.runtime import Runtime

_MOST = {"en": "Spoken of most and most lately:", "zh": "最近最常提到的："}
_RECENT = {"en": "The conversation so far:", "zh": "到目前为止的对话："}
_ENTITY = {"en": "{name} ({kind}{aliases}): {count} turns, last {last:%Y-%m-%d}",
           "zh": "{name}（{kind}{aliases}）：{count} 次，最近 {last:%Y-%m-%d}"}  # fmt: skip
_KINDS = {"person": "人", "place": "地点", "organisation": "机构", "thing": "事物", "topic": "话题"}
FEWEST = 2  # turns of an entity that is shown
TOP = 20


@dataclass(frozen=True, slots=True)
class Assembly:
    """All parts but the hits, and the tokens that these may take."""

    core: str
    entities: str
    recent: tuple[Turn, ...]
    left: int

    @property
    def lead(self) -> str:
        """Core memory and the entities."""
        return "\n\n".join(part for part in (self.core, self.entities) if part)

    @property
    def keys(self) -> list[str]:
        return [turn.key for turn in self.recent]

    def text(self, found: Retrieval, lines: Lines = "memories") -> str:
        """Core memory, entities, hits, and the turns of the conversation, each on its lines."""
        told = context(found, tokens=self.left, lines=lines, core=self.lead)
        return "\n\n".join(part for part in (told, _conversation(self.recent)) if part)


async def assemble(
    runtime: Runtime, where: Scope, tokens: int, *, as_of: datetime | None = None, blocks: Sequence[Block] | None = None
) -> Assembly:
    """Make all parts but the hits; ``blocks``: those that are shown, by default all."""
    shares: ContextSettings = runtime.settings.context
    now = as_of or runtime.clock()
    if blocks is None:
        blocks = await AsyncBlocks(runtime, where.user, where.agent).list(as_of=as_of)
    core = render(blocks, min(int(tokens * shares.core), runtime.settings.blocks.tokens))
    core = core if estimate_tokens(core) <= tokens * shares.core else ""
    found = await entities.entities(runtime, where.user, top=TOP, agent=where.agent, as_of=as_of)
    named = entity_lines(found, int(tokens * shares.entities))
    recent = await recent_turns(runtime.store, where, now, int(tokens * shares.recent))
    recent = [turn for turn in recent if as_of is None or turn.time <= as_of]
    used = sum(map(estimate_tokens, (core, named, _conversation(recent))))
    return Assembly(core, named, tuple(recent), max(0, tokens - used))


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
