"""Importers: memory of other systems as items, validated and redacted like all other input.

An importer is a function from sources (paths, or objects of the other system) to items. It is registered by name
(``memscope_register_importers``) and reads lazily, so that a source may have any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from memscope.records import Interval, Json, Role


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    """A message as ``add_turns`` takes it. ``user``: its owner, if the source names one."""

    turn: Mapping[str, Any]
    user: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory of the other system under its ``id``, unique within the source.

    ``source`` is the message it was derived from; without one its text becomes a statement. ``closed`` is when it
    ceased to hold, ``superseded_by`` the id of its successor. With a ``subject`` it is an insight.
    ``role`` is the speaker's role.
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
    role: Role = "user"


@dataclass(frozen=True, slots=True)
class ImportedBlock:
    """A block of core memory; a ``limit`` below the length of its value is raised to that length."""

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
    """A skipped part of the source, counted by ``reason``."""

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
    """Parse seconds or milliseconds since 1970, or ISO 8601 text, as a time with a zone; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(time, datetime):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
