"""Metadata and data as tokens of one keyword field, and filters as queries over these tokens.

A query finds every match of a filter, and sometimes more: long texts and large numbers are cut; nested keys, names and
keywords have no tokens. If it is not ``is_exact``, callers check the hits with ``filters.record_matches``. Keys and
values of users are hashed or encoded, so that they cannot act as query syntax.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from memscope.records import Json, Record, Turn
from memscope.records.filters import ABOUT_FIELD, AND, EXISTS, IN, KEYWORD_FIELD, NOT, NOT_IN, OR
from memscope_elasticsearch.client import Body

MAX_ORDERED_CHARS = 64  # leading characters of a text that range queries compare
STATEMENT = "statement"  # the only token of a statement; no filter matches it
EXACT_INTEGERS = 2**53  # integers below it are exact as doubles
_NUMBER, _STRING = "n", "s"
_NOTHING: Body = {"match_none": {}}
_EVERYTHING: Body = {"match_all": {}}
_MEMORY: Body = {"bool": {"must_not": [{"term": {"kind": "turn"}}]}}


def tokens_of(record: Record) -> list[str]:
    if isinstance(record, Turn):
        return [STATEMENT] if record.statement else tokens(record.metadata)
    return tokens(record.data)


def tokens(mapping: Mapping[str, Json]) -> list[str]:
    """Build the tokens: one per key for equality, and one for order if the value is a number or text."""
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
    """Normalise equal values, such as 1 and 1.0 or 0 and -0.0."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def _order(value: Json) -> str | None:
    """Encode a value as text that sorts like the values of its type; None if these have no order."""
    if isinstance(value, bool) or value != value:  # NaN compares with nothing
        return None
    if isinstance(value, int | float):
        return _NUMBER + _sortable(value)
    # keywords sort by UTF-8 bytes, which equals the order of code points
    return _STRING + value[:MAX_ORDERED_CHARS] if isinstance(value, str) else None


def _sortable(value: int | float) -> str:
    """Encode a double as hex digits that sort like the numbers."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    return f"{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):016x}"


# ---- queries


def query(filter: Mapping[str, Json]) -> list[Body]:
    """Build clauses that every match of ``filter`` meets."""
    return [*_filter(filter, loose=True), _negated([{"term": {"facts": STATEMENT}}])]


def is_exact(filter: Mapping[str, Json]) -> bool:
    """True if only matches of ``filter`` meet its query."""
    return _filter(filter, loose=True) == _filter(filter, loose=False)


def _filter(filter: Mapping[str, Json], *, loose: bool) -> list[Body]:
    """``loose``: clauses that every match meets (necessary); else clauses that only matches meet (sufficient).

    ``$not`` swaps the two.
    """
    return [clause for key, wanted in filter.items() for clause in _part(key, wanted, loose=loose)]


def _part(key: str, wanted: Json, *, loose: bool) -> Iterator[Body]:
    if key == NOT:
        yield _negated(_filter(wanted, loose=not loose))
    elif key == AND:
        for part in wanted:
            yield from _filter(part, loose=loose)
    elif key == OR:
        yield _any([_all(_filter(part, loose=loose)) for part in wanted])
    elif key in (ABOUT_FIELD, KEYWORD_FIELD):
        yield _MEMORY if loose else _NOTHING
    else:
        yield from _conditions(key, wanted, loose=loose)


def _conditions(key: str, wanted: Json, *, loose: bool) -> Iterator[Body]:
    operators = isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted)
    conditions: Iterable[tuple[str, Any]] = wanted.items() if operators else [("$eq", wanted)]
    for operator, value in conditions:
        if operator == NOT:
            yield _negated(list(_conditions(key, value, loose=not loose)))
        elif "." in key:
            yield _within(key, operator, value) if loose else _NOTHING
        else:
            yield _condition(key, operator, value, loose=loose)


def _condition(key: str, operator: str, value: Json, *, loose: bool) -> Body:
    if operator in ("$eq", "$ne", IN, NOT_IN):
        values = value if operator in (IN, NOT_IN) else [value]
        among: Body = {"terms": {"facts": sorted({_equality(key, item) for item in values})}}
        return among if operator in ("$eq", IN) else _negated([among])
    if operator == EXISTS:
        return _exists(key) if value else _negated([_exists(key)])
    return _range(key, operator, value, loose=loose)


def _exists(key: str) -> Body:
    return {"prefix": {"facts": f"{_digest(key)}="}}


def _within(path: str, operator: str, value: Json) -> Body:
    """Build a necessary condition for a nested key: a parent object or the literal key exists."""
    if operator in ("$ne", NOT_IN) or (operator == EXISTS and not value):
        return _EVERYTHING
    heads = [path[:at] for at, char in enumerate(path) if char == "."]
    return _any([_exists(key) for key in (*heads, path)])


def _range(key: str, operator: str, value: Json, *, loose: bool) -> Body:
    """Build a range limited to the value's type; values equal after truncation match only if ``loose``."""
    if value != value:  # NaN compares with nothing
        return _NOTHING
    order = _order(value) or ""
    whole = len(value) < MAX_ORDERED_CHARS if isinstance(value, str) else abs(value) < EXACT_INTEGERS
    equal = "e" * (operator in ("$gte", "$lte") if whole else loose)
    kind, bound = f"{_digest(key)}:{order[:1]}", f"{_digest(key)}:{order}"
    if operator in ("$gt", "$gte"):
        return {"range": {"facts": {f"gt{equal}": bound, "lt": kind[:-1] + chr(ord(kind[-1]) + 1)}}}
    return {"range": {"facts": {"gte": kind, f"lt{equal}": bound}}}


def _all(clauses: list[Body]) -> Body:
    return clauses[0] if len(clauses) == 1 else {"bool": {"filter": clauses}}


def _any(clauses: list[Body]) -> Body:
    return clauses[0] if len(clauses) == 1 else {"bool": {"should": clauses, "minimum_should_match": 1}}


def _negated(clauses: list[Body]) -> Body:
    return {"bool": {"must_not": [_all(clauses)]}}
