"""Filters and scores of the store as LangGraph's own stores have them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from memscope import MemoryScope
from memscope.errors import InputError
from memscope_langchain import MemoryScopeStore

VALUES: list[dict[str, Any]] = [
    {"text": "tea at noon", "user": {"name": "Anna", "age": 40, "home": {"city": "Kiel"}}, "score": 3},
    {"text": "coffee at noon", "user": {"name": "Ben", "age": 7, "home": {"city": "Kiel"}}, "score": None},
    {"text": "cocoa at noon", "user": "Anna", "score": 5, "user.name": "as it is"},
    {"text": "water at noon", "tags": ["a", {"b": 1}], "langgraph:item": {"a": 1}, "user": {"first.name": {"x": 1}}},
]
FILTERS: list[dict[str, Any]] = [
    {"user": {"name": "Anna"}},
    {"user": {"name": "Anna", "home": {"city": "Kiel"}}},
    {"user": {"home": {"city": "Kiel"}}, "score": 3},
    {"user": {"home": {"city": {"$ne": "Bonn"}}}},
    {"user": {"first.name": {"x": 1}}},
    {"user": "Anna"},
    {"user.name": "as it is"},
    {"score": None},
    {"score": {"$eq": None}},
    {"score": {"$ne": None}},
    {"missing": None},
    {"user": {"home": {"missing": None}}},
    {"missing": {"$ne": 3}},
    {"tags": ["a", {"b": 1}]},
    {"langgraph:item": {"a": 1}},
    {"score": {"$ne": 3}},
]


def fill(store: Any, values: list[dict[str, Any]]) -> Any:
    for number, value in enumerate(values):
        store.put(("notes",), str(number), value)
    return store


def found(store: Any, filter: dict[str, Any], query: str | None = None) -> set[str]:
    return {one.key for one in store.search(("notes",), filter=filter, query=query, limit=100)}


@pytest.mark.parametrize("filter", FILTERS, ids=str)
def test_a_filter_finds_what_langgraphs_own_store_finds(store: MemoryScopeStore, filter: dict[str, Any]) -> None:
    wanted = found(fill(InMemoryStore(), VALUES), filter)
    fill(store, VALUES)
    assert found(store, filter) == wanted
    assert found(store, filter, "tea at noon") == wanted


names = st.sampled_from(["a", "b", "a.b", "langgraph:a"])
plain = st.one_of(st.none(), st.integers(0, 2), st.sampled_from(["x", "y"]))
nested = st.recursive(plain, lambda inner: st.dictionaries(names, inner, min_size=1, max_size=2), max_leaves=3)
one = plain.filter(lambda value: value is not None)
asked = st.recursive(  # null and "$ne" at the first level only: within an object LangGraph's stores differ
    one | st.dictionaries(st.just("$eq"), one, min_size=1, max_size=1),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "langgraph:a"]), inner, min_size=1, max_size=2),
    max_leaves=3,
)
flat = st.one_of(plain, st.dictionaries(st.sampled_from(["$eq", "$ne"]), plain, min_size=1, max_size=2))


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.dictionaries(names.filter(lambda name: "." not in name), nested, max_size=3), max_size=3),
    filter=st.dictionaries(st.sampled_from(["a", "b", "langgraph:a"]), asked | flat, min_size=1, max_size=2),
)
def test_any_filter_finds_what_langgraphs_own_store_finds(values: list[dict[str, Any]], filter: dict[str, Any]) -> None:
    with MemoryScope(":memory:", settings={}) as memory:
        ours = fill(MemoryScopeStore(user="alice", memory=memory), values)
        assert found(ours, filter) == found(fill(InMemoryStore(), values), filter)


def test_a_dotted_path_as_langgraphs_sqlite_store_takes_it(store: MemoryScopeStore) -> None:
    fill(store, VALUES)
    assert found(store, {"user.name": "Anna"}) == {"0"}
    assert found(store, {"user.name": "as it is"}) == {"2"}
    assert found(store, {"user.home.city": "Kiel", "user.age": {"$lt": 20}}) == {"1"}
    assert found(store, {"langgraph:item.a": 1}) == {"3"}
    assert found(store, {"langgraph:item.created": {"$ne": "x"}, "user": "Anna"}) == {"2"}


def test_filters_are_joined(store: MemoryScopeStore) -> None:
    fill(store, VALUES)
    assert found(store, {"$or": [{"user": {"name": "Ben"}}, {"langgraph:item": {"a": 1}}]}) == {"1", "3"}
    assert found(store, {"$not": {"user": {"home": {"city": "Kiel"}}}}) == {"2", "3"}
    assert found(store, {"$and": [{"score": {"$in": [3, 5]}}, {"user": "Anna"}]}) == {"2"}
    assert found(store, {"user": {"age": {"$gt": 5, "$lt": 20}}}) == {"1"}  # LangGraph's own store raises TypeError
    assert found(store, {"user": {"name": {"$nin": ["Anna"]}}, "score": None}) == {"1", "3"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"$where": 1}, {"a": {"$regex": "x"}}, {"a": {"b": {"$regex": "x"}}}, {"a": {"$gt": 1, "b": 2}}, {"$or": {}},
        {"$or": []}, {"$not": 1}, {"$and": [1]}, {"a": {"b": {"$gt": 1, "c": 2}}}, {1: 2}, ["a"],
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_filter_is_refused(store: MemoryScopeStore, wrong: Any) -> None:
    with pytest.raises(InputError):
        store.search(("notes",), filter=wrong)


# ---- scores


@pytest.mark.parametrize("query", ["What may my sister at Google not eat?", "What does my sister at Google play?"])
def test_scores_never_rise_from_one_result_to_the_next(store: MemoryScopeStore, query: str) -> None:
    """A second hop takes the place that its evidence earns, with a score of few shared words."""
    told = [
        "My sister Kim works at Google.", "Kim is allergic to walnuts.", "Kim plays the cello.",
        "My sister likes the office at Google in winter.", "The Google office has a cafe.", "My sister called.",
        "At Google one eats well.", "What does one eat at Google?",
    ]  # fmt: skip
    weather = "fine cold wet warm windy dry grey hot mild icy".split()
    told += [f"Note {n}: the weather was {word} on the trip" for n, word in enumerate(weather)]
    fill(store, [{"text": text} for text in told])
    every = store.search(("notes",), query=query, limit=20)
    scores = [one.score for one in every if one.score is not None]
    assert len(scores) > 5
    assert scores == sorted(scores, reverse=True)
    assert [one.score for one in every][: len(scores)] == scores
    pages = [one for offset in (0, 7, 14) for one in store.search(("notes",), query=query, limit=7, offset=offset)]
    assert [(one.key, one.score) for one in pages] == [(one.key, one.score) for one in every]
