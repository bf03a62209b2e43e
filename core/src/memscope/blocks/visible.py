"""The blocks that an agent sees: pure functions over the versions of one user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.errors import NotFound
from memscope.records import Block, Scope

PERSONA, HUMAN = "persona", "human"
SETTINGS_ORDER = 1000  # the texts of the settings come before all others
DESCRIPTIONS = {
    PERSONA: "You, the assistant: name, manner, what you keep to with this user.",
    HUMAN: "The user: what every answer should know, such as name, work, people, preferences.",
}


@dataclass(frozen=True, slots=True)
class View:
    """Point of view: a user, maybe one agent, a time."""

    user: str
    agent: str | None
    now: datetime


def visible(view: View, stored: Iterable[Block], texts: Mapping[str, str]) -> list[Block]:
    """Return the blocks in the order of the context.

    Texts of the settings come before all others of their label, an agent's own before the user's, and ``persona`` and
    ``human`` are there before anything was written.
    """
    blocks = {block.label: block for block in _defaults(view)}
    mine = [block for block in stored if block.scope.agent in (None, view.agent)]
    for block in sorted(mine, key=lambda block: block.scope.agent is not None):
        blocks[block.label] = block
    blocks |= {label: _operator_block(view, label, n, text) for n, (label, text) in enumerate(texts.items())}
    return sorted(blocks.values(), key=lambda block: (block.order, block.label))


def _defaults(view: View) -> list[Block]:
    """A persona is its agent's own, the human the same for all agents."""
    agents = {PERSONA: view.agent, HUMAN: None}
    return [
        Block(scope=Scope(view.user, agents[label]), label=label, recorded=view.now, order=order, description=about)
        for order, (label, about) in enumerate(DESCRIPTIONS.items(), -len(DESCRIPTIONS))
    ]


def _operator_block(view: View, label: str, place: int, text: str) -> Block:
    return Block(
        scope=Scope(view.user), label=label, recorded=view.now, value=text, limit=len(text), read_only=True,
        order=place - SETTINGS_ORDER, author="operator",
    )  # fmt: skip


def at_time(versions: Iterable[Block], when: datetime) -> list[Block]:
    last: dict[tuple[str | None, str], Block] = {}
    for block in versions:
        if block.recorded <= when:
            last[block.key] = block
    return list(last.values())


def labelled(blocks: Sequence[Block], label: str) -> Block:
    """Return the block with this label; ``NotFound`` names those there are."""
    for block in blocks:
        if block.label == label:
            return block
    raise NotFound(f"there is no block {label!r}", hint=f"there are {', '.join(block.label for block in blocks)}")


def same_content(old: Block, new: Block) -> bool:
    """Return whether nothing but version, time and author differs."""
    return old == replace(
        new, version=old.version, recorded=old.recorded, author=old.author, reason=old.reason, sources=old.sources
    )
