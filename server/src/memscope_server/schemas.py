"""Pydantic models of the API's requests and responses, from which the OpenAPI description is generated."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, model_validator

from memscope.entities.results import Entity, Neighbour
from memscope.errors import nearest
from memscope.records import BLOCK_LIMIT, Kind, Record, Retrieval, Role
from memscope.stores.rules import record_id
from memscope.text.surrogates import joined
from memscope.validation import MEMORY_KINDS
from memscope_server.listing import kind_of, said_of

MAX_FIELDS = 64
MAX_PARTS = 1000  # of a message
MAX_REQUEST_VALUES = 50_000


def _limit_values(value: Any) -> Any:
    """Refuse JSON with more than ``MAX_REQUEST_VALUES`` nested values before the slower validation of each."""
    waiting, count = [value], 0
    while waiting:
        one = waiting.pop()
        inner = list(one.values() if isinstance(one, dict) else one) if isinstance(one, dict | list) else []
        count += len(inner)
        if count > MAX_REQUEST_VALUES:
            raise ValueError(f"more than {MAX_REQUEST_VALUES} values")
        waiting += [part for part in inner if isinstance(part, dict | list)]
    return value


def _written_time(value: Any) -> Any:
    """Refuse text that is a number: pydantic would read the year "2020" as seconds since 1970."""
    try:
        float(value if isinstance(value, str) else "no")
    except ValueError:
        return value
    raise ValueError("a number is no time; write it as 2026-03-01T10:00+01:00")


def _end_of_day(value: Any) -> Any:
    """Read a date as the midnight at which that day ends."""
    try:
        return datetime.combine(date.fromisoformat(value if len(value) == 10 else "") + timedelta(days=1), time())
    except (TypeError, ValueError, OverflowError):
        return _written_time(value)


def _whole(value: Any) -> Any:
    """Repair lone surrogates as the core does: JavaScript sends them for an emoji that was cut in two."""
    return joined(value) if isinstance(value, str) else value


Moment = Annotated[datetime, BeforeValidator(_written_time)]
Until = Annotated[datetime, BeforeValidator(_end_of_day)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_limit_values)]
Ids = Annotated[list[str], Field(max_length=10_000, fail_fast=True)]
Version = Annotated[int, Field(ge=0, le=2**63 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=256)]
Words = Annotated[str, BeforeValidator(_whole), Field(max_length=2**20)]
Writer = Literal["person", "model", "backend"]
EntityKind = Literal["person", "place", "organisation", "thing", "topic"]


class RequestBody(BaseModel):
    """Base of request bodies: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_fields(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > MAX_FIELDS:
            raise ValueError(f"more than {MAX_FIELDS} fields")
        if isinstance(value, dict) and (unknown := next((key for key in value if key not in cls.model_fields), None)):
            shown = unknown[:40]
            raise ValueError(f"unknown field {shown!r}; {nearest(shown, cls.model_fields)}")
        return value


class ContentPart(BaseModel):
    """A part of a message. The texts of its parts are joined by line ends; parts without text are counted only."""

    type: str = "text"
    text: Words | None = None


class TurnIn(RequestBody):
    role: Literal["user", "assistant", "system", "tool", "person"]
    content: Words | Annotated[list[ContentPart], Field(max_length=MAX_PARTS, fail_fast=True)]
    speaker: Name | None = None
    time: Moment | None = None
    id: Name | None = None
    session: Name | None = None
    metadata: JsonObject = {}


class TurnsIn(RequestBody):
    turns: Annotated[list[TurnIn], Field(min_length=1, max_length=10_000, fail_fast=True)]
    agent: Name | None = None
    session: Name | None = None
    replay: bool = False
    zone: str | None = None


class MemoryIn(RequestBody):
    text: Words
    agent: Name | None = None
    session: Name | None = None
    kind: Literal["observation", "insight"] = "observation"
    subject: str = ""
    name: Name | None = None
    namespace: Name | None = None
    data: JsonObject | None = None
    expires: Moment | None = None
    time: Moment | None = None
    speaker: Name | None = None
    role: Role = "user"
    zone: str | None = None


class MemoryChange(RequestBody):
    text: Words | None = None
    data: JsonObject | None = None
    expires: Moment | None = None
    version: Version | None = None


class QuestionIn(RequestBody):
    query: Annotated[str, BeforeValidator(_whole), Field(max_length=32 * 1024)]
    agent: Name | None = None
    session: Name | None = None
    k: Annotated[int, Field(ge=1, le=100)] = 10
    as_of: Moment | None = None
    exclude: Ids = []
    filter: JsonObject | None = None
    kinds: Annotated[list[Kind], Field(max_length=len(MEMORY_KINDS))] | None = None
    zone: str | None = None


class RetrieveIn(QuestionIn):
    explain: bool = False


class ContextIn(QuestionIn):
    tokens: Annotated[int, Field(ge=1, le=100_000)] = 1000
    lines: Literal["memories", "turns"] = "memories"
    assemble: bool = False


class ForgetIn(RequestBody):
    agent: Name | None = None
    session: Name | None = None
    ids: Ids | None = None
    since: Moment | None = None
    until: Until | None = None
    text: str | None = None
    name: Name | None = None
    namespace: Name | None = None
    filter: JsonObject | None = None
    everything: StrictBool = False
    dry_run: bool = False


class ChatIn(RequestBody):
    text: Words
    agent: Name | None = None
    session: Name | None = None
    persona: Words | None = None


class AuditIn(RequestBody):
    ask: int
    preview: bool = False


class IdsIn(RequestBody):
    ids: Annotated[list[str], Field(min_length=1, max_length=1000, fail_fast=True)]


class BlockIn(RequestBody):
    label: Name
    value: Words = ""
    agent: Name | None = None
    limit: Annotated[int, Field(ge=1, le=100_000)] = BLOCK_LIMIT
    description: str = ""
    read_only: bool = False
    order: int = 0
    reason: str = ""
    author: Writer = "person"


class BlockChange(RequestBody):
    agent: Name | None = None
    limit: Annotated[int, Field(ge=1, le=100_000)] | None = None
    description: str | None = None
    read_only: bool | None = None
    order: int | None = None
    reason: str = ""
    author: Writer = "person"


class BlockEdit(RequestBody):
    """An edit of a block. ``old`` is for replace; ``line`` is for insert, 1 for the first line and -1 for the end."""

    operation: Literal["append", "replace", "remove", "insert", "rethink"]
    text: Words
    old: Words = ""
    line: int = -1
    agent: Name | None = None
    reason: str = ""
    author: Writer = "person"
    sources: Ids = []
    version: Version | None = None


class BlockRevert(RequestBody):
    version: Version
    agent: Name | None = None
    reason: str = ""


class OtherName(RequestBody):
    other: Name
    agent: Name | None = None


class Problem(BaseModel):
    """The body of every error response, as ``application/problem+json`` (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str


class ResponsePart(BaseModel):
    """Base of response parts that are built from an object with the same attributes."""

    model_config = ConfigDict(from_attributes=True)


class Period(ResponsePart):
    start: datetime
    end: datetime


class QuoteOut(ResponsePart):
    turn: str
    text: str


class SentenceOut(ResponsePart):
    """A sentence of an insight, with the ids of the observations that it rests on."""

    text: str
    sources: list[str]


class RecordOut(ResponsePart):
    """A turn, an observation or an insight. ``time`` is when it was said; ``sources`` are ids it is derived from."""

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
    sentences: list[SentenceOut] = []
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


class FeatureOut(ResponsePart):
    """One feature of a hit's score: contribution = value x weight."""

    name: str
    value: float
    weight: float
    contribution: float


RecordField = Annotated[RecordOut, BeforeValidator(lambda record: record_of(record))]


class HitOut(ResponsePart):
    id: str
    text: str
    time: datetime
    score: float
    found_by: list[str]
    changed: datetime | None
    turn: RecordField | None
    insight: RecordField | None
    observations: list[RecordField]
    superseded: list[RecordField]
    features: list[FeatureOut]


class LeftOutOut(ResponsePart):
    """A record that matched the query and was left out of the hits."""

    id: str
    why: Literal["superseded", "expired", "proposed", "equal"]


class RetrievalOut(ResponsePart):
    """The hits, best first. Without hits, ``reason`` explains why and ``why`` is its code."""

    hits: list[HitOut]
    profile: list[HitOut]
    reason: str
    why: str | None
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
    """An entity with its current facts and insights, newest turns and closest neighbours."""

    entity: Entity
    facts: list[RecordOut]
    turns: list[RecordOut]
    insights: list[RecordOut]
    neighbours: list[Neighbour]


class RecordsOut(BaseModel):
    """A page of records, newest first; ``next`` is the ``after`` of the following page, null on the last one."""

    records: list[RecordOut]
    next: str | None


def record_of(record: Record) -> RecordOut:
    """Convert a record to its JSON shape."""
    scope = record.scope
    values = {name: getattr(record, name) for name in RecordOut.model_fields if hasattr(record, name)}
    return RecordOut(**{
        "current": True, **values, "kind": kind_of(record), "id": record_id(record), "time": said_of(record),
        "user": scope.user, "agent": scope.agent, "session": scope.session,
    })  # fmt: skip


def retrieval_of(retrieval: Retrieval) -> RetrievalOut:
    return RetrievalOut.model_validate(retrieval)
