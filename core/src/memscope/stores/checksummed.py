"""Records and change sets as JSON with a CRC-32: SQLite detects torn pages but not flipped bits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar
from zlib import crc32

from memscope.errors import InputError, StoreCorrupt
from memscope.records import Block, ChangeSet, Json, Receipt, Record
from memscope.records.serialization import (
    block_from_json,
    change_set_from_json,
    change_set_to_json,
    from_json,
    receipt_from_json,
    to_json,
)
from memscope.stores.rules import folded

T = TypeVar("T")
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # ``json.dumps`` would create one per call


def encode(value: Record | Block | Receipt | ChangeSet) -> str:
    fields = change_set_to_json(value) if isinstance(value, ChangeSet) else to_json(value)
    text = _encoder.encode(fields)
    return f"{crc32(text.encode()):08x}{text}"


def decode(body: str) -> Record:
    """Decode a record; ``StoreCorrupt`` if the checksum does not match."""
    return _opened(body, from_json)


@lru_cache(64)
def words_in_body(text: str | None) -> str:
    """Convert a search text to its form in a ``folded`` body, so that only bodies with it need decoding."""
    return folded(json.dumps(text or "", ensure_ascii=False)[1:-1])


def decode_plan(body: str) -> ChangeSet:
    return _opened(body, change_set_from_json)


def decode_block(body: str) -> Block:
    return _opened(body, block_from_json)


def decode_receipt(body: str) -> Receipt:
    return _opened(body, receipt_from_json)


def _opened(body: str, build: Callable[[Mapping[str, Json]], T]) -> T:
    sealed, text, cause = body[:8], body[8:], None
    try:
        if f"{crc32(text.encode()):08x}" == sealed:
            return build(json.loads(text))
    except InputError as error:
        cause = error
    raise StoreCorrupt("a stored record is damaged", hint="save what is readable with 'memscope recover'") from cause
