"""Importer ``letta``: an exported agent file (``.af``), of either version of its format.

Blocks become blocks, archival passages observations, messages turns of the agent of that name. Version 1 is one agent
with its ``core_memory``; version 2 lists ``agents`` and, beside them, ``blocks``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from memscope.errors import InputError
from memscope.transfer.importers import ImportedBlock, ImportedMemory, ImportedTurn, Item, NotTaken, time_of
from memscope.transfer.importers.files import mapping, read_json, sequence

SAYS = "send_message"  # the tool by which an agent of version 1 answers
LEFT = ("tools", "sources", "files", "groups", "mcp_servers", "tool_exec_environment_variables")
AgentFile = Mapping[str, Any]


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield blocks, passages and messages of every agent in the files."""
    for source in sources:
        for value in read_json(source):
            file = mapping(value)
            agents = [mapping(agent) for agent in sequence(file.get("agents"))]
            if not agents and "core_memory" not in file:
                raise InputError("not an agent file of Letta", hint="export the agent: it has agents, or core_memory")
            blocks = {block.get("id"): block for block in map(mapping, sequence(file.get("blocks")))}
            for agent in agents or [file]:
                yield from _agent(agent, blocks)
            for name in LEFT:
                if left := len(sequence(file.get(name))):
                    yield NotTaken(f"{name} of an agent file", left)


def _agent(agent: AgentFile, blocks: Mapping[Any, AgentFile]) -> Iterator[Item]:
    name = str(agent.get("name") or "letta")
    own = [blocks[id] for id in sequence(agent.get("block_ids")) if id in blocks]
    for key in ("core_memory", "memory_blocks"):
        own += map(mapping, sequence(agent.get(key)))
    for place, block in enumerate(own):
        yield _block(block, name, place)
    for key in ("archival_memory", "passages"):
        for passage in map(mapping, sequence(agent.get(key))):
            yield _passage(passage, name)
    for number, message in enumerate(map(mapping, sequence(agent.get("messages")))):
        yield from _message(message, name, f"{name}:{message.get('id') or number}")


def _block(block: AgentFile, agent: str, place: int) -> Item:
    label, value = block.get("label"), block.get("value")
    if not isinstance(label, str) or not isinstance(value, str):
        return NotTaken("a block without label or value")
    limit = block.get("limit")
    return ImportedBlock(
        label=label,
        value=value,
        agent=agent if label == "persona" else None,
        limit=limit if isinstance(limit, int) else 0,
        description=str(block.get("description") or ""),
        read_only=bool(block.get("read_only")),
        order=place,
    )


def _passage(passage: AgentFile, agent: str) -> Item:
    said = time_of(passage.get("created_at"))
    if said is None or not isinstance(passage.get("text"), str) or not passage.get("id"):
        return NotTaken("a passage without id, text or created_at")
    return ImportedMemory(id=str(passage["id"]), text=passage["text"], said=said, agent=agent)


def _message(message: AgentFile, agent: str, id: str) -> Iterator[Item]:
    role, time = message.get("role"), time_of(message.get("created_at"))
    if role not in ("user", "assistant"):
        yield NotTaken(f"a message of role {role!r}")
        return
    said = list(_answers(message)) if role == "assistant" else [_user_words(_words(message))]
    texts = [text for text in said if text]
    if not texts:
        yield NotTaken("a message without words of the user or the assistant")
    for number, text in enumerate(texts):
        turn = {"role": role, "content": text, "id": f"letta:{id}" + (f"#{number}" if number else ""), "time": time}
        yield ImportedTurn(turn, agent=agent)


def _words(message: AgentFile) -> str:
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        return content
    parts = (mapping(part) for part in sequence(content))
    return "\n".join(str(part["text"]) for part in parts if part.get("type") == "text" and part.get("text"))


def _user_words(text: str) -> str:
    """The words inside the JSON in which Letta packs a user's message; "" for its own events."""
    with suppress(ValueError):
        packed = json.loads(text)
        if isinstance(packed, dict) and "type" in packed:
            return str(packed.get("message") or "") if packed["type"] == "user_message" else ""
    return text


def _answers(message: AgentFile) -> Iterator[str]:
    """The messages sent by tool; without tool calls the text, which else is the agent's own thought."""
    calls = [mapping(mapping(call).get("function")) for call in sequence(message.get("tool_calls"))]
    if not calls:
        yield _words(message)
    for call in calls:
        if call.get("name") == SAYS:
            with suppress(ValueError):
                yield str(mapping(json.loads(call.get("arguments") or "{}")).get("message") or "")
