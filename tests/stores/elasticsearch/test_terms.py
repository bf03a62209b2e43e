"""Queries to Elasticsearch, and what its scores tell, without a server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memscope.stores
from memscope.errors import InputError
from memscope.records import Interval, Scope, Search
from memscope.records.filters import check, matches
from memscope.search.bm25 import K1
from memscope.text.vectors import DIMENSIONS
from memscope_elasticsearch import metadata_tokens, queries
from memscope_elasticsearch.documents import document_id, scope_hash, topics_of
from memscope_elasticsearch.term_frequencies import TermFrequencies

SOURCE = Path(memscope.stores.__file__).parent / "elasticsearch"

keys = st.sampled_from(["a", "b", "$where", "a.b", "'; --", "ä", ""])
numbers = st.one_of(st.integers(), st.floats(allow_nan=False), st.integers(-3, 3), st.floats(-3, 3))
texts = st.one_of(st.text(max_size=5), st.sampled_from(["x" * 100, "x" * 101, "x" * 64]))
values = st.one_of(st.none(), st.booleans(), numbers, texts, st.lists(st.integers(-1, 1), max_size=2))
objects = st.dictionaries(keys, values, max_size=4)
operators = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
conditions = st.dictionaries(operators, values, min_size=1, max_size=2)
filters = st.dictionaries(keys, st.one_of(values, conditions), min_size=1, max_size=2)


def fulfils(tokens: list[str], clause: dict[str, Any]) -> bool:
    """A keyword field: terms are equal, ranges go by the bytes."""
    if "term" in clause:
        return clause["term"]["facts"] in tokens
    bounds = {name: value.encode("utf-8", "surrogatepass") for name, value in clause["range"]["facts"].items()}
    low, high, below = bounds["gte"], bounds.get("lte"), bounds.get("lt")
    raw = [token.encode("utf-8", "surrogatepass") for token in tokens]
    return any(low <= one and (high is None or one <= high) and (below is None or one < below) for one in raw)


@given(filter=filters, mapping=objects)
def test_every_match_of_a_filter_fulfils_its_query(filter: dict[str, Any], mapping: dict[str, Any]) -> None:
    try:
        check(filter)
    except InputError:
        return
    if matches(filter, mapping):
        assert all(fulfils(metadata_tokens.tokens(mapping), clause) for clause in metadata_tokens.query(filter))


@given(key=keys, value=values, other=values)
def test_an_equality_finds_nothing_else(key: str, value: Any, other: Any) -> None:
    (clause,) = metadata_tokens.query({key: {"$eq": value}})
    assert fulfils(metadata_tokens.tokens({key: other}), clause) == matches({key: {"$eq": value}}, {key: other})


@given(
    top=st.floats(1e-3, 12),
    times=st.lists(st.integers(1, 60), min_size=1, max_size=30),
)
def test_scores_tell_how_often_a_term_is_there(top: float, times: list[int]) -> None:
    """Up to the share that all have in common: if every unit has a term in multiples of two, that counts as one."""
    scores = [float(np.float32(top * tf / (tf + K1))) for tf in [1, *times]]
    hits = [{"matched_queries": {"7": score}} for score in scores]
    read = TermFrequencies()
    read.see(hits)
    assert [read.of(hit) for hit in hits] == [{7: tf} for tf in [1, *times]]


@pytest.mark.parametrize("least", [2, 3, 5])
def test_the_least_score_need_not_be_of_one_time(least: int) -> None:
    times = [least, least + 1, least + 2, 3 * least + 1]
    hits = [{"matched_queries": {"0": tf / (tf + K1)}} for tf in times]
    read = TermFrequencies()
    read.see(hits)
    assert [read.of(hit)[0] for hit in hits] == times


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=2, max_size=2, unique=True))
def test_no_two_users_share_an_id(pairs: list[tuple[str, str]]) -> None:
    ids = {document_id(scope_hash(user), key) for user, key in pairs}
    assert len(ids) == 2


def test_nothing_is_a_query_language_or_a_script() -> None:
    """Words of users reach the server as values only."""
    for path in SOURCE.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        for word in ("query_string", "_by_query", '"script', "wildcard", "regexp", "refresh=true"):
            assert word not in source, (path.name, word)


def test_every_leg_of_a_search_is_of_one_user() -> None:
    """As a filter of the query, and of the search by vector itself: beside it, others' units would take the places."""
    period = Interval(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 8, tzinfo=UTC))
    meaning = np.full(DIMENSIONS, 0.1, np.float32)
    asked = Search(Scope("alice"), (1, 2), periods=(period,), topics=(3,), meaning=meaning)
    legs = queries.legs(asked, {"field": "vec_1", "query_vector": ""})
    assert set(legs) == {"text", "of user", "period", "topic", "meaning", "vector"}
    mine = {"term": {"scope": scope_hash("alice")}}
    for body in [*legs.values(), queries.counting(asked)]:
        clauses = body["knn"]["filter"] if "knn" in body else body["query"]["bool"]["filter"]
        assert mine in clauses
    without = {"bool": {"must_not": {"exists": {"field": "vec_1"}}}}
    assert without in legs["meaning"]["knn"]["filter"]  # beside an embedder, for units that it has not reached


@given(topics=st.frozensets(st.integers(0, 127)))
def test_a_unit_names_its_topics(topics: frozenset[int]) -> None:
    assert set(topics_of(sum(1 << topic for topic in topics))) == topics
