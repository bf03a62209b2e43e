"""Draw a graph of entities as GraphML, DOT and SVG. The layout is concentric and deterministic."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from memscope.entities.results import GraphEdge, GraphNode

COLOURS = {"person": "#4c78a8", "place": "#54a24b", "organisation": "#e45756", "thing": "#b279a2", "topic": "#eeca3b"}
RING_PIXELS = 150  # between circles
PIXELS_PER_NAME = 96  # of circumference per name
MARGIN_PIXELS = 90
TWIST_RADIANS = 2.4  # between rings, so that no three names are in line
MAX_LABEL_CHARS = 24
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _for_xml(text: str) -> str:
    """Drop the characters that XML does not allow."""
    return _NOT_XML.sub("", text)


def graphml(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> str:
    keys = [("kind", "node", "string"), ("count", "node", "int"), ("relation", "edge", "string"),
            ("weight", "edge", "int"), ("words", "edge", "string")]  # fmt: skip
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>' for name, of, kind in keys]
    lines.append('  <graph edgedefault="undirected">')
    for node in nodes:
        lines.append(f"    <node id={quoteattr(_for_xml(node.name))}>{_data('kind', node.kind)}"
                     f"{_data('count', node.count)}</node>")  # fmt: skip
    for edge in edges:
        ends = f"source={quoteattr(_for_xml(edge.source))} target={quoteattr(_for_xml(edge.target))}"
        words = _data("words", edge.words) if edge.words else ""
        relation = _data("relation", edge.kind) + _data("weight", edge.count)
        lines.append(f"    <edge {ends}>{relation}{words}</edge>")
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])


def _data(key: str, value: object) -> str:
    return f'<data key="{key}">{escape(_for_xml(str(value)))}</data>'


def dot(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> str:
    def quoted(text: str) -> str:
        return json.dumps(_for_xml(text), ensure_ascii=False)

    lines = ["graph memory {", "  node [shape=box, style=rounded];"]
    lines += [f'  {quoted(node.name)} [color="{COLOURS[node.kind]}"];' for node in nodes]
    for edge in edges:
        label = f"[label={quoted(edge.words)}, style=dashed]" if edge.words else f"[weight={edge.count}]"
        lines.append(f"  {quoted(edge.source)} -- {quoted(edge.target)} {label};")
    return "\n".join([*lines, "}", ""])


def svg(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], link: Callable[[str], str] | None = None) -> str:
    places, radius = _places(nodes)
    size = 2 * (radius + MARGIN_PIXELS)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" font-family="sans-serif"'
             ' font-size="13">', f'<rect width="{size}" height="{size}" fill="white"/>']  # fmt: skip
    lines += [_line(edge, places) for edge in edges]
    for node in nodes:
        circle = _circle(node, *places[node.name])
        lines.append(f"<a href={quoteattr(link(node.name))}>{circle}</a>" if link else circle)
    return "\n".join([*lines, "</svg>", ""])


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
