"""Comparison of two texts line by line, in time that grows with their lines and no faster.

A patience diff: lines that stand once in each text, in the longest run that is in order in both, are the same lines;
between two of them it begins anew. Where no line stands once in both, the old lines are gone and the new ones are new.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

MAX_SPLITS = 16  # of texts between lines between lines
Lines = Sequence[str]


def compare(old: Lines, new: Lines) -> list[tuple[str, str]]:
    """Return the lines of both in order: "-" for one that is gone, "+" for a new one, " " for one that stays."""
    return list(_compare(old, new, MAX_SPLITS))


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
    """Return the places of lines that stand once in each, in the longest run that is in order in both."""
    places = {line: at for at, line in enumerate(new)}
    in_old, in_new = Counter(old), Counter(new)
    pairs = [(at, places[line]) for at, line in enumerate(old) if in_old[line] == 1 == in_new.get(line, 0)]
    ends: list[int] = []  # by length of a run, the lowest place in ``new`` at which one ends
    last: list[int] = []  # the pair that it ends with
    before: list[int | None] = []
    for number, (_, at) in enumerate(pairs):
        length = bisect_left(ends, at)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1], last[length : length + 1] = [at], [number]
    run, number_ = [], last[-1] if last else None
    while number_ is not None:
        run.append(pairs[number_])
        number_ = before[number_]
    return run[::-1]
