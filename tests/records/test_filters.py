"""The filter grammar: what matches, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from memscope.errors import InputError, LimitError
from memscope.records.filters import MAX_CONDITIONS, MAX_DEPTH, check, matches

DATA = {"city": "Berlin", "n": 2, "x": 2.5, "yes": True, "none": None, "list": [1, "a"], "map": {"a": 1}, "$where": 1}


@pytest.mark.parametrize(
    "filter",
    [
        {}, {"city": "Berlin"}, {"city": {"$eq": "Berlin"}}, {"n": 2.0}, {"yes": True}, {"none": None}, {"$where": 1},
        {"list": [1, "a"]}, {"map": {"a": 1}}, {"n": {"$gt": 1, "$lt": 3}}, {"x": {"$gte": 2.5, "$lte": 2.5}},
        {"city": {"$gt": "Aachen", "$lt": "Bonn"}}, {"missing": {"$ne": 1}}, {"city": {"$ne": "Bonn"}},
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
        {"n": 2, "city": "Bonn"}, {"map": {"a": 1, "b": 2}}, {"map.a": 1}, {"none": {"$ne": None}},
    ],
)  # fmt: skip
def test_does_not_match(filter: dict[str, Any]) -> None:
    check(filter)
    assert not matches(filter, DATA)


@pytest.mark.parametrize(
    "filter",
    [
        "city = 1", ["a"], {1: 2}, {"a": {"$in": [1]}}, {"a": {"$GT": 1}}, {"a": {"$gt": 1, "b": 2}},
        {"a": {"$gt": None}},
        {"a": {"$lt": True}}, {"a": {"$gte": [1]}}, {"a": {"$eq": 1, "$regex": "."}},
    ],
)  # fmt: skip
def test_is_refused(filter: Any) -> None:
    with pytest.raises(InputError):
        check(filter)


def test_limits() -> None:
    with pytest.raises(LimitError):
        check({f"k{n}": n for n in range(MAX_CONDITIONS + 1)})
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    with pytest.raises(InputError):
        check({"a": deep})
