"""What LangGraph's own store tests ask, asked of ``MemoryScopeStore``. Each test names the one it stands for.

A: libs/checkpoint/tests/test_store.py      B: libs/checkpoint-sqlite/tests/test_store.py and test_async_store.py
C: libs/checkpoint-postgres/tests/test_store.py
"""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from memscope import MemoryScope
from memscope_langchain import MemoryScopeStore
from memscope_langchain import store as module


@pytest.fixture(params=["in memory", "sqlite"])
def store(request, tmp_path):
    place = ":memory:" if request.param == "in memory" else tmp_path / "memory.db"
    with MemoryScope(place, settings={}) as memory:
        yield MemoryScopeStore(user="alice", memory=memory)


def fill(store, *items):
    for namespace, key, value in items:
        store.put(namespace, key, value)


def found(store, *prefix, **more):
    return {item.namespace for item in store.search(prefix, limit=100, **more)}


# ---- batches


def test_batch_order(store):
    """B: test_batch_order, test_abatch_order"""
    fill(store, (("test", "foo"), "key1", {"data": "value1"}), (("test", "bar"), "key2", {"data": "value2"}))
    got, put, searched, listed, missing = store.batch(
        [
            GetOp(("test", "foo"), "key1"),
            PutOp(("test", "bar"), "key2", {"data": "value2"}),
            SearchOp(("test",), {"data": "value1"}, 10, 0),
            ListNamespacesOp(None, None, 10, 0),
            GetOp(("test",), "key3"),
        ]
    )
    assert isinstance(got, Item)
    assert (got.namespace, got.key, got.value) == (("test", "foo"), "key1", {"data": "value1"})
    assert put is None
    assert [(one.key, one.value) for one in searched] == [("key1", {"data": "value1"})]
    assert set(listed) == {("test", "foo"), ("test", "bar")}
    assert missing is None
    searched, second, listed, put, first = store.batch(
        [
            SearchOp(("test",), None, 5, 0),
            GetOp(("test", "bar"), "key2"),
            ListNamespacesOp(None, None, 5, 0),
            PutOp(("test",), "key3", {"data": "value3"}),
            GetOp(("test", "foo"), "key1"),
        ]
    )
    assert len(searched) == len(listed) == 2
    assert (second.value, put, first.value) == ({"data": "value2"}, None, {"data": "value1"})
    assert store.get(("test",), "key3").value == {"data": "value3"}


def test_batch_get(store):
    """B: test_batch_get_ops"""
    fill(store, (("test",), "key1", {"data": "value1"}), (("test",), "key2", {"data": "value2"}))
    one, two, three = store.batch([GetOp(("test",), f"key{number}") for number in (1, 2, 3)])
    assert (one.key, two.key, three) == ("key1", "key2", None)


def test_batch_put(store):
    """B: test_batch_put_ops"""
    puts = [
        PutOp(("test",), "key1", {"data": "value1"}),
        PutOp(("test",), "key2", {"data": "value2"}),
        PutOp(("test",), "key3", None),
    ]
    assert store.batch(puts) == [None, None, None]
    assert [store.get(("test",), key) and store.get(("test",), key).value for key in ("key1", "key2", "key3")] == [
        {"data": "value1"}, {"data": "value2"}, None,
    ]  # fmt: skip


def test_of_several_writes_to_a_key_the_last_counts(store):
    """A: test_async_batch_store_deduplication"""
    store.batch([PutOp(("test",), "key", {"v": number}) for number in range(3)])
    assert store.get(("test",), "key").value == {"v": 2}
    assert len(store.search(("test",))) == 1


