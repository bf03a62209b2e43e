"""Metadata and data as tokens of one keyword field, and filters on them as queries over these tokens.

A query may find more than the filter means (long texts and large numbers are cut), never less: callers check hits
with ``filters.matches``. Keys and values of users are hashed or encoded, never part of a query's language.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from memscope.records import Json
from memscope.records.filters import ABOUT, KEYWORD
from memscope_elasticsearch.client import Body

TEXT = 64  # characters of a text that ranges see
_NUMBER, _STRING = "n", "s"


def tokens(mapping: Mapping[str, Json]) -> list[str]:
    """Returns per key one token of equality, and one of order for numbers and texts."""
    return [token for key, value in mapping.items() for token in _tokens(key, value)]


def _tokens(key: str, value: Json) -> Iterator[str]:
    yield _equality(key, value)
    if (order := _order(value)) is not None:
        yield f"{_digest(key)}:{order}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _equality(key: str, value: Json) -> str:
    same = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"))
    return f"{_digest(key)}={_digest(same)}"


def _canonical(value: Json) -> Json:
    """Normalise equal values: 1 and 1.0, 0 and -0.0."""
    if isinstance(value, float) and not isinstance(value, bool) and math.isfinite(value) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def _order(value: Json) -> str | None:
    """Returns a text that sorts as the value does, among values of its kind."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _NUMBER + _sortable(value)
    # code points sort as their UTF-8 does, which is how keywords sort
    return _STRING + value[:TEXT] if isinstance(value, str) else None


def _sortable(value: int | float) -> str:
    """Rearrange the bits of a double, so that their texts sort as the numbers do."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    return f"{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):016x}"


def query(filter: Mapping[str, Json]) -> list[Body]:
    """Returns filter clauses that every match of ``filter`` fulfils."""
    known = ((key, wanted) for key, wanted in filter.items() if key not in (ABOUT, KEYWORD))
    return [clause for key, wanted in known for clause in _clauses(key, wanted)]


def _clauses(key: str, wanted: Json) -> Iterator[Body]:
    operators = isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted)
    conditions: Iterable[tuple[str, Any]] = wanted.items() if operators else [("$eq", wanted)]
    for operator, value in conditions:
        if operator == "$eq":
            yield {"term": {"facts": _equality(key, value)}}
        elif operator != "$ne":  # what is not equal is judged on the record itself
            yield _range(key, operator, _order(value) or "")


def _range(key: str, operator: str, order: str) -> Body:
    """Returns a range from the value to the end of its kind, the value itself always included."""
    kind, bound = f"{_digest(key)}:{order[:1]}", f"{_digest(key)}:{order}"
    if operator in ("$gt", "$gte"):
        return {"range": {"facts": {"gte": bound, "lt": kind + "\U0010ffff"}}}
    return {"range": {"facts": {"gte": kind, "lte": bound + "\U0010ffff"}}}
