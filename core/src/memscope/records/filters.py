"""The one filter grammar on metadata and data, the same for every store.

    {"city": "Berlin", "visits": {"$gte": 2, "$lt": 5}, "draft": {"$ne": True}}

Conditions are joined by "and". A key names a key of the mapping as it is: dots and dollars in it mean nothing. A plain
value means ``$eq``. Numbers compare with numbers and texts with texts (by code point); anything else has no order and
does not match. True is not 1. A missing key matches ``$ne`` only.

``{"$about": "Anna"}`` asks whom a memory is about ("Anna Schmidt" and the insight "Anna's family" too), ``{"$keyword":
"food"}`` for its keywords; no turn matches them by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from memscope.errors import InputError, LimitError
from memscope.records.entities import Insight, Json, Record, Turn

ABOUT, KEYWORD = "$about", "$keyword"
MAX_CONDITIONS = 50
MAX_DEPTH = 8  # of a value that is compared with
_MISSING = object()

Test: TypeAlias = Callable[[Any, Any], bool]


def check(filter: Mapping[str, Json] | None) -> None:
    """Raise ``InputError`` unless ``matches`` accepts this filter."""
    if filter is None:
        return
    if not isinstance(filter, Mapping):
        raise InputError(f"a filter must be a dict, got {type(filter).__name__}", hint='for example {"city": "Berlin"}')
    conditions = sum(len(wanted) if _operators(wanted) else 1 for wanted in filter.values())
    if conditions > MAX_CONDITIONS:
        raise LimitError("conditions in a filter", limit=MAX_CONDITIONS, got=conditions)
    for key, wanted in filter.items():
        if not isinstance(key, str):
            raise InputError(f"a filter has a key that is not text: {key!r}")
        if key in _TESTS:
            raise InputError(f"operator {key} stands where a key is meant", hint=f'say {{"size": {{"{key}": 2}}}}')
        if key in (ABOUT, KEYWORD) and not (isinstance(wanted, str) and wanted.strip()):
            raise InputError(f"{key} needs a text", hint=f'for example {{"{key}": "Anna"}}')
        for operator, value in _conditions(wanted):
            _check_condition(key, operator, value)


def _check_condition(key: str, operator: object, value: Json) -> None:
    if operator not in _TESTS:
        raise InputError(f"unknown operator {operator!r} for {key!r}", hint=f"known are {', '.join(_TESTS)}")
    if operator not in ("$eq", "$ne") and _order(value) is None:
        raise InputError(f"{operator} for {key!r} needs a number or a text, got {type(value).__name__}")
    _check_value(key, value, MAX_DEPTH)


def _check_value(key: str, value: Json, left: int) -> None:
    if value is None or isinstance(value, bool | int | float | str):
        return
    if not isinstance(value, Mapping | list | tuple):
        raise InputError(f"the value for {key!r} is not JSON: {type(value).__name__}")
    if left == 0:
        raise InputError(f"the value for {key!r} is nested deeper than {MAX_DEPTH}")
    for item in value.values() if isinstance(value, Mapping) else value:
        _check_value(key, item, left - 1)


def record_matches(filter: Mapping[str, Json], record: Record) -> bool:
    """Returns whether a record's metadata or data, subject and keywords meet a filter that passed ``check``."""
    if isinstance(record, Turn):
        return ABOUT not in filter and KEYWORD not in filter and matches(filter, record.metadata)
    about = record.subject if isinstance(record, Insight) else record.about
    words = () if isinstance(record, Insight) else record.keywords
    return (
        (ABOUT not in filter or has_name(about, filter[ABOUT]))
        and (KEYWORD not in filter or filter[KEYWORD].casefold() in map(str.casefold, words))
        and matches({key: wanted for key, wanted in filter.items() if key not in (ABOUT, KEYWORD)}, record.data)
    )


def has_name(text: str, name: str) -> bool:
    """Returns whether the name stands in the text, as whole words in scripts that have them."""
    folded = re.escape(name.strip().casefold())
    wanted = rf"(?<![a-z0-9]){folded}(?![a-z0-9])" if name.isascii() else folded
    return re.search(wanted, text.casefold()) is not None


def matches(filter: Mapping[str, Json], mapping: Mapping[str, Json]) -> bool:
    """Returns whether the mapping meets every condition of a filter that passed ``check``."""
    return all(
        _TESTS[operator](mapping.get(key, _MISSING), value)
        for key, wanted in filter.items()
        for operator, value in _conditions(wanted)
    )


def _operators(wanted: Json) -> bool:
    return isinstance(wanted, Mapping) and bool(wanted) and all(str(name).startswith("$") for name in wanted)


def _conditions(wanted: Json) -> list[tuple[str, Json]]:
    """A dict of operators as pairs; one that mixes operators and keys has an unknown operator."""
    if isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted):
        return list(wanted.items())
    return [("$eq", wanted)]


def _equal(have: Json, wanted: Json) -> bool:
    """Equality as in JSON: true is not 1, and 1 is 1.0."""
    if isinstance(have, bool) or isinstance(wanted, bool):
        return have is wanted
    if isinstance(have, Mapping) and isinstance(wanted, Mapping):
        return have.keys() == wanted.keys() and all(_equal(have[key], wanted[key]) for key in have)
    if isinstance(have, list | tuple) and isinstance(wanted, list | tuple):
        return len(have) == len(wanted) and all(map(_equal, have, wanted))
    return bool(have == wanted)


def _order(value: Json) -> str | None:
    """Returns the kind of values it can be compared with: "number", "text", or nothing."""
    if isinstance(value, bool):
        return None
    return "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else None


def _ordered(compare: Test) -> Test:
    def test(have: Json, wanted: Json) -> bool:
        return _order(have) is not None and _order(have) == _order(wanted) and compare(have, wanted)

    return test


_TESTS: dict[str, Test] = {
    "$eq": _equal,
    "$ne": lambda have, wanted: not _equal(have, wanted),
    "$gt": _ordered(lambda have, wanted: bool(have > wanted)),
    "$gte": _ordered(lambda have, wanted: bool(have >= wanted)),
    "$lt": _ordered(lambda have, wanted: bool(have < wanted)),
    "$lte": _ordered(lambda have, wanted: bool(have <= wanted)),
}
