"""The filter grammar on metadata and data, shared by all stores.

    {"city": "Berlin", "visits": {"$gte": 2, "$lt": 5}, "draft": {"$ne": True}}
    {"$or": [{"city": {"$in": ["Berlin", "Kiel"]}}, {"address.city": "Berlin"}], "$not": {"draft": True}}

Conditions are joined by "and"; ``$and`` and ``$or`` join a list of filters, ``$not`` negates a filter or, below a key,
the conditions on it. A plain value means ``$eq``. Numbers compare with numbers and texts with texts (by code point);
anything else has no order and does not match. True is not 1. A missing key matches ``$ne``, ``$nin``, ``$not`` and
``{"$exists": False}`` only.

A key is looked up literally first, then as a dotted path into objects. A key that begins with a dollar is an operator;
unknown operators are refused.

``{"$about": "Anna"}`` matches memories about someone ("Anna Schmidt" and the insight "Anna's family" too),
``{"$keyword": "food"}`` those with a keyword; turns never match these two. A statement matches no filter: it has no
data, and is found and forgotten with its memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from memscope.errors import InputError, LimitError
from memscope.records.stored import Insight, Json, Record, Turn

AND, OR, NOT = "$and", "$or", "$not"
ABOUT_FIELD, KEYWORD_FIELD = "$about", "$keyword"
IN, NOT_IN, EXISTS = "$in", "$nin", "$exists"
MAX_FILTER_CONDITIONS = 50
MAX_FILTER_VALUES = 1000  # total over all conditions, entries of lists and objects included
MAX_FILTER_CHARS = 256 * 1024  # total over all keys and texts
MAX_FILTER_NESTING = 8  # depth of $and, $or and $not
MAX_VALUE_DEPTH = 8  # depth of a compared value
_MISSING = object()

Test: TypeAlias = Callable[[Any, Any], bool]
Leaf: TypeAlias = Callable[[str, Json], bool]

# ---- checking


def check(filter: Mapping[str, Json] | None) -> None:
    """Raise ``InputError`` unless ``matches`` accepts this filter."""
    if filter is None:
        return
    size: Counter[str] = Counter()
    _check_filter(filter, size, MAX_FILTER_NESTING)
    limits = {"conditions": MAX_FILTER_CONDITIONS, "values": MAX_FILTER_VALUES, "characters": MAX_FILTER_CHARS}
    for what, limit in limits.items():
        if size[what] > limit:
            raise LimitError(f"{what} in a filter", limit=limit, got=size[what])


def _check_filter(filter: object, size: Counter[str], nesting: int) -> None:
    if not isinstance(filter, Mapping):
        raise InputError(f"a filter must be a dict, got {type(filter).__name__}", hint='for example {"city": "Berlin"}')
    for key, wanted in filter.items():
        if not isinstance(key, str):
            raise InputError(f"a filter has a key that is not text: {key!r}")
        size["characters"] += len(key)
        if key in (AND, OR, NOT):
            _check_joined(key, wanted, size, nesting)
        elif key.startswith("$"):
            _check_special(key, wanted, size)
        else:
            _check_conditions(key, wanted, size, nesting)


def _check_joined(key: str, wanted: Json, size: Counter[str], nesting: int) -> None:
    parts = [wanted] if key == NOT else wanted
    is_list = isinstance(parts, list | tuple) and bool(parts)
    if not is_list or not all(isinstance(part, Mapping) and part for part in parts):
        if key == NOT:
            raise InputError("$not needs a filter that is not empty", hint='for example {"$not": {"city": "Berlin"}}')
        raise InputError(f"{key} needs a list of filters, none of them empty", hint=f'{{"{key}": [{{...}}, {{...}}]}}')
    _check_nesting(nesting)
    for part in parts:
        _check_filter(part, size, nesting - 1)


def _check_nesting(nesting: int) -> None:
    if nesting == 0:
        hint = "conditions in one dict are joined by 'and'"
        raise InputError(f"a filter is nested deeper than {MAX_FILTER_NESTING}", hint=hint)


def _check_special(key: str, wanted: Json, size: Counter[str]) -> None:
    if key in _TESTS:
        raise InputError(f"operator {key} stands where a key is meant", hint=f'say {{"size": {{"{key}": 2}}}}')
    if key not in (ABOUT_FIELD, KEYWORD_FIELD):
        raise _unknown(key)
    if not (isinstance(wanted, str) and wanted.strip()):
        raise InputError(f"{key} needs a text", hint=f'for example {{"{key}": "Anna"}}')
    size["conditions"] += 1
    size["characters"] += len(wanted)


def _unknown(operator: str, key: str | None = None) -> InputError:
    hint = f"known are {', '.join((AND, OR, NOT, ABOUT_FIELD, KEYWORD_FIELD, *_TESTS))}"
    if key is None:
        return InputError(f"unknown operator {operator[:40]!r}", hint=hint)
    return InputError(f"unknown operator {operator[:40]!r} for {key[:40]!r}", hint=hint)


def _check_conditions(key: str, wanted: Json, size: Counter[str], nesting: int) -> None:
    plain = not _has_operators(wanted)
    for operator, value in _conditions(wanted):
        if operator == NOT:
            if not _has_operators(value):
                raise InputError(f"$not for {key[:40]!r} needs operators", hint='for example {"$not": {"$gt": 2}}')
            _check_nesting(nesting)
            _check_conditions(key, value, size, nesting - 1)
        else:
            size["conditions"] += 1
            _check_condition(key, str(operator), value)
            _check_value(key, value, size, MAX_VALUE_DEPTH, plain=plain)


def _check_condition(key: str, operator: str, value: Json) -> None:
    if operator not in _TESTS:
        raise _unknown(operator, key)
    if operator in (IN, NOT_IN):
        if not (isinstance(value, list | tuple) and value):
            raise InputError(f"{operator} for {key[:40]!r} needs a list of one or more values")
    elif operator == EXISTS:
        if not isinstance(value, bool):
            raise InputError(f"{EXISTS} for {key[:40]!r} needs true or false")
    elif operator not in ("$eq", "$ne") and _order(value) is None:
        raise InputError(f"{operator} for {key[:40]!r} needs a number or a text, got {type(value).__name__}")


def _check_value(key: str, value: Json, size: Counter[str], depth: int, *, plain: bool) -> None:
    """Check a value. ``plain``: it stands without ``$eq``, so an operator inside it is a mistake."""
    size["values"] += 1
    if isinstance(value, str):
        size["characters"] += len(value)
    if value is None or isinstance(value, bool | int | float | str):
        return
    if not isinstance(value, Mapping | list | tuple):
        raise InputError(f"the value for {key[:40]!r} is not JSON: {type(value).__name__}")
    if depth == 0:
        raise InputError(f"the value for {key[:40]!r} is nested deeper than {MAX_VALUE_DEPTH}")
    if isinstance(value, Mapping):
        _check_names(key, value, size, plain=plain)
    for item in value.values() if isinstance(value, Mapping) else value:
        _check_value(key, item, size, depth - 1, plain=plain)


def _check_names(key: str, value: Mapping[Any, Json], size: Counter[str], *, plain: bool) -> None:
    size["characters"] += sum(len(str(name)) for name in value)
    inside = next((str(name) for name in value if str(name).startswith("$")), None) if plain else None
    if inside is not None:
        hint = f'a dot leads into an object: {{"{key[:40]}.KEY": {{"{inside[:40]}": ...}}}}'
        raise InputError(f"operator {inside[:40]!r} stands inside the value for {key[:40]!r}", hint=hint)


# ---- matching


def record_matches(filter: Mapping[str, Json], record: Record) -> bool:
    """Return whether a record's metadata or data, subject and keywords meet a filter that passed ``check``."""
    if isinstance(record, Turn) and record.statement:
        return not filter
    mapping = record.metadata if isinstance(record, Turn) else record.data

    def leaf(key: str, wanted: Json) -> bool:
        if key == ABOUT_FIELD:
            about = "" if isinstance(record, Turn) else record.subject if isinstance(record, Insight) else record.about
            return has_name(about, wanted)
        if key == KEYWORD_FIELD:
            words = () if isinstance(record, Turn | Insight) else record.keywords
            return wanted.casefold() in map(str.casefold, words)
        return _meets(_value(mapping, key), wanted)

    return _holds(filter, leaf)


