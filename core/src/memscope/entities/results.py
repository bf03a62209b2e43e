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

    ``score`` is the sum over these turns of 1/4 + 3/4 * 2 ** (-age in days / 90): a turn from today counts 1, one from
    three months ago 0.63, and none below a quarter.
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
    """An entity named in the same turns; ``count`` is their number."""

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
    """Rank of an entity by its turns in a bucket and in the previous bucket with turns (None: not named there)."""

    name: str
    count: int
    rank: int
    before: int | None


@dataclass(frozen=True, slots=True)
class Bucket:
    """A day, week or month with turns that begins at ``start``. ``burst``: more turns than chance explains."""

    start: datetime
    count: int
    burst: bool
    top: tuple[Ranked, ...]


@dataclass(frozen=True, slots=True)
class Theme:
    """An everyday topic of at least three turns, from bucket ``first`` to ``last``; ``over``: it has ended since."""

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
    """An entity; ``distance`` is its number of edges from the nearest requested one."""

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
