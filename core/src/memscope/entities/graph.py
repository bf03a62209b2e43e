"""Graph of entities that are named in the same turns or related by a fact, with the fact's words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

from memscope.entities import drawing
from memscope.entities.index import EntityIndex
from memscope.entities.results import GraphEdge, GraphNode

MAX_FACTS_PER_PAIR = 3  # the newest ones


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Nodes ordered by distance and number of turns; edges in the order of their nodes."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def worded(self, words: Mapping[str, str]) -> EntityGraph:
        """Fill in the facts' words by id, and leave out fact edges without words."""
        edges = (replace(edge, words=words.get(edge.id, "")) for edge in self.edges)
        return replace(self, edges=tuple(edge for edge in edges if edge.kind == "together" or edge.words))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def graphml(self) -> str:
        return drawing.graphml(self.nodes, self.edges)

    def dot(self) -> str:
        return drawing.dot(self.nodes, self.edges)

    def svg(self, link: Callable[[str], str] | None = None) -> str:
        """Draw circles around the requested entities for a browser, without scripts; ``link`` makes a name's URL."""
        return drawing.svg(self.nodes, self.edges, link)


def reach(index: EntityIndex, starts: Sequence[int], depth: int, most: int) -> dict[int, int]:
    """Return the distance of each entity within ``depth`` of a start, ``most`` entities in all.

    Those that share the most turns and facts with the previous ring come first.
    """
    distances = dict.fromkeys(starts[:most], 0)
    edge = list(distances)
    for distance in range(1, depth + 1):
        common: Counter[int] = Counter()
        for node in (index.nodes[one] for one in edge):
            common.update(other for turn in node.turns for other in index.named(turn))
            common.update(other for fact in node.facts for other in index.related(fact))
        ranked = sorted(common, key=lambda one: (-common[one], index.nodes[one].name))
        edge = [one for one in ranked if one not in distances][: most - len(distances)]
        distances.update(dict.fromkeys(edge, distance))
    return distances


def relating_facts(index: EntityIndex, chosen: Iterable[int]) -> dict[tuple[int, int], list[str]]:
    inside = set(chosen)
    by_pair: dict[tuple[int, int], list[str]] = defaultdict(list)
    facts = {fact for one in inside for fact in index.nodes[one].facts}
    for fact in sorted(facts, key=lambda fact: (index.memories[fact].said, fact)):
        for a, b in combinations(sorted(inside.intersection(index.related(fact))), 2):
            by_pair[a, b].append(fact)
    return {pair: facts[-MAX_FACTS_PER_PAIR:] for pair, facts in by_pair.items()}


def make_graph(index: EntityIndex, distances: Mapping[int, int]) -> EntityGraph:
    """Build the graph of these entities, without the words of its facts."""
    order = sorted(distances, key=lambda one: (distances[one], -len(index.nodes[one].turns), index.nodes[one].name))
    place = {number: at for at, number in enumerate(order)}
    turns = sorted({turn for number in order for turn in index.nodes[number].turns})
    together: Counter[tuple[int, int]] = Counter()
    for turn in turns:
        together.update(combinations(sorted(place[one] for one in index.named(turn) if one in place), 2))
    names = [index.nodes[number].name for number in order]
    edges = [GraphEdge(names[a], names[b], "together", count) for (a, b), count in sorted(together.items())]
    placed = sorted(
        (min(place[a], place[b]), max(place[a], place[b]), id)
        for (a, b), ids in relating_facts(index, distances).items() for id in ids
    )  # fmt: skip
    edges += [GraphEdge(names[a], names[b], "fact", 1, id) for a, b, id in placed]
    nodes = [(index.nodes[number], distances[number]) for number in order]
    graph_nodes = (GraphNode(node.name, node.kind, len(node.turns), distance) for node, distance in nodes)
    return EntityGraph(tuple(graph_nodes), tuple(edges))
