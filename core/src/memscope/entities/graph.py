"""Graph of entities that are named in the same turns or related by a fact, with the fact's words.

It is drawn as GraphML, DOT and SVG; the layout is concentric and deterministic.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from memscope.entities.index import EntityIndex
from memscope.entities.results import GraphEdge, GraphNode

MAX_FACTS_PER_PAIR = 3  # the newest ones
COLOURS = {"person": "#4c78a8", "place": "#54a24b", "organisation": "#e45756", "thing": "#b279a2", "topic": "#eeca3b"}
RING_PIXELS = 150  # between circles
PIXELS_PER_NAME = 96  # of circumference per name
MARGIN_PIXELS = 90
TWIST_RADIANS = 2.4  # between rings, so that no three names are in line
MAX_LABEL_CHARS = 24
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
        keys = [("kind", "node", "string"), ("count", "node", "int"), ("relation", "edge", "string"),
                ("weight", "edge", "int"), ("words", "edge", "string")]  # fmt: skip
        lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
        lines += [f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>' for name, of, kind in keys]
        lines.append('  <graph edgedefault="undirected">')
        for node in self.nodes:
            lines.append(f"    <node id={quoteattr(_for_xml(node.name))}>{_data('kind', node.kind)}"
                         f"{_data('count', node.count)}</node>")  # fmt: skip
        for edge in self.edges:
            ends = f"source={quoteattr(_for_xml(edge.source))} target={quoteattr(_for_xml(edge.target))}"
            words = _data("words", edge.words) if edge.words else ""
            relation = _data("relation", edge.kind) + _data("weight", edge.count)
            lines.append(f"    <edge {ends}>{relation}{words}</edge>")
        return "\n".join([*lines, "  </graph>", "</graphml>", ""])

    def dot(self) -> str:
        def quoted(text: str) -> str:
            return json.dumps(_for_xml(text), ensure_ascii=False)

        lines = ["graph memory {", "  node [shape=box, style=rounded];"]
        lines += [f'  {quoted(node.name)} [color="{COLOURS[node.kind]}"];' for node in self.nodes]
        for edge in self.edges:
            label = f"[label={quoted(edge.words)}, style=dashed]" if edge.words else f"[weight={edge.count}]"
            lines.append(f"  {quoted(edge.source)} -- {quoted(edge.target)} {label};")
        return "\n".join([*lines, "}", ""])

    def svg(self, link: Callable[[str], str] | None = None) -> str:
        """Draw circles around the requested entities for a browser, without scripts; ``link`` makes a name's URL."""
        places, radius = _places(self.nodes)
        size = 2 * (radius + MARGIN_PIXELS)
        lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" font-family="sans-serif"'
                 ' font-size="13">', f'<rect width="{size}" height="{size}" fill="white"/>']  # fmt: skip
        lines += [_line(edge, places) for edge in self.edges]
        for node in self.nodes:
            circle = _circle(node, *places[node.name])
            lines.append(f"<a href={quoteattr(link(node.name))}>{circle}</a>" if link else circle)
        return "\n".join([*lines, "</svg>", ""])


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


# ------------------------------------------------------------------------------------------------------------- drawing


def _for_xml(text: str) -> str:
    """Drop the characters that XML does not allow."""
    return _NOT_XML.sub("", text)


def _data(key: str, value: object) -> str:
    return f'<data key="{key}">{escape(_for_xml(str(value)))}</data>'


def _line(edge: GraphEdge, places: Mapping[str, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    title = edge.words or f"named together in {edge.count} turn{'s' * (edge.count != 1)}"
    stroke = 'stroke="#d07020" stroke-dasharray="5 3"' if edge.words else 'stroke="#bbbbbb"'
    width = 1.5 if edge.words else min(6.0, 0.8 + 0.6 * math.log2(edge.count + 1))
    return (f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {stroke} stroke-width="{width:.1f}">'
            f"<title>{escape(_for_xml(title))}</title></line>")  # fmt: skip


def _circle(node: GraphNode, x: int, y: int) -> str:
    radius = min(24.0, 6 + 2.5 * math.log2(node.count + 1))
    label = node.name if len(node.name) <= MAX_LABEL_CHARS else node.name[: MAX_LABEL_CHARS - 1] + "…"
    title = f"{node.name}: {node.kind}, {node.count} turn{'s' * (node.count != 1)}"
    return (f'<g><title>{escape(_for_xml(title))}</title><circle cx="{x}" cy="{y}" r="{radius:.1f}"'
            f' fill="{COLOURS[node.kind]}"/><text x="{x}" y="{y + radius + 14:.0f}" text-anchor="middle"'
            f' stroke="white" stroke-width="3" paint-order="stroke" fill="#222222">{escape(_for_xml(label))}</text></g>'
            )  # fmt: skip


def _places(nodes: Sequence[GraphNode]) -> tuple[dict[str, tuple[int, int]], int]:
    """Return each name's position, and the radius of the outer circle."""
    places: dict[str, tuple[float, float]] = {}
    radius = 0.0
    for number, distance in enumerate(sorted({node.distance for node in nodes})):
        ring = [node for node in nodes if node.distance == distance]
        needed = len(ring) * PIXELS_PER_NAME / math.tau
        radius = 0.0 if not places and len(ring) == 1 else max(radius + RING_PIXELS, needed)
        for at, node in enumerate(ring):
            turn = math.tau * at / max(3, len(ring)) + TWIST_RADIANS * number
            places[node.name] = radius * math.cos(turn), radius * math.sin(turn)
    outer = math.ceil(radius)
    middle = outer + MARGIN_PIXELS
    return {name: (round(middle + x), round(middle + y)) for name, (x, y) in places.items()}, outer
