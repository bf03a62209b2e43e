"""Importer ``openai``: messages of the chat completions format, with tool calls and null contents.

A source is a JSON file with a list of messages, an object with ``messages``, or JSON lines of either kind of object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memscope.transfer.importers import ImportedTurn, Item, NotTaken
from memscope.transfer.importers.files import mapping, read_json, sequence

ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system", "tool": "tool",
         "function": "tool"}  # fmt: skip
KEPT = ("name", "id", "time", "timestamp", "metadata")


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the messages of every conversation; each file, and each object with ``messages``, is a session."""
    for source in sources:
        loose: list[Any] = []
        for number, value in enumerate(read_json(source)):
            if isinstance(value, Mapping) and "messages" in value:
                session = str(value.get("id") or value.get("session") or f"{Path(str(source)).stem}-{number + 1}")
                yield from _messages(value["messages"], session)
            else:
                loose.append(value)
        yield from _messages(loose, Path(str(source)).stem)


def _messages(messages: Any, session: str) -> Iterator[Item]:
    for message in sequence(messages):
        yield _item(message, session)


def _item(message: Any, session: str) -> Item:
    role = ROLES.get(str(mapping(message).get("role")))
    if role is None:
        return NotTaken("no message with a known role")
    content = message.get("content")
    if not content:
        return NotTaken("a tool call without words" if message.get("tool_calls") else "a message without words")
    if isinstance(content, list) and not any(isinstance(part, str) or mapping(part).get("text") for part in content):
        return NotTaken("a message without words")
    kept = {name: message[name] for name in KEPT if message.get(name) is not None}
    return ImportedTurn({"role": role, "content": content, "session": session, **kept})
