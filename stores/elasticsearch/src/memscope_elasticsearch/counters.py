"""Counters per user: the last number given to a record, and the conversation windows of the turns.

A **conversation window** is a run of turns of one session without a pause of more than ``PAUSE``. Its units are
counted: window and ordinal make a unit's place, by which its neighbours are found. The index
calls a window ``sitting``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memscope.records import Turn
from memscope.text.units import chunks, microseconds, scope_key
from memscope_elasticsearch.client import Body, BulkOperation, Cluster
from memscope_elasticsearch.documents import Place, document_id, scope_hash
from memscope_elasticsearch.mapping import IndexNames

PAUSE = 12 * 3600 * 1_000_000  # microseconds; as stores/snapshot.py
OPEN = 32  # sessions whose last window is remembered
ATTEMPTS = 50


@dataclass(slots=True)
class UserCounters:
    """``number`` is the last one given; ``open`` by session: window, next ordinal, time of the last turn."""

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
        if not window or abs(time - last) > PAUSE:
            self.window += 1
            window, ordinal = self.window, 0
        self.open[session] = (window, ordinal + len(chunks(turn.text)), time)
        while len(self.open) > OPEN:
            del self.open[next(iter(self.open))]
        return Place(window, ordinal)

    def state(self) -> Body:
        return {"number": self.number, "sitting": self.window, "open": [[k, *v] for k, v in self.open.items()]}


def wanted(names: IndexNames, user: str) -> Body:
    scope = scope_hash(user)
    return {"_index": names.work, "_id": document_id(scope, "head"), "routing": scope}


def read(document: Mapping[str, object]) -> UserCounters:
    source = document.get("_source")
    if not isinstance(source, Mapping):
        return UserCounters()
    state = source["state"]
    version = (int(str(document["_seq_no"])), int(str(document["_primary_term"])))
    return UserCounters(state["number"], state["sitting"], {k: (s, o, t) for k, s, o, t in state["open"]}, version)


def save(names: IndexNames, user: str, counter: UserCounters) -> BulkOperation:
    at = wanted(names, user)
    body = {"scope": at["routing"], "kind": "head", "user": user, "state": counter.state()}
    action = "create" if counter.version is None else "index"
    return BulkOperation(action, at["_index"], at["_id"], at["routing"], body, counter.version)


async def load(cluster: Cluster, names: IndexNames, users: Sequence[str]) -> dict[str, UserCounters]:
    found = await cluster.documents([wanted(names, user) for user in users])
    return {user: read(document) for user, document in zip(users, found, strict=True)}


async def take(cluster: Cluster, names: IndexNames, user: str, count: int) -> int:
    """Reserve ``count`` numbers; returns the first."""
    while True:
        counter = (await load(cluster, names, [user]))[user]
        first = counter.take(count)
        (outcome,) = await cluster.bulk([save(names, user, counter)])
        if outcome.ok:
            return first


async def names_of(cluster: Cluster, names: IndexNames, scopes: Iterable[str]) -> dict[str, str]:
    """Returns users by their hashes."""
    found = await cluster.documents(
        [{"_index": names.work, "_id": document_id(scope, "head"), "routing": scope} for scope in scopes]
    )
    return {one["_source"]["scope"]: one["_source"]["user"] for one in found if "_source" in one}
