"""Shapes of the JSON that the API takes and gives: pydantic models, so that OpenAPI says all of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memscope.entities.results import Entity, Neighbour
from memscope.records import BLOCK_LIMIT, Hit, Insight, Interval, Kind, Observation, Record, Retrieval, Turn

Name = Annotated[str, Field(min_length=1, max_length=256)]
Words = Annotated[str, Field(max_length=2**20)]
Writer = Literal["person", "model", "backend"]
EntityKind = Literal["person", "place", "organisation", "thing", "topic"]


class Given(BaseModel):
    """A request: unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid")


class TurnIn(Given):
    role: Literal["user", "assistant", "system", "tool", "person"]
    content: Words
    speaker: Name | None = None
    time: datetime | None = None
    id: Name | None = None
    session: Name | None = None
    metadata: dict[str, Any] = {}


class TurnsIn(Given):
    turns: Annotated[list[TurnIn], Field(min_length=1, max_length=10_000)]
    agent: Name | None = None
    session: Name | None = None
    replay: bool = False
    zone: str | None = None


class MemoryIn(Given):
    text: Words
    agent: Name | None = None
    session: Name | None = None
    kind: Literal["observation", "insight"] = "observation"
    subject: str = ""
    name: Name | None = None
    namespace: Name | None = None
    data: dict[str, Any] | None = None
    expires: datetime | None = None
    time: datetime | None = None
    speaker: Name | None = None
    zone: str | None = None


class MemoryChange(Given):
    text: Words | None = None
    data: dict[str, Any] | None = None
    expires: datetime | None = None
    version: int | None = None


class QuestionIn(Given):
    query: Annotated[str, Field(max_length=32 * 1024)]
    agent: Name | None = None
    session: Name | None = None
    k: Annotated[int, Field(ge=1, le=100)] = 10
    as_of: datetime | None = None
    exclude: list[str] = []
    filter: dict[str, Any] | None = None
    kinds: list[Kind] | None = None
    zone: str | None = None


class RetrieveIn(QuestionIn):
    explain: bool = False


class ContextIn(QuestionIn):
    tokens: Annotated[int, Field(ge=1, le=100_000)] = 1000
    lines: Literal["memories", "turns"] = "memories"
    assemble: bool = False