def test_batch_search(store):
    """B: test_batch_search_ops"""
    fill(
        store,
        (("test", "foo"), "key1", {"data": "value1", "tag": "a"}),
        (("test", "bar"), "key2", {"data": "value2", "tag": "a"}),
        (("test", "baz"), "key3", {"data": "value3", "tag": "b"}),
    )
    tagged, two, foo = store.batch(
        [SearchOp(("test",), {"tag": "a"}, 10, 0), SearchOp(("test",), None, 2, 0), SearchOp(("test", "foo"))]
    )
    assert {one.key for one in tagged} == {"key1", "key2"}
    assert len(two) == 2
    assert [one.namespace for one in foo] == [("test", "foo")]


def test_batch_list_namespaces(store):
    """B: test_batch_list_namespaces_ops"""
    spaces = [
        ("test", "documents", "public"), ("test", "documents", "private"),
        ("test", "images", "public"), ("prod", "documents", "public"),
    ]  # fmt: skip
    fill(store, *((space, "doc", {"content": "a doc"}) for space in spaces))
    everything, two, public = store.batch(
        [
            ListNamespacesOp(None, None, 10, 0),
            ListNamespacesOp(None, 2, 10, 0),
            ListNamespacesOp((MatchCondition("suffix", ("public",)),), None, 10, 0),
        ]
    )
    assert set(everything) == set(spaces)
    assert two == [("prod", "documents"), ("test", "documents"), ("test", "images")]
    assert set(public) == {space for space in spaces if space[-1] == "public"}


async def test_large_batches(store):
    """B: test_large_batches_async, test_no_running_loop (the sync calls work inside a running loop here)"""
    puts = [store.aput(("many", f"n{number % 5}"), f"key{number}", {"n": number}) for number in range(60)]
    await asyncio.gather(*puts)
    assert len(await store.asearch(("many",), limit=100)) == 60
    got = await asyncio.gather(*(store.aget(("many", f"n{number % 5}"), f"key{number}") for number in range(60)))
    assert [one.value["n"] for one in got] == list(range(60))
    assert store.get(("many", "n0"), "key0").value == {"n": 0}
    gone = [PutOp(("many", f"n{number % 5}"), f"key{number}", None) for number in range(60)]
    await store.abatch(gone)
    assert await store.asearch(("many",)) == []


# ---- one item


def test_basic_operations(store):
    """B: test_basic_store_ops, test_basic_store_operations; C: test_basic_store_ops"""
    space = ("test", "documents")
    assert store.search(("test",)) == []
    store.put(space, "doc1", {"title": "Test Document", "content": "Hello, World!"})
    item = store.get(space, "doc1")
    assert (item.namespace, item.key) == (space, "doc1")
    assert item.value == {"title": "Test Document", "content": "Hello, World!"}
    store.put(space, "doc1", {"title": "Updated", "content": "Hello, LangGraph!"})
    updated = store.get(space, "doc1")
    assert updated.value == {"title": "Updated", "content": "Hello, LangGraph!"}
    assert updated.created_at == item.created_at
    assert updated.updated_at > item.updated_at
    assert store.get(("test", "other_documents"), "doc1") is None
    store.put(space, "doc2", {"title": "Another", "content": "Greetings!"})
    assert {one.key for one in store.search(("test",), limit=10)} == {"doc1", "doc2"}
    assert space in store.list_namespaces(prefix=("test",))
    store.delete(space, "doc1")
    store.delete(space, "doc2")
    assert store.get(space, "doc1") is store.get(space, "doc2") is None
    assert store.search(("test",), limit=10) == store.list_namespaces() == []


async def test_invalid_namespaces(store):
    """A: test_cannot_put_empty_namespace"""
    for space in [(), ("the", "thing.about"), ("some", "fun", ""), ("langgraph", "foo")]:
        with pytest.raises(InvalidNamespaceError):
            store.put(space, "foo", {"foo": "bar"})
        with pytest.raises(InvalidNamespaceError):
            await store.aput(space, "foo", {"foo": "bar"})
    inner = ("foo", "langgraph", "foo")
    await store.aput(inner, "bar", {"foo": "bar"})
    assert (await store.aget(inner, "bar")).value == {"foo": "bar"}
    assert (await store.asearch(inner, query="bar"))[0].value == {"foo": "bar"}
    await store.adelete(inner, "bar")
    assert await store.aget(inner, "bar") is None
    await store.abatch([PutOp(("langgraph", "foo"), "bar", {"foo": "bar"})])  # past the checks, as upstream has it
    assert (await store.aget(("langgraph", "foo"), "bar")).value == {"foo": "bar"}
    assert (await store.asearch(("langgraph", "foo")))[0].value == {"foo": "bar"}


