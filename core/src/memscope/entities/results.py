"""Results of the operations on entities as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memscope.records import Insight, Observation, Turn

By: TypeAlias = Literal["day", "week", "month"]


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place, organisation, thing or topic. ``count`` is the number of turns that name it.

    ``score`` is the sum over these turns of 1/4 + 3/4 * 2 ** (-age in days / 90): a turn of today counts 1, one of
    three months ago 0.63, and none less than a quarter.
    """

    name: str
    kind: str
    aliases: tuple[str, ...]
    count: int
    first: datetime
    last: datetime
    score: float


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity that is named in the same turns; ``count`` of them."""

    name: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class EntityDetails:
    """Everything about one entity: current facts and insights, its newest turns and its nearest neighbours."""

    entity: Entity
    facts: tuple[Observation, ...]
    turns: tuple[Turn, ...]
    insights: tuple[Insight, ...]
    neighbours: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class EntityMention:
    """One entity named in one turn."""

    name: str
    kind: str
    time: datetime
    turn: str
    agent: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rank of an entity by its turns in a bucket, and in the bucket before that had turns (None: not named there)."""

    name: str
    count: int
    rank: int
    before: int | None


@dataclass(frozen=True, slots=True)
class Bucket:
    """A day, week or month with turns, from ``start`` on. ``burst``: more turns than chance explains."""

    start: datetime
    count: int
    burst: bool
    top: tuple[Ranked, ...]


@dataclass(frozen=True, slots=True)
class Theme:
    """An everyday topic of at least three turns, in the buckets from ``first`` to ``last``; ``over``: not since."""

    name: str
    count: int
    first: datetime
    last: datetime
    over: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """Turns per day, week or month; buckets without turns are left out."""

    by: By
    entity: Entity | None
    buckets: tuple[Bucket, ...]
    themes: tuple[Theme, ...]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An entity; ``distance`` in edges from the nearest one that was asked for."""

    name: str
    kind: str
    count: int
    distance: int


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """Two entities: named together in ``count`` turns, or related by the fact ``id`` with its ``words``."""

    source: str
    target: str
    kind: Literal["together", "fact"]
    count: int = 1
    id: str = ""
    words: str = ""