def has_name(text: str, name: str) -> bool:
    """True if the text contains the name, as whole words in scripts with spaces."""
    folded = re.escape(name.strip().casefold())
    wanted = rf"(?<![a-z0-9]){folded}(?![a-z0-9])" if name.isascii() else folded
    return re.search(wanted, text.casefold()) is not None


def matches(filter: Mapping[str, Json], mapping: Mapping[str, Json]) -> bool:
    """Return whether the mapping meets every condition of a filter that passed ``check``."""
    return _holds(filter, lambda key, wanted: _meets(_value(mapping, key), wanted))


def _holds(filter: Mapping[str, Json], leaf: Leaf) -> bool:
    return all(_part_holds(key, wanted, leaf) for key, wanted in filter.items())


def _part_holds(key: str, wanted: Json, leaf: Leaf) -> bool:
    if key == NOT:
        return not _holds(wanted, leaf)
    if key in (AND, OR):
        join = all if key == AND else any
        return join(_holds(part, leaf) for part in wanted)
    return leaf(key, wanted)


def _meets(have: Json, wanted: Json) -> bool:
    return all(
        not _meets(have, value) if operator == NOT else _TESTS[operator](have, value)
        for operator, value in _conditions(wanted)
    )


def _value(mapping: Mapping[str, Json], path: str) -> Json:
    """Look a key up literally, then as a dotted path."""
    if path in mapping:
        return mapping[path]
    at = path.find(".")
    while at >= 0:
        inner = mapping.get(path[:at])
        if isinstance(inner, Mapping) and (value := _value(inner, path[at + 1 :])) is not _MISSING:
            return value
        at = path.find(".", at + 1)
    return _MISSING


def _has_operators(wanted: Json) -> bool:
    return isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted)


def _conditions(wanted: Json) -> list[tuple[str, Json]]:
    """List the operators of a condition with their values."""
    return list(wanted.items()) if _has_operators(wanted) else [("$eq", wanted)]


def _equal(have: Json, wanted: Json) -> bool:
    """Equality as in JSON: true is not 1, and 1 is 1.0."""
    if isinstance(have, bool) or isinstance(wanted, bool):
        return have is wanted
    if isinstance(have, Mapping) and isinstance(wanted, Mapping):
        return have.keys() == wanted.keys() and all(_equal(have[key], wanted[key]) for key in have)
    if isinstance(have, list | tuple) and isinstance(wanted, list | tuple):
        return len(have) == len(wanted) and all(map(_equal, have, wanted))
    return bool(have == wanted)


def _among(have: Json, wanted: Json) -> bool:
    return any(_equal(have, item) for item in wanted)


def _order(value: Json) -> str | None:
    """Classify a value by what it can be ordered with: "number", "text" or None."""
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
    "$gt": _ordered(gt),
    "$gte": _ordered(ge),
    "$lt": _ordered(lt),
    "$lte": _ordered(le),
    IN: _among,
    NOT_IN: lambda have, wanted: not _among(have, wanted),
    EXISTS: lambda have, wanted: (have is not _MISSING) is wanted,
}
