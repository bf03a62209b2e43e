"""Timeline: turns per day, week or month, with bursts, themes that come and go, and rank changes.

A bucket is a burst if it has at least three turns and that many are improbable: under a Poisson distribution with the
mean of all other buckets between the first and the last, below 5 % divided by the number of buckets (Bonferroni). A
theme is an everyday topic (``text.topics``) in at least three turns with at most two empty buckets in between.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import tzinfo

from memscope.dates.calendar import number_of, start_of
from memscope.entities.index import EntityIndex, Node
from memscope.entities.results import Bucket, By, Entity, Ranked, Theme, Timeline
from memscope.records import in_zone
from memscope.text.topics import names as topic_names

MAX_CHANCE_PROBABILITY = 0.05
MIN_BURST_TURNS = 3  # of a burst, and of a theme
MAX_EMPTY_BUCKETS = 2  # in a row inside a theme
ENTITIES_PER_BUCKET = 5  # ranked per bucket


def timeline(index: EntityIndex, node: Node | None, entity: Entity | None, by: By, zone: tzinfo) -> Timeline:
    places = index.living() if node is None else node.turns
    turns: dict[int, list[int]] = defaultdict(list)
    for place in places:
        turns[number_of(by, in_zone(index.turns[place].time, zone))].append(place)
    bursts = burst_numbers({number: len(named) for number, named in turns.items()})
    buckets: list[Bucket] = []
    before: dict[str, int] = {}
    for number in sorted(turns):
        ranks = _ranked(index, node, turns[number], before)
        start, top = start_of(by, number).replace(tzinfo=zone), tuple(ranks[:ENTITIES_PER_BUCKET])
        buckets.append(Bucket(start, len(turns[number]), number in bursts, top))
        before = {one.name: one.rank for one in ranks}
    return Timeline(by, entity, tuple(buckets), tuple(_themes(index, turns, by, zone)))


def burst_numbers(counts: Mapping[int, int]) -> set[int]:
    """Return the buckets with more turns than chance explains; empty buckets in between count as buckets."""
    if not counts:
        return set()
    buckets, total = max(counts) - min(counts) + 1, sum(counts.values())
    if buckets < 3:
        return set()
    return {
        number for number, count in counts.items()
        if count >= MIN_BURST_TURNS and _tail(count, (total - count) / (buckets - 1)) < MAX_CHANCE_PROBABILITY / buckets
    }  # fmt: skip


def _tail(count: int, mean: float) -> float:
    """Return the probability of ``count`` or more under a Poisson distribution."""
    if mean <= 0:
        return 0.0
    if count <= mean:
        return 1.0
    likelihood = math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
    total = 0.0
    while likelihood > 1e-12 * max(total, 1e-300):
        total += likelihood
        count += 1
        likelihood *= mean / count
    return total


def _ranked(index: EntityIndex, node: Node | None, places: Sequence[int], before: Mapping[str, int]) -> list[Ranked]:
    counts = Counter(number for place in places for number in index.named(place) if index.nodes[number] is not node)
    ordered = sorted(counts, key=lambda number: (-counts[number], index.nodes[number].name))
    counted = [(index.nodes[number].name, counts[number]) for number in ordered]
    return [Ranked(name, count, rank, before.get(name)) for rank, (name, count) in enumerate(counted, 1)]


def _themes(index: EntityIndex, turns: Mapping[int, Sequence[int]], by: By, zone: tzinfo) -> list[Theme]:
    numbers: dict[int, list[int]] = defaultdict(list)
    for number in sorted(turns):
        for place in turns[number]:
            for topic in index.turns[place].topics:
                numbers[topic].append(number)
    newest, names = max(turns, default=0), topic_names()
    themes: list[Theme] = []
    for topic, places in numbers.items():
        for run in (run for run in _runs(places) if len(run) >= MIN_BURST_TURNS):
            first, last = (start_of(by, number).replace(tzinfo=zone) for number in (run[0], run[-1]))
            themes.append(Theme(names[topic], len(run), first, last, newest - run[-1] > MAX_EMPTY_BUCKETS))
    return sorted(themes, key=lambda theme: (theme.first, -theme.count, theme.name))


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Split the bucket numbers into runs without a larger gap than allowed."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number - runs[-1][-1] <= MAX_EMPTY_BUCKETS + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs
