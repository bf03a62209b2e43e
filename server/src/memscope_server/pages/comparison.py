"""Line diff of two texts in near-linear time, so that no text can stall the server.

A patience diff: lines that are unique in both texts, in their longest common order, are anchors, and the texts between
two anchors are compared recursively. Without anchors, all old lines count as removed and all new ones as added.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

MAX_RECURSION_DEPTH = 16  # depth of the recursion between anchors
Lines = Sequence[str]


def compare(old: Lines, new: Lines) -> list[tuple[str, str]]:
    """Return the lines of both texts in order, marked "-" (removed), "+" (added) or " " (unchanged)."""
    return list(_compare(old, new, MAX_RECURSION_DEPTH))


def _compare(old: Lines, new: Lines, depth: int) -> Iterator[tuple[str, str]]:
    shortest = min(len(old), len(new))
    head = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    tail = next((at for at in range(shortest - head) if old[-1 - at] != new[-1 - at]), shortest - head)
    yield from ((" ", line) for line in new[:head])
    yield from _compare_middle(old[head : len(old) - tail], new[head : len(new) - tail], depth)
    yield from ((" ", line) for line in new[len(new) - tail :])


def _compare_middle(old: Lines, new: Lines, depth: int) -> Iterator[tuple[str, str]]:
    same = _anchors(old, new) if depth else []
    if not same:
        yield from (("-", line) for line in old)
        yield from (("+", line) for line in new)
        return
    begin_old = begin_new = 0
    for at_old, at_new in [*same, (len(old), len(new))]:
        yield from _compare(old[begin_old:at_old], new[begin_new:at_new], depth - 1)
        yield from ((" ", line) for line in new[at_new : at_new + 1])
        begin_old, begin_new = at_old + 1, at_new + 1


def _anchors(old: Lines, new: Lines) -> list[tuple[int, int]]:
    """Find the lines that are unique in both texts and return the indexes of their longest common subsequence."""
    places = {line: at for at, line in enumerate(new)}
    in_old, in_new = Counter(old), Counter(new)
    pairs = [(at, places[line]) for at, line in enumerate(old) if in_old[line] == 1 == in_new.get(line, 0)]
    ends: list[int] = []  # by run length - 1: the lowest index in ``new`` at which such a run ends
    last: list[int] = []  # by run length - 1: the pair at the end of that run
    before: list[int | None] = []  # by pair: its predecessor in the longest run that ends with it
    for number, (_, at) in enumerate(pairs):
        length = bisect_left(ends, at)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1], last[length : length + 1] = [at], [number]
    run, number_ = [], last[-1] if last else None
    while number_ is not None:
        run.append(pairs[number_])
        number_ = before[number_]
    return run[::-1]
