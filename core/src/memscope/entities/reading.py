"""Read the names of each record, once: from a turn's words by rules, from a memory's words, subject and keywords."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from memscope.records import INJECTED, Insight, Observation, Record, Turn
from memscope.text.lexicon import lexicon
from memscope.text.names import FoundName, name_form, names
from memscope.text.topics import topics

USER_FORMS = frozenset({"user", "the user", "用户", "me", "i", "我"})


class ReadTurn(NamedTuple):
    key: str
    time: datetime
    agent: str | None
    session: str | None
    by_user: bool
    names: tuple[FoundName, ...]
    topics: frozenset[int]


class ReadMemory(NamedTuple):
    """``until``: it holds for readers before this time, None for ever. ``sources``: turns or observations."""

    id: str
    version: int
    insight: bool
    agent: str | None
    said: datetime
    until: datetime | None
    expires: datetime | None
    names: tuple[FoundName, ...]
    sources: tuple[str, ...]


class ReadRecords(NamedTuple):
    turns: dict[str, ReadTurn]
    memories: dict[str, ReadMemory]

    @property
    def size(self) -> int:
        return len(self.turns) + len(self.memories)


def read(page: Sequence[Record], into: ReadRecords, known: ReadRecords) -> None:
    """Read a page of records; names that ``known`` has of the same versions are taken from there."""
    for record in page:
        if isinstance(record, Turn):
            if record.role != "system" and INJECTED not in record.metadata:
                into.turns[record.key] = known.turns.get(record.key) or _read_turn(record)
        elif not record.proposed:
            old = known.memories.get(record.id)
            found = old.names if old and old.version == record.version else tuple(_names_of(record))
            into.memories[record.id] = _read_memory(record, found)


def _read_turn(turn: Turn) -> ReadTurn:
    where, told = turn.scope, turn.role == "user"
    return ReadTurn(turn.key, turn.time, where.agent, where.session, told, tuple(names(turn.text)), topics(turn.text))


def _read_memory(memory: Observation | Insight, found: tuple[FoundName, ...]) -> ReadMemory:
    until = None if memory.closed is None else memory.closed_said or memory.closed
    return ReadMemory(memory.id, memory.version, isinstance(memory, Insight), memory.scope.agent, memory.said, until,
                      memory.expires, found, memory.sources)  # fmt: skip


def _names_of(memory: Observation | Insight) -> Iterator[FoundName]:
    yield from (name for name in names(memory.text) if not name.role)
    if isinstance(memory, Insight):
        yield from _given(memory.subject, "person", 0)
        return
    yield from _given(memory.about, "person", 1)
    for keyword in memory.keywords:
        yield from _given(keyword, "topic" if keyword.islower() or not keyword.isascii() else "thing", 1)


def _given(name: str, kind: str, weight: int) -> Iterator[FoundName]:
    """Yield a name that a model gave, with the kind of the table where it is in there."""
    if name.strip() and name_form(name) not in USER_FORMS and len(name) <= 80:
        known = lexicon().english.get(name.casefold()) or lexicon().chinese.get(name)
        yield FoundName(name.strip(), known or kind, 0, weight + (known is not None))  # type: ignore[arg-type]
