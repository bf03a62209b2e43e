"""Read the names in each record once: in turns by rules, in memories from text, subject and keywords."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import count
from typing import NamedTuple, TypeVar

from memscope.languages.names import FoundName, name_form, names
from memscope.languages.registry import known_kind, registered
from memscope.languages.wording import calls_user
from memscope.records import CORRECTIONS, INJECTED, SUMMARY_NAMESPACE, Insight, Observation, Record, Turn
from memscope.text.topics import topics

T = TypeVar("T")

_orders = count()


class NameMention(NamedTuple):
    """A name in a record: ``form`` is compared, ``role`` is the form of a role like "my sister"; see FoundName."""

    form: str
    text: str
    kind: str
    weight: int
    role: str = ""


class ReadTurn(NamedTuple):
    key: str
    time: datetime
    agent: str | None
    session: str | None
    names: tuple[NameMention, ...]
    topics: frozenset[int]
    statement: bool = False


class ReadMemory(NamedTuple):
    """``until``: when it stopped to hold for readers; None if it still does. ``sources``: turns or observations.

    ``correction``: ("merge", name, other), ("split", name, other) or ("dismiss", name, name) by a person, as forms.
    """

    id: str
    version: int
    insight: bool
    agent: str | None
    said: datetime
    until: datetime | None
    expires: datetime | None
    names: tuple[NameMention, ...]
    sources: tuple[str, ...]
    correction: tuple[str, str, str] | None
    order: int  # order of first reading, which is the store's order


class ReadRecords(NamedTuple):
    turns: dict[str, ReadTurn]
    memories: dict[str, ReadMemory]

    @property
    def size(self) -> int:
        return len(self.turns) + len(self.memories)


def read(page: Iterable[Record], into: ReadRecords) -> Iterator[str]:
    """Read records; yield the ids of new or changed ones. Names of an unchanged version are reused."""
    for record in page:
        if isinstance(record, Turn):
            if record.key not in into.turns and record.role != "system" and INJECTED not in record.metadata:
                into.turns[record.key] = _read_turn(record)
                yield record.key
        elif not record.proposed:
            old = into.memories.get(record.id)
            mentions = old.names if old and old.version == record.version else tuple(map(_mention, _names_of(record)))
            into.memories[record.id] = _read_memory(record, mentions, old.order if old else next(_orders))
            if old != into.memories[record.id]:
                yield record.id


def _mention(name: FoundName) -> NameMention:
    return _known_mention(name.text, name.kind, name.weight, name.role)


@lru_cache(1 << 15)
def _known_mention(text: str, kind: str, weight: int, role: str) -> NameMention:
    """Share one object among equal mentions, since most names recur."""
    return NameMention(role if role and not weight else name_form(text), text, kind, weight, role)


@lru_cache(1 << 13)
def _shared(thing: T) -> T:
    """Share one object among equal values: more objects lengthen the pauses of Python's garbage collector."""
    return thing


def _read_turn(turn: Turn) -> ReadTurn:
    mentioned = [_mention(name) for name in names(turn.text)]
    if turn.role != "user":  # "my sister" only means the user's sister in the user's words
        mentioned = [one._replace(role="") for one in mentioned if one.weight or not one.role]
    mentions = tuple(one for one in mentioned if one.form)
    return ReadTurn(
        turn.key, turn.time, turn.scope.agent, turn.scope.session, _shared(mentions), _shared(topics(turn.text)),
        turn.statement,
    )  # fmt: skip


def _read_memory(memory: Observation | Insight, mentions: tuple[NameMention, ...], order: int) -> ReadMemory:
    until = None if memory.closed is None else memory.closed_said or memory.closed
    return ReadMemory(memory.id, memory.version, isinstance(memory, Insight), memory.scope.agent, memory.said, until,
                      memory.expires, mentions, memory.sources, _correction(memory), order)  # fmt: skip


def _correction(memory: Observation | Insight) -> tuple[str, str, str] | None:
    values = [memory.data.get(key) for key in ("step", "name", "other")]
    if memory.namespace != CORRECTIONS or values[0] not in ("merge", "split", "dismiss"):
        return None
    step, name, other = (str(value) for value in values)
    return step, name_form(name), name_form(other)


def _names_of(memory: Observation | Insight) -> Iterator[FoundName]:
    if memory.namespace in (CORRECTIONS, SUMMARY_NAMESPACE):
        return
    yield from (name for name in names(memory.text) if not name.role)
    if isinstance(memory, Insight):
        yield from _named_by_model(memory.subject, "person", 0)
        return
    yield from _named_by_model(memory.about, "person", 1)
    for keyword in memory.keywords:
        yield from _named_by_model(keyword, "topic" if keyword.islower() or not keyword.isascii() else "thing", 1)


def _named_by_model(name: str, kind: str, weight: int) -> Iterator[FoundName]:
    """Yield a name that the model gave, with its kind from the table if listed there."""
    form = name_form(name)
    is_user = form == "user" or calls_user(form) or any(form in one.statements.first_person for one in registered())
    if name.strip() and not is_user and len(name) <= 80:
        known = known_kind(name)
        yield FoundName(name.strip(), known or kind, 0, weight + (known is not None))  # type: ignore[arg-type]
