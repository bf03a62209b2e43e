"""The filter grammar: what matches, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from memscope.errors import InputError, LimitError
from memscope.records.filters import (
    MAX_FILTER_CHARS,
    MAX_FILTER_CONDITIONS,
    MAX_FILTER_NESTING,
    MAX_FILTER_VALUES,
    MAX_VALUE_DEPTH,
    check,
    matches,
)

DATA = {
    "city": "Berlin", "n": 2, "x": 2.5, "yes": True, "none": None, "list": [1, "a"], "map": {"a": 1, "b.c": {"d": 2}},
    "a.b": "as it is", "a": {"b": "inside", "c": 3},
}  # fmt: skip


@pytest.mark.parametrize(
    "filter",
    [
        {}, {"city": "Berlin"}, {"city": {"$eq": "Berlin"}}, {"n": 2.0}, {"yes": True}, {"none": None},
        {"list": [1, "a"]}, {"map": {"a": 1, "b.c": {"d": 2}}},
        {"n": {"$gt": 1, "$lt": 3}}, {"x": {"$gte": 2.5, "$lte": 2.5}},
        {"city": {"$gt": "Aachen", "$lt": "Bonn"}}, {"missing": {"$ne": 1}}, {"city": {"$ne": "Bonn"}},
        {"n": {"$in": [1, 2]}}, {"list": {"$in": [[1, "a"]]}}, {"n": {"$nin": [1, "2"]}}, {"missing": {"$nin": [1]}},
        {"n": {"$exists": True}}, {"none": {"$exists": True}}, {"missing": {"$exists": False}},
        {"$or": [{"city": "Bonn"}, {"n": 2}]}, {"$and": [{"city": "Berlin"}, {"n": 2}]}, {"$not": {"city": "Bonn"}},
        {"$not": {"city": "Berlin", "n": 3}}, {"n": {"$not": {"$gt": 2}}}, {"missing": {"$not": {"$gt": 2}}},
        {"$or": [{"$and": [{"n": 3}]}, {"$not": {"$or": [{"n": 3}, {"x": 3}]}}], "yes": True},
        {"map.a": 1}, {"map.b.c.d": 2}, {"a.b": "as it is"}, {"a.c": {"$gt": 2}}, {"map.b": {"$exists": False}},
        {"a": {"$eq": {"b": "inside", "c": 3}}},
    ],
)  # fmt: skip
def test_matches(filter: dict[str, Any]) -> None:
    check(filter)
    assert matches(filter, DATA)


@pytest.mark.parametrize(
    "filter",
    [
        {"city": "berlin"}, {"n": "2"}, {"yes": 1}, {"n": True}, {"missing": None}, {"missing": {"$gt": 0}},
        {"none": {"$gte": 0}}, {"yes": {"$gt": 0}}, {"city": {"$gt": 0}}, {"list": {"$gt": 0}}, {"list": [True, "a"]},
        {"n": 2, "city": "Bonn"}, {"map": {"a": 1, "b": 2}}, {"none": {"$ne": None}},
        {"n": {"$in": ["2", True]}}, {"missing": {"$in": [None]}}, {"n": {"$nin": [1, 2.0]}}, {"n": {"$exists": False}},
        {"$or": [{"city": "Bonn"}, {"n": 3}]}, {"$and": [{"city": "Berlin"}, {"n": 3}]}, {"$not": {"city": "Berlin"}},
        {"$or": [{"n": 2}], "x": 1}, {"n": {"$not": {"$gt": 1}}}, {"map.a": 2}, {"a.b": "inside"}, {"map.a.b": 1},
        {"city.a": "Berlin"}, {"list.0": 1}, {"map.": 1}, {".": 1},
    ],
)  # fmt: skip
def test_does_not_match(filter: dict[str, Any]) -> None:
    check(filter)
    assert not matches(filter, DATA)


@pytest.mark.parametrize(
    "filter",
    [
        "city = 1", ["a"], {1: 2}, {"a": {"$in": 1}}, {"a": {"$in": []}}, {"a": {"$nin": []}}, {"a": {"$in": "ab"}},
        {"a": {"$exists": 1}}, {"a": {"$GT": 1}}, {"a": {"$gt": 1, "b": 2}},
        {"a": {"$gt": None}},
        {"a": {"$lt": True}}, {"a": {"$gte": [1]}}, {"a": {"$eq": 1, "$regex": "."}},
        {"a": {"$not": 1}}, {"a": {"$not": {}}}, {"a": {"$not": {"b": 1}}},
        {"$where": 1}, {"$nor": [{"a": 1}]}, {"$gt": 1}, {"$in": [1]}, {"$or": {"a": 1}}, {"$or": []}, {"$or": [1]},
        {"$or": [{}]}, {"$or": [{"a": 1}, {}]}, {"$and": []}, {"$not": {}}, {"$not": [{"a": 1}]}, {"$not": None},
        {"$or": [{"$or": [{"$no": 1}]}]}, {"$and": [{"a": {"$gt": None}}]}, {"a": {"b": {"$gt": 1}}},
        {"a": [{"$or": 1}]},
    ],
)  # fmt: skip
def test_is_refused(filter: Any) -> None:
    with pytest.raises(InputError):
        check(filter)


@pytest.mark.parametrize("filter", [{"$nor": [{"a": 1}]}, {"a": {"$regex": "."}}, {"$or": [{"$x": 1}]}])
def test_the_known_operators_are_named(filter: Any) -> None:
    with pytest.raises(InputError) as told:
        check(filter)
    for name in ("$and", "$or", "$not", "$eq", "$in", "$nin", "$exists", "$about"):
        assert name in told.value.hint


def test_a_key_within_an_object_is_reached_by_a_dot() -> None:
    with pytest.raises(InputError, match="stands inside") as told:
        check({"user": {"age": {"$gt": 5}}})
    assert "user.KEY" in told.value.hint
    check({"user": {"$eq": {"age": {"$gt": 5}}}})
    assert matches({"user": {"$eq": {"age": {"$gt": 5}}}}, {"user": {"age": {"$gt": 5}}})


def test_limits() -> None:
    with pytest.raises(LimitError):
        check({f"k{n}": n for n in range(MAX_FILTER_CONDITIONS + 1)})
    deep: Any = 1
    for _ in range(MAX_VALUE_DEPTH + 1):
        deep = [deep]
    with pytest.raises(InputError):
        check({"a": deep})
    with pytest.raises(LimitError):
        check({"$or": [{"$and": [{"a": n}, {"b": n}]} for n in range(MAX_FILTER_CONDITIONS // 2 + 1)]})
    check({"a": {"$in": list(range(MAX_FILTER_VALUES - 1))}})
    with pytest.raises(LimitError):
        check({"a": {"$in": list(range(MAX_FILTER_VALUES + 1))}})
    with pytest.raises(LimitError):
        check({"a": {"$in": ["x" * MAX_FILTER_CHARS, "y"]}})
    nested: Any = {"a": 1}
    for _ in range(MAX_FILTER_NESTING):
        nested = {"$not": nested}
    check(nested)
    with pytest.raises(InputError, match="nested deeper"):
        check({"$or": [nested]})
    for _ in range(10_000):
        nested = {"$not": nested}
    with pytest.raises(InputError, match="nested deeper"):
        check(nested)
    below: Any = {"$gt": 1}
    for _ in range(MAX_FILTER_NESTING + 1):
        below = {"$not": below}
    with pytest.raises(InputError, match="nested deeper"):
        check({"a": below})
