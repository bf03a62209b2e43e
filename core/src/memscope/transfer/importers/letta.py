"""Importer ``letta``: an exported agent file (``.af``), of either version of its format.

Blocks become blocks, archival passages observations, messages turns of the agent. Version 1 is one agent with its
``core_memory``; version 2 has lists of ``agents`` and ``blocks``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from memscope.errors import InputError
from memscope.transfer.importers import ImportedBlock, ImportedMemory, ImportedTurn, Item, NotTaken, time_of
from memscope.transfer.importers.files import EXPORT_AGAIN, mapping, read_json, sequence, word

REPLY_TOOL = "send_message"  # tool by which agents of version 1 answer
IGNORED_SECTIONS = ("tools", "sources", "files", "groups", "mcp_servers", "tool_exec_environment_variables")
AgentFile = Mapping[str, Any]


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield blocks, passages and messages of every agent in the files."""
    for source in sources:
        for place, value in read_json(source):
            file = mapping(value)
            agents = [mapping(agent) for agent in sequence(file.get("agents"))]
            if not agents and "core_memory" not in file:
                hint = f"an agent file has agents, or core_memory; {EXPORT_AGAIN}"
                raise InputError(f"{place} is not an agent file of Letta", hint=hint)
            blocks = {word(block.get("id")): block for block in map(mapping, sequence(file.get("blocks")))}
            for agent in agents or [file]:
                yield from _agent(agent, blocks)
            for name in IGNORED_SECTIONS:
                if left := len(sequence(file.get(name))):
                    yield NotTaken(f"{name} of an agent file", left)


def _agent(agent: AgentFile, blocks: Mapping[Any, AgentFile]) -> Iterator[Item]:
    name = word(agent.get("name")) or "letta"
    own_blocks = [blocks[id] for id in map(word, sequence(agent.get("block_ids"))) if id in blocks]
    for key in ("core_memory", "memory_blocks"):
        own_blocks += map(mapping, sequence(agent.get(key)))
    for place, block in enumerate(own_blocks):
        yield _block(block, name, place)
    for key in ("archival_memory", "passages"):
        for passage in map(mapping, sequence(agent.get(key))):
            yield _passage(passage, name)
    for message in map(mapping, sequence(agent.get("messages"))):
        yield from _message(message, name)


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
        description=word(block.get("description")),
        read_only=bool(block.get("read_only")),
        order=place,
    )


def _passage(passage: AgentFile, agent: str) -> Item:
    time, id = time_of(passage.get("created_at")), word(passage.get("id"))
    if time is None or not isinstance(passage.get("text"), str) or not id:
        return NotTaken("a passage without id, text or created_at")
    return ImportedMemory(id=id, text=passage["text"], said=time, agent=agent, role="assistant")


def _message(message: AgentFile, agent: str) -> Iterator[Item]:
    """Yield the turns of a message. Without an id they have none: its place differs from one export to the next."""
    role, time, id = message.get("role"), time_of(message.get("created_at")), word(message.get("id"))
    if role not in ("user", "assistant"):
        yield NotTaken(f"a message of role {word(role)[:40]!r}")
        return
    answers = list(_answers(message)) if role == "assistant" else [_user_words(_words(message))]
    texts = [text for text in answers if text]
    if not texts:
        yield NotTaken("a message without words of the user or the assistant")
    for number, text in enumerate(texts):
        turn = {"role": role, "content": text, "time": time}
        named = f"letta:{agent}:{id}" + (f"#{number}" if number else "")
        yield ImportedTurn(turn | {"id": named} if id else turn, agent=agent)


def _words(message: AgentFile) -> str:
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        return content
    parts = (mapping(part) for part in sequence(content))
    texts = (word(part.get("text")) for part in parts if part.get("type") == "text")
    return "\n".join(filter(None, texts))


def _user_words(text: str) -> str:
    """Unpack a user's message from Letta's JSON; "" for Letta's own events."""
    with suppress(ValueError, RecursionError):
        packed = json.loads(text)
        if isinstance(packed, dict) and "type" in packed:
            return word(packed.get("message")) if packed["type"] == "user_message" else ""
    return text


def _answers(message: AgentFile) -> Iterator[str]:
    """Yield the messages sent by tool. Without tool calls yield the text, which is a thought otherwise."""
    calls = [mapping(mapping(call).get("function")) for call in sequence(message.get("tool_calls"))]
    if not calls:
        yield _words(message)
    for call in calls:
        if call.get("name") == REPLY_TOOL:
            with suppress(ValueError, RecursionError):
                yield word(mapping(json.loads(word(call.get("arguments")) or "{}")).get("message"))
