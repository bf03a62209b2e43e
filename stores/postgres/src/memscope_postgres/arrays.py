"""Arrays in PostgreSQL's binary format, used as columns of batched inserts.

Faster than psycopg's arrays and than JSON; COPY is refused for tables with row level security.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from types import MappingProxyType
from typing import Any

from psycopg import pq
from psycopg.adapt import Dumper

_OIDS: Mapping[str, int] = MappingProxyType(
    {"bigint": 20, "smallint": 21, "text": 25, "boolean": 16, "bytea": 17, "uuid": 2950}
)
_OF_ONE_LENGTH = MappingProxyType({"bigint": Struct(">iq"), "smallint": Struct(">ih"), "boolean": Struct(">i?")})
_HEAD, _LENGTH, _NULL = Struct(">iiIii"), Struct(">i"), b"\xff\xff\xff\xff"  # NULL: a length of -1


class Array(bytes):
    """A one-dimensional array with indices from 1; the statement casts it to its type."""


class ArrayDumper(Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: Array) -> Array:
        return obj


def array(type: str, values: Iterable[Any]) -> Array:
    """Encode numbers, booleans, texts or bytes; None becomes NULL."""
    if (fixed := _OF_ONE_LENGTH.get(type)) is not None:
        length = fixed.size - _LENGTH.size
        parts = [_NULL if value is None else fixed.pack(length, value) for value in values]
    else:
        parts = [_NULL if value is None else _with_length(value) for value in values]
    return Array(_HEAD.pack(1, 1, _OIDS[type], len(parts), 1) + b"".join(parts))


def _with_length(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _LENGTH.pack(len(data)) + data
