"""``MemoryScopeStore`` beyond what LangGraph asks of a store: users, any characters, forgetting, LangMem."""

from __future__ import annotations

import asyncio
import importlib
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.store import base
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from memscope import MemoryScope
from memscope.errors import InputError, MemscopeError, ScopeError
from memscope_langchain import MemoryScopeMiddleware, MemoryScopeStore, user_of_run
from memscope_langchain.store import labels, path, written
from memscope_testing.injections import CLAIMS
from memscope_testing.scripted import ScriptedModel

from .talking import agent_with, configured
from .test_middleware import call, calling, user

LABELS = st.text(min_size=1, max_size=8)
ADMITTED = st.text(st.characters(exclude_characters=".\0"), min_size=1, max_size=8)  # by LangGraph, as labels


@pytest.fixture
def store(memory):
    return MemoryScopeStore(user="alice", memory=memory)


# ---- a batch


@pytest.mark.parametrize(
    ("namespace", "key", "value"),
    [
        (("notes", "x" * 300), "b", {"text": "too long a label"}),
        (("notes",), "b" * 300, {"text": "too long a key"}),
        (("notes",), "b", {"text": object()}),
        (("notes",), "b", ["no dict"]),
        (("notes",), "b", {str(n): n for n in range(64)}),
        (("notes",), "b", {"text": "x" * 300_000}),
    ],
)
def test_a_batch_with_a_wrong_write_writes_nothing(store, namespace, key, value):
    right = PutOp(("notes",), "a", {"text": "My boat is called Aurora."})
    with pytest.raises(InputError):
        store.batch([right, PutOp(namespace, key, value)])
    assert store.search(()) == []


@pytest.mark.skipif(not hasattr(base, "validate_op_namespace"), reason="before langgraph-checkpoint 4.3")
@pytest.mark.parametrize(
    "wrong",
    [
        PutOp(("a.b",), "k", {"text": "x"}),
        PutOp(("a", ""), "k", None),
        GetOp(("a.b",), "k"),
        SearchOp(("a.b",)),
        ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("a.b",)),)),
    ],
)
def test_a_batch_refuses_labels_that_langgraph_refuses_before_anything_is_written(store, wrong):
    with pytest.raises(base.InvalidNamespaceError):
        store.batch([PutOp(("notes",), "a", {"text": "My boat is called Aurora."}), wrong])
    assert store.search(()) == []


# ---- whose words


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_is_put_is_a_statement_of_the_user_only_where_the_program_says_so(memory, claim):
    for role in ("assistant", "user"):
        store = MemoryScopeStore(user=role, memory=memory, role=role)
        store.put(("notes",), "a", {"text": claim})
        assert store.search(("notes",), query=claim)[0].value == {"text": claim}
        assert (claim in memory.profile(user=role)) == (role == "user")


def test_a_role_that_nobody_has_is_refused(memory):
    with pytest.raises(InputError, match="role must be"):
        MemoryScopeStore(user="alice", memory=memory, role="model")


# ---- any characters


@pytest.mark.parametrize("key", ["langgraph:item", "langgraph:0", "langgraph::x", "langgraph:", "langgraph:mine"])
def test_a_value_may_have_any_key(store, key):
    store.put(("notes",), "a", {key: "kept", "text": "My boat is called Aurora."})
    store.put(("notes",), "b", {"text": "The boat is blue."})
    assert store.get(("notes",), "a").value == {key: "kept", "text": "My boat is called Aurora."}
    assert [item.key for item in store.search(("notes",), filter={key: "kept"})] == ["a"]
    assert [item.key for item in store.search((), query="boat", filter={key: {"$ne": "kept"}})] == ["b"]


@given(st.lists(LABELS, min_size=1, max_size=4).map(tuple))
def test_a_namespace_is_read_as_it_was_written(namespace):
    assert labels(path(namespace)) == namespace
    assert path(namespace).strip() == path(namespace)


@given(LABELS, LABELS)
def test_two_labels_are_two(one, other):
    assert (written(one) == written(other)) == (one == other)


@settings(max_examples=60, deadline=None)
@given(st.lists(ADMITTED, min_size=1, max_size=3).map(tuple), LABELS, st.dictionaries(st.text(max_size=5), st.text()))
def test_any_characters(namespace, key, value):
    value = {name.replace("\0", ""): text.replace("\0", "") for name, text in value.items()}  # no store keeps those
    with MemoryScope(":memory:", settings={}) as memory:
        store = MemoryScopeStore(user="alice", memory=memory)
        store.batch([PutOp(namespace, key, value)])
        (item,), (found,) = store.batch([GetOp(namespace, key)]), store.batch([SearchOp(namespace)])
        assert (item.namespace, item.key, item.value) == (namespace, key, value)
        assert [one.key for one in found] == [key]


def test_an_address_is_a_user_and_a_label(memory):
    store = MemoryScopeStore(user="alice@example.com", memory=memory)
    store.put(("memories", "alice@example"), "文件/1", {"text": "她住在柏林"})
    assert store.search(("memories",), query="柏林")[0].key == "文件/1"


def test_what_is_too_long_or_no_json_is_told(store):
    with pytest.raises(ScopeError, match="256"):
        store.put(("x" * 300,), "key", {"v": 1})
    with pytest.raises(InputError):
        store.put(("x",), "key", {"v": object()})
    assert store.search(()) == []


# ---- whose


