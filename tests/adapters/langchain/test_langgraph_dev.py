"""A store of ours in ``langgraph dev``: its HTTP API for stores, and a node of a graph that may not block the loop."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

if find_spec("langgraph_api") is None:
    pytest.skip("langgraph-cli[inmem] is not installed", allow_module_level=True)

import httpx

from servers.postgres import free_port

STORE = """
from memscope_langchain import MemoryScopeStore

store = MemoryScopeStore(user="alice", memory={"store": "memory.db"})
"""
GRAPH = """
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime


class State(TypedDict):
    text: str
    found: list


async def keep(state: State, runtime: Runtime):
    await runtime.store.aput(("runs",), state["text"], {"text": state["text"]})
    return {"found": [item.value["text"] for item in await runtime.store.asearch(("runs",), query=state["text"])]}


builder = StateGraph(State)
builder.add_node("keep", keep)
builder.add_edge(START, "keep")
builder.add_edge("keep", END)
graph = builder.compile()
"""


@pytest.fixture
def client(tmp_path):
    (tmp_path / "store.py").write_text(STORE)
    (tmp_path / "agent.py").write_text(GRAPH)
    settings = {"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, "store": {"path": "./store.py:store"}}
    (tmp_path / "langgraph.json").write_text(json.dumps(settings))
    port = free_port()
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_until_it_serves(client, process)
            yield client
        assert b"BlockingError" not in (tmp_path / "log").read_bytes()
    finally:
        process.kill()
        process.wait()


def wait_until_it_serves(client, process):
    for _ in range(300):
        assert process.poll() is None
        try:
            if client.get("/ok").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail("langgraph dev does not serve")


def test_items_and_namespaces_by_its_api(client):
    def put(namespace, key, value, **more):
        item = {"namespace": namespace, "key": key, "value": value, **more}
        return client.put("/store/items", json=item).status_code

    def search(**asked):
        found = client.post("/store/items/search", json={"namespace_prefix": ["notes"], **asked}).json()["items"]
        return [item["key"] for item in found]

    def get(key):
        return client.get("/store/items", params={"namespace": "notes", "key": key}).json()

    assert put(["notes"], "a", {"text": "Alice likes tea", "n": 3}) == 204
    assert put(["notes", "deep"], "b", {"text": "Bob sails boats"}) == put(["other"], "c", {}, index=False) == 204
    assert put(["notes"], "d", {"text": "gone soon"}, ttl=5) == 204
    assert get("a")["value"] == {"text": "Alice likes tea", "n": 3} and get("nothing") is None
    assert search() == ["d", "b", "a"] and search(query="Who sails?", limit=1) == ["b"]
    assert search(filter={"n": {"$gte": 3}}) == ["a"] and search(limit=1, offset=1) == ["b"]
    asked = {"prefix": ["notes"], "max_depth": 2}
    assert client.post("/store/namespaces", json=asked).json()["namespaces"] == [["notes"], ["notes", "deep"]]
    assert client.request("DELETE", "/store/items", json={"namespace": ["notes"], "key": "a"}).status_code == 204
    assert get("a") is None and put([], "a", {}) == put(["langgraph"], "a", {}) == 400


def test_a_node_writes_and_searches(client):
    for text in ("I moved to Rome", "Where do I live?"):
        reply = client.post("/runs/wait", json={"assistant_id": "agent", "input": {"text": text}}).json()
    assert "I moved to Rome" in reply["found"]
