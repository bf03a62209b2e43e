"""The SDK's input items as turns, turns as items, and a request with memory in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from agents import TResponseInputItem

from memscope.adapters import kit

TEXT_PARTS = frozenset({"input_text", "output_text", "text"})


def turns_of(items: Iterable[Any]) -> list[kit.TurnInput]:
    """Convert what a person or a model said; instructions, tool calls and their results are left out."""
    return [turn for item in items if (turn := turn_of(item)) is not None]


def turn_of(item: Any) -> kit.TurnInput | None:
    if not is_message(item, "user") and not is_message(item, "assistant"):
        return None
    return kit.to_turn(item["role"], text_of(item))


def is_message(item: Any, role: str) -> bool:
    return isinstance(item, Mapping) and item.get("type", "message") == "message" and item.get("role") == role


def text_of(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(part.get("text", "") for part in content if part.get("type") in TEXT_PARTS)


def item_of(turn: kit.Turn) -> TResponseInputItem:
    return cast(TResponseInputItem, {"role": turn.role, "content": turn.text})


def users_newest(items: Sequence[Any]) -> int | None:
    """Index of the user's newest message."""
    return next((at for at in reversed(range(len(items))) if is_message(items[at], "user")), None)


def with_memory(items: Sequence[TResponseInputItem], text: str) -> list[TResponseInputItem]:
    """Put ``text`` before the user's newest words, in the same message."""
    shown: list[Any] = list(items)
    place = users_newest(shown)
    if place is None:  # nobody said anything
        return [*shown, {"role": "user", "content": text}]
    content = shown[place].get("content")
    if isinstance(content, str):
        changed: Any = f"{text}\n\n{content}"
    else:
        changed = [{"type": "input_text", "text": f"{text}\n\n"}, *(content or [])]
    shown[place] = {**shown[place], "content": changed}
    return shown