def test_nobody_sees_anothers(memory, store):
    store.put(("notes",), "key", {"text": "Aurora"})
    other = MemoryScopeStore(user="bob", memory=memory)
    assert other.get(("notes",), "key") is None
    assert other.search((), query="Aurora") == other.list_namespaces() == []
    other.delete(("notes",), "key")
    assert store.get(("notes",), "key").value == {"text": "Aurora"}
    for missing in (None, "", " "):
        with pytest.raises(MemscopeError):
            MemoryScopeStore(user=missing, memory=memory)


class State(TypedDict, total=False):
    name: str
    found: list[str]


def keep(state: State, runtime: Runtime) -> State:
    runtime.store.put(("notes",), "name", {"text": f"The secret word is {state['name']}secret."})
    return {"found": [item.value["text"] for item in runtime.store.search(("notes",), query="secret word")]}


async def keep_with_await(state: State, runtime: Runtime) -> State:
    await runtime.store.aput(("notes",), "name", {"text": f"The secret word is {state['name']}secret."})
    return {"found": [item.value["text"] for item in await runtime.store.asearch(("notes",), query="secret word")]}


def graph(store, node):
    built = StateGraph(State)
    built.add_node("keep", node)
    built.set_entry_point("keep")
    built.set_finish_point("keep")
    return built.compile(store=store)


def test_one_store_for_forty_threaded_runs_of_four_users(memory):
    names = ["anna", "bert", "carl", "dora"]
    runs = graph(MemoryScopeStore(user=user_of_run, memory=memory), keep)

    def run(number):
        name = names[number % 4]
        return runs.invoke({"name": name}, configured(name))["found"]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(run, range(40)))
    assert found == [[f"The secret word is {names[number % 4]}secret."] for number in range(40)]


async def test_one_store_for_four_users_at_once(memory):
    names = ["anna", "bert", "carl", "dora"]
    runs = graph(MemoryScopeStore(user=user_of_run, memory=memory), keep_with_await)
    found = await asyncio.gather(*(runs.ainvoke({"name": name}, configured(name)) for name in names * 10))
    assert [one["found"] for one in found] == [[f"The secret word is {name}secret."] for name in names * 10]


async def test_what_is_put_while_a_search_reads_is_there_once(store, monkeypatch):
    module = importlib.import_module("memscope_langchain.store")
    whole = module._documents

    async def put_before(session, **asked):
        monkeypatch.setattr(module, "_documents", whole)
        await store.aput(("notes",), "boat", {"text": "My boat is called Borealis."})
        return await whole(session, **asked)

    await store.aput(("notes",), "boat", {"text": "My boat is called Aurora."})
    await store.aput(("notes",), "pet", {"text": "A cat."})
    monkeypatch.setattr(module, "_documents", put_before)
    found = await store.asearch(("notes",), query="boat called")
    assert [(one.key, one.value["text"]) for one in found] == [
        ("boat", "My boat is called Borealis."),
        ("pet", "A cat."),
    ]


def test_outside_of_a_run_there_is_no_user(memory):
    with pytest.raises(ScopeError, match="user_id"):
        MemoryScopeStore(user=user_of_run, memory=memory).search(())


# ---- one memory


async def test_what_was_put_is_recalled_by_the_middleware(memory):
    store = MemoryScopeStore(user="alice", memory=memory)
    await store.aput(("notes",), "boat", {"text": "Alice's boat is called Aurora."})
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMiddleware(memory=memory), script)
    await agent.ainvoke(user("What is my boat called?"), configured("alice"))
    assert "Aurora" in script.latest
    await store.adelete(("notes",), "boat")
    await agent.ainvoke(user("What is my boat called?"), configured("alice", "two"))
    assert "Aurora" not in script.latest


def test_deleting_is_forgetting(memory, store):
    for word in ("Aurora", "Borealis"):
        store.put(("notes",), "boat", {"text": word})
    store.delete(("notes",), "boat")
    assert memory.list(user="alice", superseded=True) == []
    store.put(("notes",), "boat", {"text": "Aurora"})
    assert store.get(("notes",), "boat").value == {"text": "Aurora"}


def test_documents_lend_each_other_no_words(store):
    for number in range(5):
        store.put(
            ("notes",), str(number), {"text": "zorblax" if number == 2 else "quibnar"}
        )  # no meaning to be near in
    found = store.search(("notes",), query="zorblax")
    assert found[0].key == "2"
    assert [item.score for item in found[1:]] == [None] * 4


# ---- LangMem


@pytest.fixture
def langmem():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports what LangGraph calls deprecated
        return importlib.import_module("langmem")


async def test_the_tools_of_langmem(memory, langmem):
    store = MemoryScopeStore(user=user_of_run, memory=memory)
    tools = [
        langmem.create_manage_memory_tool(namespace=("memories", "{user_id}")),
        langmem.create_search_memory_tool(namespace=("memories", "{user_id}")),
    ]

    async def run(who, script):
        agent = agent_with([], script, tools=tools, store=store, checkpointer=InMemorySaver())
        return await agent.ainvoke(user("Go on."), configured(who, "one"))

    await run("alice", calling(call("manage_memory", content="Alice's boat is called Aurora.", action="create")))
    said = await run("alice", calling(call("search_memory", query="boat")))
    assert "Aurora" in str(said["messages"][2].content)
    said = await run("bob", calling(call("search_memory", query="boat")))
    assert "Aurora" not in str(said["messages"][2].content)
    (kept,) = memory.list(user="alice", kinds=["observation"])
    assert kept.text == "Alice's boat is called Aurora."
