"""Data for the SVG charts, which the server renders without script or inline styles, readable without colours."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from memscope.entities.results import Bucket, By
from memscope.records import FeatureValue

MIN_CONTRIBUTION = 0.005  # smaller contributions to the score are not shown
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
    """A bar of the timeline: its slot, its height in percent, and the first and last day of its bucket."""

    place: int
    height: float
    first: date
    last: date
    bucket: Bucket


@dataclass(frozen=True, slots=True)
class Reason:
    """A group of related ranking features of a hit, shown as one: the sum of their contributions, and each of them."""

    name: str
    contribution: float
    parts: Sequence[FeatureValue]


@dataclass(frozen=True, slots=True)
class Columns:
    slots: int
    columns: Sequence[Column]


def reasons(features: Sequence[FeatureValue]) -> list[Reason]:
    """Group features, largest contribution first. A plugin's feature forms a group of its own."""
    groups: dict[str, list[FeatureValue]] = {}
    for one in features:
        if abs(one.contribution) >= MIN_CONTRIBUTION:
            groups.setdefault(GROUP_OF_FEATURE.get(one.name, one.name), []).append(one)
    merged = [Reason(name, sum(part.contribution for part in parts), parts) for name, parts in groups.items()]
    return sorted(merged, key=lambda one: -one.contribution)


def columns(buckets: Sequence[Bucket], by: By) -> Columns:
    """Lay the buckets out on a time axis, with gaps where there are no turns."""
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
    """Return the last day of a bucket, at most ``date.max``."""
    days = monthrange(start.year, start.month)[1] if by == "month" else 7 if by == "week" else 1
    return date.fromordinal(min(start.toordinal() + days - 1, date.max.toordinal()))
