"""The graph of entities: what is joined, how far it reaches, and its forms, read back by readers of these forms."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope, MemoryScope
from memscope.entities.graph import EntityGraph
from memscope.entities.results import GraphEdge, GraphNode
from memscope.errors import InputError, NotFound
from memscope.records import ChangeSet, Observation, Scope

NOW = datetime(2026, 6, 30, tzinfo=UTC)
TALK = [
    "I met Kim with Leo.",
    "I saw Leo with Kim again.",
    "I met Leo with Max.",
    "I met Max with Zoe.",
    "Boris called me.",
]


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with AsyncMemoryScope(":memory:", clock=lambda: NOW) as opened:
        report = await opened.add_turns([{"role": "user", "content": text} for text in TALK], user="u")
        fact = Observation(id="o", scope=Scope("u"), text="Kim is Zoe's aunt.", sources=(report.keys[0],), said=NOW,
                           recorded=NOW, about="Kim")  # fmt: skip
        await opened.admin.runtime.services.store.apply("u", ChangeSet(new=(fact,)))
        yield opened


def edges(graph: EntityGraph) -> set[tuple[frozenset[str], str, int]]:
    return {(frozenset({one.source, one.target}), one.kind, one.count) for one in graph.edges}


async def test_named_together_and_related_by_a_fact(memory):
    graph = await memory.entities("u").graph()
    assert {node.name for node in graph.nodes} == {"Kim", "Leo", "Max", "Zoe", "Boris"}
    assert (frozenset({"Kim", "Leo"}), "together", 2) in edges(graph)
    (fact,) = [one for one in graph.edges if one.kind == "fact"]
    assert {fact.source, fact.target} == {"Kim", "Zoe"} and (fact.id, fact.words) == ("o", "Kim is Zoe's aunt.")


async def test_subgraphs_reach_as_far_as_asked_and_are_joined(memory):
    async def distances(*names: str, **more: int) -> dict[str, int]:
        return {node.name: node.distance for node in (await memory.entities("u").graph(names, **more)).nodes}

    await memory.forget(user="u", ids=["o"])
    assert await distances("Kim", depth=1) == {"Kim": 0, "Leo": 1}
    assert await distances("Kim") == {"Kim": 0, "Leo": 1, "Max": 2}
    assert await distances("Kim", "Boris", depth=1) == {"Kim": 0, "Boris": 0, "Leo": 1}
    assert len(await distances("Kim", top=2)) == 2
    assert await distances("Boris") == {"Boris": 0}


async def test_bad_arguments_are_typed_errors(memory):
    with pytest.raises(NotFound):
        await memory.entities("u").graph(["Nobody"])
    for more in ({"depth": 3}, {"depth": 0}, {"top": 0}, {"names": "Kim"}):
        with pytest.raises(InputError):
            await memory.entities("u").graph(**more)


NAMES = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=12, unique=True)
KINDS = st.sampled_from(["person", "place", "organisation", "thing", "topic"])


@given(NAMES, KINDS, st.integers(0, 2), st.text(max_size=20))
def test_any_graph_can_be_read_back(names, kind, distance, words):
    nodes = [GraphNode(name, kind, at + 1, min(at, distance)) for at, name in enumerate(names)]
    lines = [GraphEdge(names[0], name, "fact" if words else "together", 1, "o", words) for name in names[1:]]
    graph = EntityGraph(tuple(nodes), tuple(lines))
    picture = ElementTree.fromstring(graph.svg())
    assert len(picture.findall(".//{*}circle")) == len(names) and len(picture.findall(".//{*}line")) == len(lines)
    document = ElementTree.fromstring(graph.graphml())
    assert len(document.findall(".//{*}node")) == len(names) and len(document.findall(".//{*}edge")) == len(lines)
    assert graph.dot().count(" -- ") >= len(lines)
    assert json.loads(json.dumps(graph.as_dict()))["nodes"][0]["name"] == names[0]
    assert graph.svg() == graph.svg()


@given(NAMES)
def test_a_picture_links_each_name(names):
    graph = EntityGraph(tuple(GraphNode(name, "person", 1, 0) for name in names), ())
    links = ElementTree.fromstring(graph.svg(lambda name: f"/entity?name={quote(name)}")).findall(".//{*}a")
    assert [one.get("href") for one in links] == [f"/entity?name={quote(name)}" for name in names]


def test_no_two_names_are_drawn_at_one_place():
    nodes = tuple(GraphNode(f"n{at}", "person", 1, min(at, 2)) for at in range(60))
    circles = ElementTree.fromstring(EntityGraph(nodes, ()).svg()).findall(".//{*}circle")
    assert len({(one.get("cx"), one.get("cy")) for one in circles}) == 60


def test_without_await():
    with MemoryScope(":memory:") as memory:
        memory.add_turns([{"role": "user", "content": "I met Kim in Rome."}], user="u")
        assert edges(memory.entities("u").graph(["Kim"])) == {(frozenset({"Kim", "Rome"}), "together", 1)}
