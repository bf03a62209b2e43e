"""Graph of entities: those named in the same turns, and those that a fact relates, with its words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from memscope.entities import drawing
from memscope.entities.index import EntityIndex
from memscope.entities.results import GraphEdge, GraphNode

MOST_FACTS = 3  # of one pair, the newest


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Nodes by distance and by the number of their turns; edges by the order of their nodes."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def graphml(self) -> str:
        return drawing.graphml(self.nodes, self.edges)

    def dot(self) -> str:
        return drawing.dot(self.nodes, self.edges)

    def svg(self, link: Callable[[str], str] | None = None) -> str:
        """A picture for a browser: circles around those asked for, without a script; ``link`` of a name if given."""
        return drawing.svg(self.nodes, self.edges, link)


def reach(index: EntityIndex, starts: Sequence[int], depth: int, most: int) -> dict[int, int]:
    """Returns the distance of each entity within ``depth`` of any start, ``most`` entities in all.

    Those with the most turns and facts in common with the entities before them come first.
    """
    distances = dict.fromkeys(starts[:most], 0)
    facts = facts_of(index)
    edge = list(distances)
    for distance in range(1, depth + 1):
        common: Counter[int] = Counter()
        for one in edge:
            common.update(other for turn in index.nodes[one].turns for other in index.named[turn])
            common.update(other for id in facts[one] for other in index.facts[id])
        ranked = sorted(common, key=lambda one: (-common[one], index.nodes[one].name))
        edge = [one for one in ranked if one not in distances][: most - len(distances)]
        distances.update(dict.fromkeys(edge, distance))
    return distances


def facts_of(index: EntityIndex) -> Mapping[int, list[str]]:
    """Returns the facts of each entity that name another as well."""
    found: dict[int, list[str]] = defaultdict(list)
    for id, numbers in index.facts.items():
        for number in numbers if len(numbers) > 1 else ():
            found[number].append(id)
    return found


def relating_facts(index: EntityIndex, chosen: Iterable[int]) -> dict[tuple[int, int], list[str]]:
    """Returns the newest facts of each pair of the chosen entities."""
    inside = set(chosen)
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for id, numbers in index.facts.items():
        for pair in combinations(inside.intersection(numbers), 2):
            found[min(pair), max(pair)].append(id)
    return {pair: ids[-MOST_FACTS:] for pair, ids in found.items()}


def make_graph(
    index: EntityIndex, distances: Mapping[int, int], relating: Mapping[tuple[int, int], Sequence[str]],
    words: Mapping[str, str],
) -> EntityGraph:  # fmt: skip
    """Returns the graph of these entities; ``words`` of the facts by id."""
    order = sorted(distances, key=lambda one: (distances[one], -len(index.nodes[one].turns), index.nodes[one].name))
    place = {number: at for at, number in enumerate(order)}
    turns = sorted({turn for number in order for turn in index.nodes[number].turns})
    together: Counter[tuple[int, int]] = Counter()
    for turn in turns:
        together.update(combinations(sorted(place[one] for one in index.named[turn] if one in place), 2))
    names = [index.nodes[number].name for number in order]
    edges = [GraphEdge(names[a], names[b], "together", count) for (a, b), count in sorted(together.items())]
    placed = sorted(
        (min(place[a], place[b]), max(place[a], place[b]), id)
        for (a, b), ids in relating.items() for id in ids if id in words
    )  # fmt: skip
    edges += [GraphEdge(names[a], names[b], "fact", 1, id, words[id]) for a, b, id in placed]
    nodes = [(index.nodes[number], distances[number]) for number in order]
    made = (GraphNode(node.name, node.kind, len(node.turns), distance) for node, distance in nodes)
    return EntityGraph(tuple(made), tuple(edges))
