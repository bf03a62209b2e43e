"""Importer ``chatgpt``: the conversations of a ChatGPT data export, the zip or its ``conversations.json``.

A conversation is a tree of messages; only the branch shown last is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memscope.errors import InputError
from memscope.transfer.importers import ImportedTurn, Item, NotTaken, time_of
from memscope.transfer.importers.files import EXPORT_AGAIN, mapping, sequence, unzipped, word

TEXT_CONTENT_TYPES = {"text", "multimodal_text"}


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the messages of user and assistant by conversation, with ids and times."""
    for source in sources:
        for place, conversation in unzipped(source, "conversations"):
            if not isinstance(conversation, Mapping) or not isinstance(conversation.get("mapping"), Mapping):
                hint = f"take the zip, or conversations.json; if it is that, {EXPORT_AGAIN}"
                raise InputError(f"{place} is not a conversation of a ChatGPT export", hint=hint)
            yield from _conversation(conversation)


def _conversation(conversation: Mapping[str, Any]) -> Iterator[Item]:
    nodes = {id: mapping(node) for id, node in conversation["mapping"].items()}
    branch = _branch(nodes, conversation.get("current_node"))
    session = word(conversation.get("conversation_id")) or word(conversation.get("id")) or "chatgpt"
    time = time_of(conversation.get("create_time"))
    for node in branch:
        message = mapping(node.get("message"))
        time = time_of(message.get("create_time")) or time
        yield from _message(message, f"chatgpt:{session}", time)
    others = sum(bool(node.get("message")) for node in nodes.values()) - sum(
        bool(node.get("message")) for node in branch
    )
    if others:
        yield NotTaken("a message of another branch", others)


def _branch(nodes: Mapping[str, Any], last: Any) -> list[Mapping[str, Any]]:
    """Trace the branch from the first message to the one shown last, or to the last node of the file."""
    id = last if isinstance(last, str) and last in nodes else next(reversed(list(nodes)), None)
    branch: dict[str, Mapping[str, Any]] = {}
    while isinstance(id, str) and id in nodes and id not in branch:
        branch[id] = nodes[id]
        id = nodes[id].get("parent")
    return list(branch.values())[::-1]


def _message(message: Mapping[str, Any], session: str, time: Any) -> Iterator[Item]:
    role = mapping(message.get("author")).get("role")
    content = mapping(message.get("content"))
    hidden = mapping(message.get("metadata")).get("is_visually_hidden_from_conversation")
    parts = sequence(content.get("parts"))
    words = "\n".join(part for part in parts if isinstance(part, str)).strip()
    if not message or role == "system" or hidden:
        return
    kind = word(content.get("content_type"))[:40] or "without content"
    if role not in ("user", "assistant") or kind not in TEXT_CONTENT_TYPES or message.get("recipient", "all") != "all":
        yield NotTaken(f"a message of a tool, or {kind}")
        return
    if len(parts) > (seen := sum(isinstance(part, str) for part in parts)):
        yield NotTaken("an image or another attachment", len(parts) - seen)
    if words and time is not None:
        id = word(message.get("id"))
        turn = {"role": role, "content": words, "time": time, "session": session}
        yield ImportedTurn(turn | {"id": f"chatgpt:{id}"} if id else turn)
    elif words:
        yield NotTaken("a message without a time")
