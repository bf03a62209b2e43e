"""Charts as numbers for SVG. The server draws them: no script, no inline style, readable without colours."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from memscope.entities.results import Bucket, By
from memscope.records import FeatureValue

MIN_CONTRIBUTION = 0.005  # below it a feature says nothing
FEATURE_GROUPS = {
    "words": ("covered", "rare"),
    "around": ("window", "wide", "session", "answers"),
    "size": ("length", "short"),
    "near": ("meaning", "cosine", "topic"),
    "time": ("period", "after", "event", "dated", "recent"),
    "oneself": ("first_person", "lasting", "kind", "user"),
}
GROUP_OF_FEATURE = {name: group for group, names in FEATURE_GROUPS.items() for name in names}


@dataclass(frozen=True, slots=True)
class Column:
    """One bucket: its place, its height in percent, and its first and last day."""

    place: int
    height: float
    first: date
    last: date
    bucket: Bucket


@dataclass(frozen=True, slots=True)
class Reason:
    """Features of a hit that say the same in several ways, as one: their sum, and the parts."""

    name: str
    contribution: float
    parts: Sequence[FeatureValue]


@dataclass(frozen=True, slots=True)
class Columns:
    slots: int
    columns: Sequence[Column]


def reasons(features: Sequence[FeatureValue]) -> list[Reason]:
    """Return the features by groups, the strongest first; a feature of a plugin is a group of its own."""
    groups: dict[str, list[FeatureValue]] = {}
    for one in features:
        if abs(one.contribution) >= MIN_CONTRIBUTION:
            groups.setdefault(GROUP_OF_FEATURE.get(one.name, one.name), []).append(one)
    merged = [Reason(name, sum(one.contribution for one in parts), parts) for name, parts in groups.items()]
    return sorted(merged, key=lambda one: -one.contribution)


def columns(buckets: Sequence[Bucket], by: By) -> Columns:
    """Return the buckets at their places in time; those without turns are gaps."""
    places = [_slot(one.start, by) for one in buckets]
    most = max((one.count for one in buckets), default=1)
    drawn = [
        Column(place - places[0], max(2.0, 100 * one.count / most), one.start.date(), _last_day(one.start, by), one)
        for place, one in zip(places, buckets, strict=True)
    ]
    return Columns(places[-1] - places[0] + 1 if places else 0, drawn)


def _slot(start: datetime, by: By) -> int:
    if by == "month":
        return start.year * 12 + start.month
    return start.toordinal() // (7 if by == "week" else 1)


def _last_day(start: datetime, by: By) -> date:
    """Return the last day of a bucket, at most the last one of the calendar."""
    days = monthrange(start.year, start.month)[1] if by == "month" else 7 if by == "week" else 1
    return date.fromordinal(min(start.toordinal() + days - 1, date.max.toordinal()))
