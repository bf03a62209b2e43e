"""Stored records: turns, the memories derived from them, and blocks. Times are zone-aware, text is kept verbatim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal, TypeAlias

from memscope.records import printing

Handle: TypeAlias = str | int  # an id, or a handle from the store's search
Json: TypeAlias = Any  # None, bool, int, float, str, lists and dicts of these
Role = Literal["user", "assistant", "system", "tool", "person"]
Kind = Literal["turn", "observation", "insight"]
Stage = Literal["embed", "consolidate", "reflect"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool", "person")
# namespace of session summaries: shown with the window, never search results
SUMMARY_NAMESPACE = "memscope.summary"
CORRECTIONS = "memscope.entities"  # namespace of manual merges and splits of entities: never search results
CORRECTED = "correction"  # origin of a memory that a person rewrote
MACHINE_ROLES = frozenset({"assistant", "system", "tool"})  # their words are not statements of a person
INJECTED = "memscope_injected"  # metadata key of turns with injected memory: nothing is learned from them

Author = Literal["person", "model", "backend", "operator"]
AUTHORS: tuple[Author, ...] = ("person", "model", "backend", "operator")
BlockKey: TypeAlias = tuple[str | None, str]  # agent and label, unique per user
BLOCK_LIMIT = 2000  # default limit in characters
BLOCK_ORDERS = range(-1000, 1001)
BLOCK_LABEL = r"^\w[\w.-]{0,63}$"


def in_zone(when: datetime, zone: tzinfo | None) -> datetime:
    """Convert a time to a zone, None for the system's; leave it unchanged at the ends of the calendar."""
    try:
        return when.astimezone(zone)
    except OverflowError:
        return when


def days_after(when: datetime, days: int) -> datetime:
    """Add days to a time, clamped to the range of the calendar."""
    try:
        return when + timedelta(days=days)
    except OverflowError:
        return (datetime.max if days > 0 else datetime.min).replace(tzinfo=when.tzinfo)  # noqa: DTZ901


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of a record. Users are isolated; ``agent`` and ``session`` name its origin, or narrow a read."""

    user: str
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """A time interval ``[start, end)``."""

    start: datetime
    end: datetime

    def __contains__(self, when: datetime) -> bool:
        return self.start <= when < self.end

    def overlaps(self, other: Interval) -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as it was said. ``key`` is unique per user; ``seq`` is its place in the user's memory (from 1)."""

    key: str
    scope: Scope
    role: Role
    speaker: str
    text: str
    time: datetime
    recorded: datetime
    metadata: Mapping[str, Json] = field(default_factory=dict)
    statement: bool = False
    seq: int = 0
    __repr__ = printing.turn


@dataclass(frozen=True, slots=True)
class Quote:
    """The words of a source turn from which a memory was derived."""

    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A record derived from turns. It is superseded (``closed``), never overwritten.

    ``happened`` is the interval it is about, ``valid_from``/``valid_to`` its validity in the world,
    ``recorded``/``closed`` its validity in the store. ``said`` is the time of its newest source, ``closed_said`` the
    time of the statement that closed it. An open memory with a ``valid_to`` in the future ends on that day.
    """

    id: str
    scope: Scope
    text: str
    sources: tuple[str, ...]
    said: datetime
    recorded: datetime
    happened: Interval | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    open_valid_to: datetime | None = None  # of a closed memory: its ``valid_to`` before
    closed: datetime | None = None
    closed_said: datetime | None = None
    superseded_by: str | None = None
    announces: tuple[str, ...] = ()  # memories whose end it announced, as their ``valid_to``
    announced_by: str | None = None  # the memory that announced ``valid_to``
    version: int = 1
    origin: str = "consolidate"  # of a fact: the speaker's role, or how it was made (CORRECTED: by hand)
    proposed: bool = False
    name: str | None = None
    namespace: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    expires: datetime | None = None
    __repr__ = printing.memory

    @property
    def by_machine(self) -> bool:
        """True if no person said it: the model noted it by a tool, or a machine's role may state facts."""
        return self.origin in MACHINE_ROLES

    @property
    def current(self) -> bool:
        return self.closed is None and not self.proposed

    def expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now

    def ended(self, now: datetime) -> bool:
        """True if its announced end has passed; memories about the past have no announced end."""
        return self.closed is None and self.valid_to is not None and self.said < self.valid_to <= now


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Observation(Memory):
    """A dated fact taken from turns. ``sources`` are turn keys; ``level`` is the 0-3 informativeness scale."""

    about: str = "user"
    quotes: tuple[Quote, ...] = ()
    keywords: tuple[str, ...] = ()
    level: int = 3
    fiction: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an insight, and the ids of the observations that it rests on."""

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Insight(Memory):
    """A summary of several observations about one subject. ``sources`` are observation ids.

    ``text`` is the subject and the ``sentences``. Without sentences it was written by a person or an earlier memscope.
    """

    subject: str
    sentences: tuple[Sentence, ...] = ()


Record: TypeAlias = Turn | Observation | Insight


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One version of a block. Without an agent in its scope it belongs to all agents of the user.

    ``limit`` is in characters, ``description`` tells the model its purpose, ``order`` is its position in the context.
    ``author`` wrote this version at ``recorded`` for a ``reason``; ``sources`` are the turns and memories of this edit.
    Version 0 is a default or comes from the settings, and is not stored.
    """

    scope: Scope
    label: str
    recorded: datetime
    value: str = ""
    limit: int = BLOCK_LIMIT
    description: str = ""
    read_only: bool = False
    order: int = 0
    version: int = 0
    author: Author = "person"
    reason: str = ""
    sources: tuple[str, ...] = ()

    @property
    def key(self) -> BlockKey:
        return self.scope.agent, self.label
