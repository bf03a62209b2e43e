"""Items of LangGraph's own stores become documents that ``MemoryScopeStore`` reads as they were."""

from __future__ import annotations

import pytest
from langgraph.store.memory import InMemoryStore

from memscope.errors import InputError
from memscope_langchain import MemoryScopeStore

ITEMS = {
    (("memories", "alice"), "one"): {"text": "Prefers green tea", "strength": 3},
    (("memories", "alice"), "二"): {"text": "住在杭州", "langgraph:own": True},
    (("memories", "bob"), "one"): {"text": "Rides a motorbike"},
}


def filled(store):
    for (namespace, key), value in ITEMS.items():
        store.put(namespace, key, value)
    return store


@pytest.fixture(params=["in memory", "file"])
def source(request, tmp_path):
    if request.param == "in memory":
        yield filled(InMemoryStore())
        return
    sqlite = pytest.importorskip("langgraph.store.sqlite", reason="langgraph-checkpoint-sqlite is not installed")
    with sqlite.SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
        store.setup()
        filled(store)
    yield str(tmp_path / "store.db")


def test_every_item_is_read_back_as_it_was(memory, source):
    report = memory.admin.import_from("langgraph", source, user="team")
    assert (report.observations, report.not_taken) == (3, {})
    store = MemoryScopeStore(user="team", memory=memory)
    assert {(item.namespace, item.key): item.value for item in store.search((), limit=10)} == ITEMS
    assert memory.admin.import_from("langgraph", source, user="team").known == 3
    assert "green tea" in memory.context("Which tea?", user="team")


def test_a_prefix_is_one_user(memory):
    store = filled(InMemoryStore())
    assert memory.admin.import_from("langgraph", (store, ("memories", "alice")), user="alice").observations == 2
    kept = MemoryScopeStore(user="alice", memory=memory).get(("memories", "alice"), "one")
    theirs = store.get(("memories", "alice"), "one")
    assert (kept.created_at, kept.updated_at) == (theirs.created_at, theirs.updated_at)


def test_a_changed_item_supersedes_what_was_imported(memory):
    store = filled(InMemoryStore())
    memory.admin.import_from("langgraph", store, user="team")
    store.put(("memories", "bob"), "one", {"text": "Sold the motorbike"})
    memory.admin.import_from("langgraph", store, user="team")
    assert (
        MemoryScopeStore(user="team", memory=memory).get(("memories", "bob"), "one").value["text"]
        == "Sold the motorbike"
    )


def test_what_is_no_store_is_refused(memory, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "langgraph.store.sqlite", None)
    with pytest.raises(InputError, match="is no BaseStore"):
        memory.admin.import_from("langgraph", str(tmp_path / "store.db"), user="team")
