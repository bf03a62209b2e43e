"""Counters per user: the last record number, and the conversation windows of the turns.

A **conversation window** is a run of turns of one session without a pause of more than ``CONVERSATION_GAP_US``.
The window and the ordinal in it form a unit's place, which identifies its neighbours. The index calls a window
``sitting``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memscope.records import Turn
from memscope.search.snapshot import CONVERSATION_GAP_US
from memscope.search.units import chunks, microseconds, scope_key
from memscope_elasticsearch.client import Body, BulkOperation, Cluster, version_of
from memscope_elasticsearch.documents import Place, document_at, scope_hash
from memscope_elasticsearch.mapping import IndexNames

MAX_OPEN_SESSIONS = 32  # sessions with a remembered last window
MAX_COUNTER_ATTEMPTS = 50


@dataclass(slots=True)
class UserCounters:
    """``number``: last record number; ``open``: by session, its window, next ordinal and time of the last turn."""

    number: int = 0
    window: int = 0
    open: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    version: tuple[int, int] | None = None

    def take(self, count: int) -> int:
        first = self.number + 1
        self.number += count
        return first

    def place(self, turn: Turn) -> Place:
        session, time = scope_key(turn.scope.session), microseconds(turn.time)
        window, ordinal, last = self.open.pop(session, (0, 0, 0))
        if not window or abs(time - last) > CONVERSATION_GAP_US:
            self.window += 1
            window, ordinal = self.window, 0
        self.open[session] = (window, ordinal + len(chunks(turn.text)), time)
        while len(self.open) > MAX_OPEN_SESSIONS:
            del self.open[next(iter(self.open))]
        return Place(window, ordinal)

    def state(self) -> Body:
        return {"number": self.number, "sitting": self.window, "open": [[k, *v] for k, v in self.open.items()]}


def wanted(names: IndexNames, user: str) -> Body:
    return document_at(names.work, scope_hash(user), "head")


def read(document: Body) -> UserCounters:
    if "_source" not in document:
        return UserCounters()
    state = document["_source"]["state"]
    opened = {k: (s, o, t) for k, s, o, t in state["open"]}
    return UserCounters(state["number"], state["sitting"], opened, version_of(document))


def save(names: IndexNames, user: str, counter: UserCounters) -> BulkOperation:
    at = wanted(names, user)
    body = {"scope": at["routing"], "kind": "head", "user": user, "state": counter.state()}
    return BulkOperation.put(at, body, counter.version)


async def load(cluster: Cluster, names: IndexNames, users: Sequence[str]) -> dict[str, UserCounters]:
    documents = await cluster.documents([wanted(names, user) for user in users])
    return {user: read(document) for user, document in zip(users, documents, strict=True)}


async def take(cluster: Cluster, names: IndexNames, user: str, count: int) -> int:
    """Reserve ``count`` record numbers and return the first."""
    while True:
        counter = (await load(cluster, names, [user]))[user]
        first = counter.take(count)
        (outcome,) = await cluster.bulk([save(names, user, counter)])
        if outcome.ok:
            return first


async def names_of(cluster: Cluster, names: IndexNames, scopes: Iterable[str]) -> dict[str, str]:
    """Map hashes of users to their names."""
    documents = await cluster.documents([document_at(names.work, scope, "head") for scope in scopes])
    sources = [document["_source"] for document in documents if "_source" in document]
    return {source["scope"]: source["user"] for source in sources}
