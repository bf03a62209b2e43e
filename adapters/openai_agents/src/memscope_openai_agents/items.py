"""Convert between the SDK's input items and turns, and insert memory into a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from agents import TResponseInputItem

from memscope.adapters import kit

TEXT_PARTS = frozenset({"input_text", "output_text", "text"})


def turns_of(items: Iterable[Any]) -> list[kit.TurnInput]:
    """Convert messages of people and the model; skip instructions, tool calls and tool results."""
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
    texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") in TEXT_PARTS]
    return "\n".join(text for text in texts if isinstance(text, str))


def item_of(turn: kit.Turn) -> TResponseInputItem:
    return cast(TResponseInputItem, {"role": turn.role, "content": turn.text})


def users_newest(items: Sequence[Any]) -> int | None:
    """Return the index of the user's newest message."""
    return next((at for at in reversed(range(len(items))) if is_message(items[at], "user")), None)


def with_memory(items: Sequence[TResponseInputItem], text: str) -> list[TResponseInputItem]:
    """Prefix ``text`` to the user's newest message."""
    shown: list[Any] = list(items)
    place = users_newest(shown)
    if place is None:  # no user message yet
        return [*shown, {"role": "user", "content": text}]
    content = shown[place].get("content")
    if isinstance(content, str):
        changed: Any = f"{text}\n\n{content}"
    else:
        changed = [{"type": "input_text", "text": f"{text}\n\n"}, *(content or [])]
    shown[place] = {**shown[place], "content": changed}
    return shown
