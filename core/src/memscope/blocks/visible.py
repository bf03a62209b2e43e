"""The blocks that an agent sees, and their text in a prompt: pure functions on one user's versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memscope.errors import NotFound
from memscope.records import Block, Scope

PERSONA, HUMAN = "persona", "human"
SETTINGS_ORDER = 1000  # sorts the texts of the settings before all others
DESCRIPTIONS = {
    PERSONA: "You, the assistant: name, manner, what you keep to with this user.",
    HUMAN: "The user: what every answer should know, such as name, work, people, preferences.",
}


def visible(where: Scope, now: datetime, stored: Iterable[Block], texts: Mapping[str, str]) -> list[Block]:
    """Return the blocks of a user that all agents see and, in a scope with an agent, its own; in the context's order.

    A text of the settings hides other blocks of its label, and an agent's own block hides the user's. ``persona`` and
    ``human`` exist even before anything was written.
    """
    agents = {PERSONA: where.agent, HUMAN: None}  # by default a persona per agent, and one human for all agents
    blocks = {
        label: Block(scope=Scope(where.user, agents[label]), label=label, recorded=now, order=order, description=about)
        for order, (label, about) in enumerate(DESCRIPTIONS.items(), -len(DESCRIPTIONS))
    }
    mine = [block for block in stored if block.scope.agent in (None, where.agent)]
    for block in sorted(mine, key=lambda block: block.scope.agent is not None):
        blocks[block.label] = block
    for order, (label, text) in enumerate(texts.items(), -SETTINGS_ORDER):
        blocks[label] = Block(
            scope=Scope(where.user), label=label, recorded=now, value=text, limit=len(text), read_only=True,
            order=order, author="operator",
        )  # fmt: skip
    return sorted(blocks.values(), key=lambda block: (block.order, block.label))


def labelled(blocks: Sequence[Block], label: str) -> Block:
    """Return the block with this label; ``NotFound`` lists the known labels."""
    for block in blocks:
        if block.label == label:
            return block
    raise NotFound(f"there is no block {label!r}", hint=f"there are {', '.join(block.label for block in blocks)}")


def same_content(old: Block, new: Block) -> bool:
    """Return whether only version, time, author, reason and sources differ."""
    return old == replace(
        new, version=old.version, recorded=old.recorded, author=old.author, reason=old.reason, sources=old.sources
    )


def render(blocks: Sequence[Block], tokens: int) -> str:
    """Render the blocks that have text, in order and within ``tokens``; "" if there are none.

    A block that does not fit is listed by name, never cut: a model would rewrite only the half that it sees.
    """
    from memscope import languages  # lazy: keeps `import memscope` small
    from memscope.text.tokens import estimate_tokens

    filled = [block for block in blocks if block.value.strip()]
    if not filled:
        return ""
    phrases = languages.main("\n".join(block.value for block in filled)).phrases
    shown, missing = [phrases.core_note], list[str]()
    left = tokens - estimate_tokens(phrases.core_note)
    for block in filled:
        text = render_block(block)
        cost = estimate_tokens(f"\n{text}")
        if cost <= left:
            shown.append(text)
            left -= cost
        else:
            missing.append(block.label)
    return "\n".join([*shown, *([phrases.over_budget.format(labels=", ".join(missing))] if missing else [])])


def render_block(block: Block) -> str:
    """Render ``<block label="human" used="57/2000" version="3" about="...">``, the value and the closing tag."""
    about = " ".join(block.description.replace('"', "'").replace("<", "‹").replace(">", "›").split())
    named = f'label="{block.label}" used="{len(block.value)}/{block.limit}" version="{block.version}"'
    locked = ' read_only="true"' if block.read_only else ""
    purpose = f' about="{about}"' if about else ""
    value = block.value.replace("</block>", "</ block>").replace("<block ", "< block ")
    return f"<block {named}{locked}{purpose}>\n{value}\n</block>"
