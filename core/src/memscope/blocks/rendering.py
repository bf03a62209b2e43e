"""Blocks as text for a prompt, the same words everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from memscope.records import Block


def render(blocks: Sequence[Block], tokens: int) -> str:
    """Return the blocks that have a text, within ``tokens``, in order; "" when there is none.

    A block that does not fit is named, never cut: a model that saw half of one would rewrite that half only.
    """
    from memscope import languages  # the text of turns is not read by `import memscope`
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
    """Return ``<block label="human" used="57/2000" version="3" about="...">``, the value, the closing mark."""
    about = " ".join(block.description.replace('"', "'").replace("<", "‹").replace(">", "›").split())
    named = f'label="{block.label}" used="{len(block.value)}/{block.limit}" version="{block.version}"'
    locked = ' read_only="true"' if block.read_only else ""
    purpose = f' about="{about}"' if about else ""
    value = block.value.replace("</block>", "</ block>").replace("<block ", "< block ")
    return f"<block {named}{locked}{purpose}>\n{value}\n</block>"
