"""Importer ``openai``: messages of the chat completions format, with tool calls and null contents.

A source is a JSON file with a list of messages, an object with ``messages``, or JSON lines of either kind of object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memscope.records.turn_keys import TIME_KEYS
from memscope.transfer.importers import ImportedTurn, Item, NotTaken
from memscope.transfer.importers.files import mapping, path_of, read_json, sequence, word

ROLE_NAMES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system", "tool": "tool",
         "function": "tool"}  # fmt: skip
KEPT_FIELDS = ("name", "id", *TIME_KEYS, "metadata")


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the messages of every conversation; each file, and each object with ``messages``, is a session."""
    for source in sources:
        stem = path_of(source).stem
        for number, (_, value) in enumerate(read_json(source), 1):
            if isinstance(value, Mapping) and "messages" in value:
                session = word(value.get("id")) or word(value.get("session")) or f"{stem}-{number}"
                for message in sequence(value["messages"]):
                    yield _item(message, session)
            else:
                yield _item(value, stem)


def _item(message: Any, session: str) -> Item:
    role = ROLE_NAMES.get(word(mapping(message).get("role")))
    if role is None:
        return NotTaken("a message without a known role")
    content = message.get("content")
    if not content:
        return NotTaken("a tool call without words" if message.get("tool_calls") else "a message without words")
    if isinstance(content, list) and not any(isinstance(part, str) or mapping(part).get("text") for part in content):
        return NotTaken("a message without words")
    fields = {name: message[name] for name in KEPT_FIELDS if message.get(name) is not None}
    return ImportedTurn({"role": role, "content": content, "session": session, **fields})
