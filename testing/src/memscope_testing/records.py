"""Builders of records for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from memscope.records import Block, ChangeSet, Insight, Observation, Scope, Select, Turn, TurnInsert
from memscope.stores import Store
from memscope.stores.rules import record_id

START = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
PAST = datetime(2000, 1, 1, tzinfo=UTC)
FAR_FUTURE = datetime(2200, 1, 1, tzinfo=UTC)
EVERYTHING = 10_000
_numbers = count(1)


def fresh_user() -> str:
    """Return a unique user."""
    return f"user-{next(_numbers)}"


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def turn(key: str = "", text: str = "I moved to Berlin.", *, user: str = "alice", **fields: Any) -> Turn:
    """Build a turn with a unique time; ``agent`` and ``session`` go into its scope."""
    number = next(_numbers)
    scope = Scope(user, fields.pop("agent", None), fields.pop("session", None))
    values = {"role": "user", "speaker": "Alice", "time": at(number), "recorded": at(number), **fields}
    return Turn(key=key or f"turn-{number}", scope=scope, text=text, **values)


def inserts(*keys: str, **fields: Any) -> list[TurnInsert]:
    return [TurnInsert(turn(key, **fields)) for key in keys]


def observation(id: str, *sources: str, text: str = "Alice lives in Berlin.", **fields: Any) -> Observation:
    return Observation(id=id, text=text, sources=sources, **_of_memory(fields))


def insight(id: str, *sources: str, text: str = "Alice's home: Berlin.", **fields: Any) -> Insight:
    return Insight(id=id, text=text, sources=sources, **{"subject": "home", **_of_memory(fields)})


def _of_memory(fields: dict[str, Any]) -> dict[str, Any]:
    scope = Scope(fields.pop("user", "alice"), fields.pop("agent", None))
    return {"scope": scope, "said": START, "recorded": at(next(_numbers)), **fields}


def block(label: str, value: str = "", *, version: int = 1, **fields: Any) -> Block:
    scope = Scope(fields.pop("user", "alice"), fields.pop("agent", None))
    return Block(scope=scope, label=label, value=value, version=version, recorded=at(version), **fields)


async def remember(store: Store, *memories: Observation | Insight) -> int:
    return await store.apply(memories[0].scope.user, ChangeSet(new=memories))


async def ids(store: Store, user: str = "alice", **conditions: Any) -> list[str]:
    """Scan the store and return the keys and ids of the records in order."""
    return [record_id(record) async for page in store.scan(Select(user, **conditions)) for record in page]


async def get(store: Store, id: str, user: str = "alice") -> Any:
    return (await store.fetch(user, [id])).records.get(id)
