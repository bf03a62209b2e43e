"""Convert Agent Framework's messages to turns, and insert memory into a request."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence

from agent_framework import Content, Message

from memscope.adapters import kit


def turns_of(messages: Iterable[Message], excluded_sources: Collection[str] = ()) -> list[kit.TurnInput]:
    """Convert messages of people and the model; skip instructions, tool calls and tool results.

    Args:
        messages: The messages of a run.
        excluded_sources: Ids of context providers whose messages are not conversation, such as retrieved documents.
    """
    conversation = (message for message in messages if _source_of(message) not in excluded_sources)
    return [turn for message in conversation if (turn := turn_of(message)) is not None]


def _source_of(message: Message) -> str | None:
    """Return the id of the context provider that added a message; None if none did."""
    attribution = message.additional_properties.get("_attribution") or {}
    source: str | None = attribution.get("source_id")
    return source


def turn_of(message: Message) -> kit.TurnInput | None:
    if message.role == "user":
        return kit.to_turn("user", message.text, speaker=message.author_name)
    if message.role == "assistant":
        return kit.to_turn("assistant", message.text)  # without name: resent history may lack it
    return None


def with_memory(messages: Sequence[Message], text: str, beside: Message | None) -> list[Message]:
    """Prefix ``text`` to a copy of the message ``beside``, or of the user's newest message if ``beside`` is gone."""
    shown = list(messages)
    place = next((at for at, message in enumerate(shown) if message is beside), None)
    if place is None:
        place = next((at for at in reversed(range(len(shown))) if shown[at].role == "user"), None)
    if place is None:  # no user message yet
        return [*shown, Message("user", [text])]
    changed = copy.copy(shown[place])
    changed.contents = _prefixed(changed.contents, text)
    shown[place] = changed
    return shown


def _prefixed(contents: Sequence[Content], text: str) -> list[Content]:
    """Prefix ``text`` to the first text part, since some clients send each part as a message of its own."""
    place = next((at for at, content in enumerate(contents) if content.type == "text"), None)
    if place is None:
        return [Content.from_text(text), *contents]
    return [*contents[:place], Content.from_text(f"{text}\n\n{contents[place].text}"), *contents[place + 1 :]]


def users_newest(messages: Sequence[Message]) -> Message | None:
    return next((message for message in reversed(messages) if message.role == "user"), None)
