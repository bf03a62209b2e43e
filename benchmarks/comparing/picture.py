"""The chart of ``peers.py``: CPU time per search over the number of turns, log-log axes, one line per system."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 40, 45  # margins in pixels; the right one has the names of the lines
COLOURS = ("#0b5fff", "#00a3a3", "#c2410c", "#7c3aed", "#15803d", "#b91c1c", "#475569")
MIN_GAP = 15  # vertical pixels between two names


def picture(times: Mapping[str, Mapping[str, float]]) -> str:
    """Draw the search times of several systems.

    Args:
        times: Milliseconds by system and number of turns.

    Returns:
        An SVG that reads well on light and dark pages.
    """
    points = {name: sorted((int(size), ms) for size, ms in by_size.items()) for name, by_size in times.items()}
    sizes = sorted({size for line in points.values() for size, _ in line})
    all_ms = [ms for line in points.values() for _, ms in line]
    decades = range(math.floor(math.log10(min(all_ms))), math.ceil(math.log10(max(all_ms))) + 1)

    def x(size: float) -> float:
        span = math.log10(sizes[-1] / sizes[0]) or 1
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log10(size / sizes[0]) / span

    def y(ms: float) -> float:
        span = (decades[-1] - decades[0]) or 1
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(ms) - decades[0]) / span

    def parts() -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            ' role="img" font-family="system-ui, sans-serif" font-size="12">'
        )
        yield "<title>CPU milliseconds of a search over the number of turns</title>"
        yield f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#ffffff"/>'
        yield f'<text x="{LEFT}" y="22" font-weight="600">CPU milliseconds of a search, by turns of the user</text>'
        for decade in decades:
            height = y(10**decade)
            yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" stroke="#e2e8f0"/>'
            yield f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{10**decade:g}</text>'
        for size in sizes:
            yield f'<text x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{size:,}</text>'
        colour = dict(zip(points, COLOURS, strict=False))
        for name, line in points.items():
            drawn = " ".join(f"{x(size):.1f},{y(ms):.1f}" for size, ms in line)
            yield f'<polyline points="{drawn}" fill="none" stroke="{colour[name]}" stroke-width="2"/>'
            for size, ms in line:
                said = f"<title>{name}, {size:,} turns: {ms:g} ms</title>"
                yield f'<circle cx="{x(size):.1f}" cy="{y(ms):.1f}" r="3.5" fill="{colour[name]}">{said}</circle>'
        lowest = HEIGHT - BOTTOM + MIN_GAP
        for name, line in sorted(points.items(), key=lambda one: one[1][-1][1]):  # the names must not overlap
            size, ms = line[-1]
            lowest = min(lowest - MIN_GAP, y(ms) + 4)
            yield f'<text x="{x(size) + 9:.1f}" y="{lowest:.1f}" fill="{colour[name]}">{name} {ms:.3g}</text>'
        yield "</svg>"

    return "\n".join(parts()) + "\n"
