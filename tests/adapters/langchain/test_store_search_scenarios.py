"""LangGraph's own store tests of search, filters and time. Each test names the one it stands for.

A, B, C: as in test_store_scenarios.py.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from memscope import MemoryScope
from memscope_langchain import MemoryScopeStore
from memscope_langchain import store as module

from .storing import fill

# ---- search


def test_search(store):
    """B: TestSqliteStore.test_search, test_search_items; C: test_search"""
    fill(
        store,
        (("test", "docs"), "doc1", {"title": "First Doc", "author": "Alice", "tags": ["important"]}),
        (("test", "docs"), "doc2", {"title": "Second Doc", "author": "Bob", "tags": ["draft"]}),
        (("test", "images"), "img1", {"title": "Image 1", "author": "Alice", "tags": ["final"]}),
    )
    assert len(store.search(("test",))) == 3
    assert {one.namespace for one in store.search(("test", "docs"))} == {("test", "docs")}
    assert {one.key for one in store.search(("test",), filter={"author": "Alice"})} == {"doc1", "img1"}
    assert [one.key for one in store.search(("test",), filter={"tags": ["draft"]})] == ["doc2"]
    first, second = store.search(("test",), limit=2), store.search(("test",), limit=2, offset=2)
    assert len({one.key for one in [*first, *second]}) == 3


def test_a_filter_is_data(store):
    """B: test_sql_injection_vulnerability, test_sql_injection_filter_values"""
    fill(
        store,
        (("docs",), "doc1", {"access": "public", "title": "Public"}),
        (("docs",), "doc2", {"access": "private", "title": "Private"}),
        (("docs",), "doc4", {"access": "public", "title": "O'Brien's Document"}),
    )
    for value in ["public' OR '1'='1", "public'; --", "public\0' OR '1'='1", "''''", "public' OR 'א'='א"]:
        assert store.search(("docs",), filter={"access": value}) == []
    assert store.search(("docs",), filter={"access') = 'public' OR '1'='1' OR json_extract(value, '$.": "x"}) == []
    assert [one.key for one in store.search(("docs",), filter={"title": "O'Brien's Document"})] == ["doc4"]


def test_filters_on_numbers(store):
    """B: test_numeric_filter_safety"""
    fill(store, *((("items",), f"item{price}", {"price": price}) for price in (10, 20, 30)))

    def count(condition):
        return len(store.search(("items",), filter={"price": condition}))

    assert count({"$gt": 15}) == count({"$gte": 20}) == 2
    assert count({"$lt": float("inf")}) == count({"$gt": float("-inf")}) == count({"$lt": 10**100}) == 3
    assert count({"$eq": float("nan")}) == 0
    store.put(("items",), "negative", {"price": -10})
    assert [one.key for one in store.search(("items",), filter={"price": {"$lt": 0}})] == ["negative"]


def test_filters_on_truth(store):
    """B: test_boolean_filter_safety"""
    fill(store, *((("flags",), f"flag{number}", {"active": number % 2 == 0}) for number in range(3)))
    assert {one.key for one in store.search(("flags",), filter={"active": True})} == {"flag0", "flag2"}
    assert [one.key for one in store.search(("flags",), filter={"active": False})] == ["flag1"]


def test_keys_with_hyphens_and_digits(store):
    """B: test_filter_keys_with_hyphens_and_digits"""
    fill(store, (("docs",), "hyphen", {"access-level": "public"}), (("docs",), "digit", {"123abc": "ok"}))
    assert [one.key for one in store.search(("docs",), filter={"access-level": "public"})] == ["hyphen"]
    assert [one.key for one in store.search(("docs",), filter={"123abc": "ok"})] == ["digit"]


# ---- search for words (upstream: vectors)


def test_what_was_put_is_found(store):
    """A, B, C: test_vector_insert_with_auto_embedding"""
    texts = {"doc1": "short text", "doc2": "longer text document", "doc3": "longest text document here"}
    fill(store, *((("test",), key, {"text": text}) for key, text in texts.items()))
    fill(store, (("test",), "doc4", {"description": "in a description"}), (("test",), "doc5", {"body": "in a body"}))
    keys = [one.key for one in store.search(("test",), query="long text document")]
    assert set(keys[:2]) == {"doc2", "doc3"}
    assert len(keys) == 5


def test_what_was_put_again_is_found_by_its_new_words(store):
    """A, B, C: test_vector_update_with_embedding; B: test_embed_with_path_operation_config"""
    fill(
        store,
        (("test",), "doc1", {"text": "zany zebra Xerxes"}),
        (("test",), "doc2", {"text": "something about dogs"}),
        (("test",), "doc3", {"text": "text about birds"}),
    )
    first = store.search(("test",), query="Zany Xerxes")[0]
    assert first.key == "doc1"
    store.put(("test",), "doc1", {"text": "new text about dogs"})
    old = {one.key: one.score for one in store.search(("test",), query="Zany Xerxes")}
    new = {one.key: one.score for one in store.search(("test",), query="new text about dogs")}
    assert (old["doc1"] or 0) < first.score
    assert new["doc1"] > (old["doc1"] or 0)
    store.put(("test",), "doc4", {"text": "new text about dogs"}, index=False)
    assert "doc4" not in [one.key for one in store.search(("test",), query="new text about dogs", limit=3)]
    assert store.get(("test",), "doc4").value == {"text": "new text about dogs"}


def test_search_with_a_filter(store):
    """A, B, C: test_vector_search_with_filters"""
    fill(
        store,
        (("test",), "doc1", {"text": "red apple", "color": "red", "score": 4.5}),
        (("test",), "doc2", {"text": "red car", "color": "red", "score": 3.0}),
        (("test",), "doc3", {"text": "green apple", "color": "green", "score": 4.0}),
        (("test",), "doc4", {"text": "blue car", "color": "blue", "score": 3.5}),
    )

    def keys(query, **filter):
        return [one.key for one in store.search(("test",), query=query, filter=filter)]

    assert keys("apple", color="red") == ["doc1", "doc2"]
    assert keys("car", color="red") == ["doc2", "doc1"]
    assert keys("blue", score={"$gt": 3.2})[0] == "doc4"
    assert keys("apple", score={"$gte": 4.0}, color="green") == ["doc3"]


def test_pages_of_a_search(store):
    """A, B, C: test_vector_search_pagination; C: test_omit_expired_search_pagination"""
    fill(store, *((("test",), f"doc{number}", {"text": f"test document {number}"}) for number in range(5)))
    pages = [store.search(("test",), query="test document", limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert len({one.key for page in pages for one in page}) == 5


def test_odd_queries(store):
    """B, C: test_vector_search_edge_cases"""
    store.put(("test",), "doc1", {"text": "test document"})
    for query in ("", None, "test " * 100, "test@#$%^&*()"):
        assert [one.key for one in store.search(("test",), query=query)] == ["doc1"]


def test_fields(store):
    """A, B, C: test_embed_with_path"""
    by_title = MemoryScopeStore(user="bob", memory=store._sessions._handle.memory, fields=["title", "parts[*].name"])
    by_title.put(("test",), "doc1", {"title": "sailing", "text": "gardens", "parts": [{"name": "rudder"}]})
    by_title.put(("test",), "doc2", {"title": "gardens", "text": "sailing"})
    assert by_title.search(("test",), query="sailing")[0].key == "doc1"
    assert by_title.search(("test",), query="rudder")[0].key == "doc1"
    assert by_title.search(("test",), query="gardens")[0].key == "doc2"
    by_title.put(("test",), "doc3", {"title": "nothing", "text": "violins"}, index=["text"])
    assert by_title.search(("test",), query="violins")[0].key == "doc3"


def test_scores(store):
    """B, C: test_scores"""
    fill(store, (("test",), "doc1", {"text": "aaaa bbbb"}), (("test",), "doc2", {"text": "cccc"}))
    best, other = store.search(("test",), query="aaaa")
    assert (best.key, other.key, other.score) == ("doc1", "doc2", None)
    assert best.score > 0


def test_other_scripts(store):
    """A, B, C: test_non_ascii"""
    texts = {"1": "这是中文", "2": "これは日本語です", "3": "이건 한국어야", "4": "Это русский", "5": "यह रूसी है"}
    fill(store, *((("user_123", "memories"), key, {"text": text}) for key, text in texts.items()))
    for key, text in texts.items():
        assert store.search(("user_123", "memories"), query=text)[0].key == key


# ---- time to live


@pytest.fixture
def timed(monkeypatch):
    """A store, and a function that lets minutes pass."""
    shift = [timedelta()]
    real = module.utc_now
    monkeypatch.setattr(module, "utc_now", lambda: real() + shift[0])

    def wait(minutes):
        shift[0] += timedelta(minutes=minutes)

    with MemoryScope(":memory:", settings={}, clock=lambda: real() + shift[0]) as memory:
        yield MemoryScopeStore(user="alice", memory=memory), wait


def test_a_time_to_live(timed):
    """C: test_store_ttl, test_omit_expired_filters_read_paths, test_omit_expired_refresh_ttl_only_refreshes_live_rows.

    Not C: test_omit_expired_disabled_preserves_expired_rows; what is over is never shown here.
    """
    store, wait = timed
    store.put(("foo",), "item1", {"foo": "bar"}, ttl=10)
    store.put(("foo",), "item2", {"foo": "bar"})
    wait(8)
    assert store.get(("foo",), "item1", refresh_ttl=True) is not None
    wait(8)
    assert len(store.search(("foo",), query="bar", refresh_ttl=True)) == 2
    wait(8)
    assert store.get(("foo",), "item1", refresh_ttl=False) is not None
    wait(8)
    assert store.get(("foo",), "item1") is None
    assert [one.key for one in store.search(("foo",), query="bar")] == ["item2"]
    assert [one.key for one in store.search(("foo",))] == ["item2"]
    assert store.sweep_ttl() == 1
    assert store.sweep_ttl() == 0


def test_a_store_with_a_time_to_live_of_its_own(timed):
    """C: the store fixture's ttl configuration"""
    given, wait = timed
    config = {"default_ttl": 10, "refresh_on_read": False}
    store = MemoryScopeStore(user="alice", memory=given._sessions._handle.memory, ttl=config)
    store.put(("foo",), "item1", {"foo": "bar"})
    store.put(("foo",), "item2", {"foo": "bar"}, ttl=None)
    wait(8)
    assert store.get(("foo",), "item1") is not None
    wait(8)
    assert store.get(("foo",), "item1") is None
    assert store.get(("foo",), "item2") is not None