# ---- namespaces


def test_list_namespaces_basic(store):
    """A: test_list_namespaces_basic"""
    spaces = [
        ("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f"),
        ("users", "123"), ("users", "456", "settings"), ("admin", "users", "789"),
    ]  # fmt: skip
    fill(store, *((space, f"id_{number}", {"data": f"{number}"}) for number, space in enumerate(spaces)))
    listed = store.list_namespaces
    assert listed(prefix=("a", "b")) == spaces[:4]
    assert listed(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")]
    assert listed(prefix=("a",), suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert listed(prefix=("a", "b"), max_depth=3) == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    assert listed(prefix=("a", "b"), limit=2) == spaces[:2]
    assert listed(prefix=("a", "b"), offset=2) == spaces[2:4]
    assert listed(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert listed(suffix=("*", "f")) == [("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")]
    assert listed(prefix=("nonexistent",)) == []
    assert listed(prefix=("users", "123")) == [("users", "123")]


def test_list_namespaces_with_wildcards(store):
    """A: test_list_namespaces_with_wildcards; B: test_list_namespaces_operations"""
    spaces = [
        ("users", "123"), ("users", "456"), ("users", "789", "settings"), ("admin", "users", "789"), ("guests", "123"),
        ("guests", "456", "preferences"),
    ]  # fmt: skip
    fill(store, *((space, "id", {"data": "x"}) for space in spaces))
    assert store.list_namespaces(prefix=("users", "*")) == spaces[:3]
    assert store.list_namespaces(suffix=("*", "preferences")) == [("guests", "456", "preferences")]
    assert store.list_namespaces(prefix=("*", "users"), suffix=("*", "settings")) == []
    store.put(("admin", "users", "settings", "789"), "foo", {"data": "some_val"})
    assert store.list_namespaces(prefix=("*", "users"), suffix=("settings", "*")) == [
        ("admin", "users", "settings", "789")
    ]
    assert len(store.list_namespaces(max_depth=1)) == 3


def test_list_namespaces_pages(store):
    """A: test_list_namespaces_pagination; B: TestSqliteStore.test_list_namespaces"""
    fill(store, *((("namespace", f"sub_{number:02d}"), "id", {"data": "x"}) for number in range(20)))
    for offset in (0, 5, 15):
        page = store.list_namespaces(prefix=("namespace",), limit=5, offset=offset)
        assert page == [("namespace", f"sub_{number:02d}") for number in range(offset, offset + 5)]


def test_list_namespaces_of_a_depth(store):
    """A: test_list_namespaces_max_depth, test_list_namespaces_no_conditions, test_list_namespaces_empty_store"""
    assert store.list_namespaces() == []
    spaces = [("a", "b", "c", "d"), ("a", "b", "c", "e"), ("a", "b", "f"), ("a", "g"), ("h", "i", "j", "k")]
    fill(store, *((space, "id", {"data": "x"}) for space in spaces))
    assert store.list_namespaces(max_depth=2) == [("a", "b"), ("a", "g"), ("h", "i")]
    assert store.list_namespaces() == spaces


def test_nested_namespaces(store):
    """B: test_list_namespaces (async); C: test_list_namespaces"""
    one = uuid.uuid4().hex
    spaces = [(one, "prod", "documents", *rest, one) for rest in [("public",), ("some", "nesting", "public"), ("x",)]]
    fill(store, *((space, "dummy", {"content": "dummy"}) for space in spaces))
    assert len(store.list_namespaces(suffix=("public", one))) == 2
    assert store.list_namespaces(suffix=("some", "*", "public", one)) == [spaces[1]]
    assert len(store.list_namespaces(prefix=(one, "*", "documents"))) == 3


def test_a_prefix_ends_where_a_label_ends(store):
    """B, C: test_search_namespace_segment_boundary, test_list_namespaces_segment_boundary"""
    spaces = [("foo",), ("foo", "child"), ("foo", "child", "deep"), ("foobar",), ("foobar", "baz"), ("foo2",)]
    fill(store, *((space, "k", {"v": 1}) for space in spaces))
    fill(store, (("uid", "users", "alice"), "k", {"v": 1}), (("uid", "users", "malice"), "k", {"v": 1}))
    assert found(store, "foo") == set(spaces[:3])
    assert found(store, "foobar") == set(spaces[3:5])
    assert found(store, "foo2") == {("foo2",)}
    assert found(store, "fo") == set()
    assert store.list_namespaces(prefix=["foo"]) == spaces[:3]
    assert store.list_namespaces(suffix=["alice"]) == [("uid", "users", "alice")]
    assert store.list_namespaces(prefix=["uid", "*", "alice"]) == [("uid", "users", "alice")]


def test_wildcards_of_databases_are_letters(store):
    """B: test_search_namespace_wildcard_chars_are_literal, test_list_namespaces_metacharacter_labels; C: …_like_…"""
    pairs = [
        ("user_1", "userX1"), ("a%b", "axxb"), ("star*", "starX"), ("q?m", "qXm"), ("br[ack]et", "brXacXket"),
        ("plus+", "plusX"), ("a/b", "aXb"),
    ]  # fmt: skip
    for label, decoy in pairs:
        fill(store, *((space, "k", {"v": 1}) for space in [(label,), (decoy,), (label, "child")]))
    for label, _ in pairs:
        assert found(store, label) == {(label,), (label, "child")}
        assert store.list_namespaces(prefix=[label]) == [(label,), (label, "child")]
        assert store.list_namespaces(prefix=[label, "child"]) == [(label, "child")]


def test_case_counts(store):
    """B: test_search_namespace_is_case_sensitive"""
    fill(store, (("Foo",), "k", {"v": "upper"}), (("foo",), "k", {"v": "lower"}))
    assert (found(store, "foo"), found(store, "Foo")) == ({("foo",)}, {("Foo",)})


def test_an_empty_prefix_is_everything(store):
    """B, C: test_search_empty_prefix_is_unconstrained"""
    spaces = {("a",), ("b", "c"), ("d", "e", "f")}
    fill(store, *((space, "k", {"v": 1}) for space in spaces))
    assert found(store) == spaces


def test_a_label_may_end_in_a_newline(store):
    """B, C: test_namespace_labels_with_trailing_newline"""
    fill(store, (("users", "alice"), "k", {"v": 1}), (("users", "alice\n"), "k", {"v": 2}))
    assert store.list_namespaces(suffix=["alice"]) == [("users", "alice")]
    assert store.list_namespaces(prefix=["users", "alice\n"]) == [("users", "alice\n")]
    assert store.get(("users", "alice\n"), "k").value == {"v": 2}


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
    by_title = MemoryScopeStore(user="bob", memory=store._bridges._door.memory, fields=["title", "parts[*].name"])
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
    store = MemoryScopeStore(user="alice", memory=given._bridges._door.memory, ttl=config)
    store.put(("foo",), "item1", {"foo": "bar"})
    store.put(("foo",), "item2", {"foo": "bar"}, ttl=None)
    wait(8)
    assert store.get(("foo",), "item1") is not None
    wait(8)
    assert store.get(("foo",), "item1") is None
    assert store.get(("foo",), "item2") is not None
