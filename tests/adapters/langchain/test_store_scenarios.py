"""LangGraph's own store tests of items and namespaces. Each test names the one it stands for.

A: libs/checkpoint/tests/test_store.py      B: libs/checkpoint-sqlite/tests/test_store.py and test_async_store.py
C: libs/checkpoint-postgres/tests/test_store.py
"""

from __future__ import annotations

import asyncio
import uuid

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

from .storing import fill, found

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
