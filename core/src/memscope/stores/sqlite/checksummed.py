"""Records and change sets as text with a checksum, since SQLite notices a torn page but not a flipped bit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from zlib import crc32

from memscope.errors import InputError, StoreCorrupt
from memscope.records import Block, ChangeSet, Json, Record
from memscope.records.serialization import (
    block_from_json,
    block_to_json,
    change_set_from_json,
    change_set_to_json,
    from_json,
    to_json,
)


def encode(record: Record) -> str:
    return _seal(to_json(record))


def decode(body: str) -> Record:
    """Returns the record; ``StoreCorrupt`` if the checksum does not match."""
    try:
        return from_json(_unseal(body))
    except InputError as error:
        raise _damaged() from error


def encode_plan(change_set: ChangeSet) -> str:
    return _seal(change_set_to_json(change_set))


def decode_plan(body: str) -> ChangeSet:
    try:
        return change_set_from_json(_unseal(body))
    except InputError as error:
        raise _damaged() from error


def encode_block(block: Block) -> str:
    return _seal(block_to_json(block))


def decode_block(body: str) -> Block:
    try:
        return block_from_json(_unseal(body))
    except InputError as error:
        raise _damaged() from error


def _seal(made: Mapping[str, Json]) -> str:
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    return f"{crc32(text.encode()):08x}{text}"


def _unseal(body: str) -> dict[str, Json]:
    sealed, text = body[:8], body[8:]
    if f"{crc32(text.encode()):08x}" != sealed:
        raise _damaged()
    made: dict[str, Json] = json.loads(text)
    return made


def _damaged() -> StoreCorrupt:
    return StoreCorrupt("a stored record is damaged", hint="save what is readable with 'memscope recover'")
