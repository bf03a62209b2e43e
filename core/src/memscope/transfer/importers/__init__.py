"""Importers: memory of other systems as items, written through the same edge as everything else.

An importer is a function from the sources a user names (paths, or an object of the other system) to items; it is
registered by name (``memscope_register_importers``) and reads lazily, so that a source of any size fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from memscope.records import Interval, Json


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    """A message as ``add_turns`` takes it. ``user`` is its owner where the source knows one."""

    turn: Mapping[str, Any]
    user: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory of the other system under its ``id``, unique within the source.

    ``source`` is the message that it rests on; without one the memory's own words are its statement. ``closed`` is when
    it ceased to hold, ``superseded_by`` the id of its successor. With a ``subject`` it is an insight.
    """

    id: str
    text: str
    said: datetime
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    source: Mapping[str, Any] | None = None
    closed: datetime | None = None
    superseded_by: str | None = None
    happened: Interval | None = None
    subject: str | None = None
    name: str | None = None
    namespace: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedBlock:
    """A block of core memory; a ``limit`` below the length of its value is raised to it."""

    label: str
    value: str
    user: str | None = None
    agent: str | None = None
    limit: int = 0
    description: str = ""
    read_only: bool = False
    order: int = 0


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Something in the source that memory has no place for: counted by its ``reason``."""

    reason: str
    number: int = 1


Item: TypeAlias = ImportedTurn | ImportedMemory | ImportedBlock | NotTaken
Importer: TypeAlias = Callable[[Sequence[Any]], Iterable[Item]]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts of an import. ``not_taken`` maps a reason to a number; ``dry_run``: nothing was written."""

    turns: int
    observations: int
    insights: int
    known: int
    forgotten: int
    users: int
    not_taken: Mapping[str, int]
    dry_run: bool = False
    blocks: int = 0


def time_of(value: object) -> datetime | None:
    """Return a time with a zone from seconds or milliseconds since 1970, or ISO 8601 text; None for anything else."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