class ForgetIn(Given):
    agent: Name | None = None
    session: Name | None = None
    ids: list[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None
    name: Name | None = None
    namespace: Name | None = None
    filter: dict[str, Any] | None = None
    everything: bool = False
    dry_run: bool = False


class ChatIn(Given):
    text: Words
    agent: Name | None = None
    session: Name | None = None
    persona: Words | None = None


class IdsIn(Given):
    ids: Annotated[list[str], Field(min_length=1, max_length=1000)]


class BlockIn(Given):
    label: Name
    value: Words = ""
    agent: Name | None = None
    limit: Annotated[int, Field(ge=1, le=100_000)] = BLOCK_LIMIT
    description: str = ""
    read_only: bool = False
    order: int = 0
    reason: str = ""
    author: Writer = "person"


class BlockChange(Given):
    agent: Name | None = None
    limit: Annotated[int, Field(ge=1, le=100_000)] | None = None
    description: str | None = None
    read_only: bool | None = None
    order: int | None = None
    reason: str = ""
    author: Writer = "person"


class BlockEdit(Given):
    """``old`` is for replace, ``line`` for insert: 1 is the first, -1 the end."""

    operation: Literal["append", "replace", "remove", "insert", "rethink"]
    text: Words
    old: Words = ""
    line: int = -1
    agent: Name | None = None
    reason: str = ""
    author: Writer = "person"
    sources: list[str] = []
    version: int | None = None


class BlockRevert(Given):
    version: int
    agent: Name | None = None
    reason: str = ""


class OtherName(Given):
    other: Name
    agent: Name | None = None


class Problem(BaseModel):
    """Every error, as ``application/problem+json`` (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str


class Period(BaseModel):
    start: datetime
    end: datetime


class QuoteOut(BaseModel):
    turn: str
    text: str


class RecordOut(BaseModel):
    """A turn, an observation or an insight. ``time`` is when it was said; ``sources`` are ids of what it rests on."""

    kind: Kind
    id: str
    user: str
    agent: str | None
    session: str | None
    text: str
    time: datetime
    recorded: datetime
    current: bool
    role: str | None = None
    speaker: str | None = None
    metadata: dict[str, Any] = {}
    about: str | None = None
    subject: str | None = None
    keywords: list[str] = []
    sources: list[str] = []
    quotes: list[QuoteOut] = []
    happened: Period | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    closed: datetime | None = None
    superseded_by: str | None = None
    version: int = 1
    origin: str | None = None
    proposed: bool = False
    name: str | None = None
    namespace: str | None = None
    data: dict[str, Any] = {}
    expires: datetime | None = None


class FeatureOut(BaseModel):
    """One line of ``explain``: contribution = value x weight."""

    name: str
    value: float
    weight: float
    contribution: float


class HitOut(BaseModel):
    id: str
    text: str
    time: datetime
    score: float
    found_by: list[str]
    changed: datetime | None
    turn: RecordOut | None
    insight: RecordOut | None
    observations: list[RecordOut]
    superseded: list[RecordOut]
    features: list[FeatureOut]


class LeftOutOut(BaseModel):
    """A record that was found and is not shown."""

    id: str
    why: Literal["superseded", "expired", "proposed", "equal"]


class RetrievalOut(BaseModel):
    """The hits, best first; ``reason`` says why there are none."""

    hits: list[HitOut]
    profile: list[HitOut]
    reason: str
    notes: list[str]
    considered: int
    left_out: list[LeftOutOut]
    explanation: str


class TextOut(BaseModel):
    text: str


class CountOut(BaseModel):
    count: int


class Me(BaseModel):
    role: Literal["user", "operator"]
    user: str | None
    agent: str | None


class Health(BaseModel):
    status: Literal["ok"]
    version: str


class UsersOut(BaseModel):
    users: list[str]


class EntityOut(BaseModel):
    """One entity with its current facts and insights, newest turns and nearest neighbours."""

    entity: Entity
    facts: list[RecordOut]
    turns: list[RecordOut]
    insights: list[RecordOut]
    neighbours: list[Neighbour]


class RecordsOut(BaseModel):
    """Records, newest first; ``more`` where there are further ones."""

    records: list[RecordOut]
    more: bool


def interval_of(value: Interval | None) -> Period | None:
    return None if value is None else Period(start=value.start, end=value.end)


def record_of(record: Record) -> RecordOut:
    """Return a record as the API gives it."""
    scope = record.scope
    shared: dict[str, Any] = {
        "user": scope.user, "agent": scope.agent, "session": scope.session, "text": record.text,
        "recorded": record.recorded,
    }  # fmt: skip
    if isinstance(record, Turn):
        return RecordOut(kind="turn", id=record.key, time=record.time, current=True, role=record.role,
                         speaker=record.speaker, metadata=dict(record.metadata), **shared)  # fmt: skip
    names = ("valid_from", "valid_to", "closed", "superseded_by", "version", "origin", "proposed", "name", "namespace",
             "expires", "current", "id")  # fmt: skip
    shared |= {name: getattr(record, name) for name in names}
    shared |= {"time": record.said, "sources": list(record.sources), "data": dict(record.data)}
    if isinstance(record, Insight):
        return RecordOut(kind="insight", subject=record.subject, happened=interval_of(record.happened), **shared)
    return _observation(record, shared)


def _observation(record: Observation, shared: Mapping[str, Any]) -> RecordOut:
    quotes = [QuoteOut(turn=quote.turn, text=quote.text) for quote in record.quotes]
    return RecordOut(kind="observation", about=record.about, keywords=list(record.keywords), quotes=quotes,
                     happened=interval_of(record.happened), **shared)  # fmt: skip


def hit_of(hit: Hit) -> HitOut:
    features = [FeatureOut(name=one.name, value=float(one.value), weight=float(one.weight),
                           contribution=float(one.contribution)) for one in hit.features]  # fmt: skip
    return HitOut(
        id=hit.id,
        text=hit.text,
        time=hit.time,
        score=float(hit.score),
        found_by=list(hit.found_by),
        changed=hit.changed,
        turn=hit.turn and record_of(hit.turn),
        insight=hit.insight and record_of(hit.insight),
        observations=list(map(record_of, hit.observations)),
        superseded=list(map(record_of, hit.superseded)),
        features=features,
    )


def retrieval_of(found: Retrieval) -> RetrievalOut:
    return RetrievalOut(
        hits=list(map(hit_of, found.hits)),
        profile=list(map(hit_of, found.profile)),
        reason=found.reason,
        notes=list(found.notes),
        considered=found.considered,
        left_out=[LeftOutOut(id=out.id, why=out.why) for out in found.left_out],
        explanation=found.explanation,
    )
