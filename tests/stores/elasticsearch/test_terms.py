"""Queries to Elasticsearch, and what its scores tell, without a server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memscope.records import Interval, Scope, Search
from memscope.records.filters import check, matches
from memscope.search.bm25 import BM25_K1
from memscope.text.vectors import DIMENSIONS
from memscope_elasticsearch import metadata_tokens, queries
from memscope_elasticsearch.documents import document_id, scope_hash, topics_of
from memscope_elasticsearch.term_frequencies import TermFrequencies
from memscope_testing.contract.filtering import filters, is_valid, joined, keys

SOURCE = Path(metadata_tokens.__file__).parent
EDGES = [2**53 - 1, 2**53, 2**53 + 1, -(2**53), 10**400, -(10**400), float("inf"), float("nan"), 0.0, -0.0]

numbers = st.one_of(st.integers(), st.floats(), st.integers(-3, 3), st.floats(-3, 3), st.sampled_from(EDGES))
texts = st.one_of(st.text(max_size=5), st.sampled_from(["x" * 100, "x" * 101, "x" * 64, "x" * 63, "x\U0010ffff"]))
values = st.one_of(st.none(), st.booleans(), numbers, texts, st.lists(st.integers(-1, 1), max_size=2))
objects = st.dictionaries(keys, st.one_of(values, st.dictionaries(keys, values, max_size=2)), max_size=4)
ordering = st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), numbers | texts, min_size=1, max_size=2)
ordered = st.dictionaries(keys, ordering | ordering.map(lambda one: {"$not": one}), min_size=1, max_size=2)
anything = st.one_of(filters, ordered, joined(filters | ordered)).filter(is_valid)


def fulfils(tokens: list[str], clause: dict[str, Any]) -> bool:
    """A keyword field: terms are equal, ranges go by the bytes."""
    ((kind, body),) = clause.items()
    if kind == "bool":
        held = [fulfils(tokens, one) for one in body.get("filter", ())]
        held += [not fulfils(tokens, one) for one in body.get("must_not", ())]
        return all(held) and ("should" not in body or any(fulfils(tokens, one) for one in body["should"]))
    if kind in ("match_all", "match_none"):
        return kind == "match_all"
    if kind == "term":
        return body["facts"] in tokens
    if kind == "terms":
        return not {*tokens}.isdisjoint(body["facts"])
    if kind == "prefix":
        return any(token.startswith(body["facts"]) for token in tokens)
    bounds = {name: value.encode("utf-8", "surrogatepass") for name, value in body["facts"].items()}
    raw = [token.encode("utf-8", "surrogatepass") for token in tokens]
    holds = {"gt": bytes.__gt__, "gte": bytes.__ge__, "lt": bytes.__lt__, "lte": bytes.__le__}
    return any(all(holds[name](one, bound) for name, bound in bounds.items()) for one in raw)


def fulfils_all(filter: dict[str, Any], mapping: dict[str, Any]) -> bool:
    return all(fulfils(metadata_tokens.tokens(mapping), clause) for clause in metadata_tokens.query(filter))


@settings(max_examples=400)
@given(filter=anything, mapping=objects)
def test_every_match_of_a_filter_fulfils_its_query(filter: dict[str, Any], mapping: dict[str, Any]) -> None:
    if matches(filter, mapping):
        assert fulfils_all(filter, mapping)
    elif metadata_tokens.is_exact(filter):
        assert not fulfils_all(filter, mapping)


def test_a_value_that_is_no_number_has_no_order() -> None:
    mapping = {"b": float("nan")}
    assert fulfils_all({"b": {"$not": {"$gt": 0}}}, mapping)
    assert not fulfils_all({"b": {"$gt": 0}}, mapping)


@given(key=st.sampled_from(["a", "ä", ""]), value=values, other=values)
def test_an_equality_finds_nothing_else(key: str, value: Any, other: Any) -> None:
    for filter in (
        {key: {"$eq": value}},
        {key: {"$ne": value}},
        {key: {"$in": [value, "y"]}},
        {key: {"$exists": True}},
    ):
        assert metadata_tokens.is_exact(filter)
        if value == value:
            assert fulfils_all(filter, {key: other}) == matches(filter, {key: other})


@pytest.mark.parametrize(
    ("filter", "exact"),
    [
        ({"a": 1, "b": {"$nin": ["x"]}}, True),
        ({"$or": [{"a": {"$gte": 2}}, {"$not": {"b": {"$lt": "Bonn"}}}]}, True),
        ({"a": {"$gt": 2**53}}, False),
        ({"a": {"$not": {"$lt": "x" * 64}}}, False),
        ({"a.b": 1}, False),
        ({"$not": {"$about": "Anna"}}, False),
        ({"$or": [{"$keyword": "food"}, {"a": 1}]}, False),
    ],
)
def test_a_query_tells_whether_it_is_exact(filter: dict[str, Any], exact: bool) -> None:
    check(filter)
    assert metadata_tokens.is_exact(filter) == exact


@given(
    top=st.floats(1e-3, 12),
    times=st.lists(st.integers(1, 60), min_size=1, max_size=30),
)
def test_scores_tell_how_often_a_term_is_there(top: float, times: list[int]) -> None:
    """Up to the share that all have in common: if every unit has a term in multiples of two, that counts as one."""
    scores = [float(np.float32(top * tf / (tf + BM25_K1))) for tf in [1, *times]]
    hits = [{"matched_queries": {"7": score}} for score in scores]
    read = TermFrequencies()
    read.add(hits)
    assert [read.of(hit) for hit in hits] == [{7: tf} for tf in [1, *times]]


@pytest.mark.parametrize("least", [2, 3, 5])
def test_the_least_score_need_not_be_of_one_time(least: int) -> None:
    times = [least, least + 1, least + 2, 3 * least + 1]
    hits = [{"matched_queries": {"0": tf / (tf + BM25_K1)}} for tf in times]
    read = TermFrequencies()
    read.add(hits)
    assert [read.of(hit)[0] for hit in hits] == times


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=2, max_size=2, unique=True))
def test_no_two_users_share_an_id(pairs: list[tuple[str, str]]) -> None:
    ids = {document_id(scope_hash(user), key) for user, key in pairs}
    assert len(ids) == 2


def test_nothing_is_a_query_language_or_a_script() -> None:
    """Words of users reach the server as values only."""
    paths = [*SOURCE.glob("*.py")]
    assert paths
    for path in paths:
        source = path.read_text(encoding="utf-8")
        for word in ("query_string", "_by_query", '"script', "wildcard", "regexp", "refresh=true"):
            assert word not in source, (path.name, word)


def test_every_channel_of_a_search_is_of_one_user() -> None:
    """A filter of the query, and of the search by vector itself: beside it, others' units would take the places."""
    period = Interval(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 8, tzinfo=UTC))
    meaning = np.full(DIMENSIONS, 0.1, np.float32)
    asked = Search(Scope("alice"), (1, 2), periods=(period,), topics=(3,), meaning=meaning)
    channels = queries.channels(asked, {"field": "vec_1", "query_vector": ""})
    assert set(channels) == {"text", "of user", "period", "topic", "meaning", "vector"}
    mine = {"term": {"scope": scope_hash("alice")}}
    for body in [*channels.values(), queries.counting(asked)]:
        clauses = body["knn"]["filter"] if "knn" in body else body["query"]["bool"]["filter"]
        assert mine in clauses
    without = {"bool": {"must_not": {"exists": {"field": "vec_1"}}}}
    assert without in channels["meaning"]["knn"]["filter"]  # beside an embedder, for units that it has not reached


@given(topics=st.frozensets(st.integers(0, 127)))
def test_a_unit_names_its_topics(topics: frozenset[int]) -> None:
    assert set(topics_of(sum(1 << topic for topic in topics))) == topics
