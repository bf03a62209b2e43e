"""Counters of each user: numbers of records, and the sittings their turns belong to.

A **sitting** is a run of turns of one session without a pause of more than ``PAUSE``. Each of its units has the next
ordinal: neighbours are found by their place, which is known when a turn is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memscope.records import Turn
from memscope.text.units import chunks, microseconds, scope_key
from memscope_elasticsearch.client import Body, Cluster, Operation
from memscope_elasticsearch.documents import Place, document_id, scope_hash
from memscope_elasticsearch.mapping import Names

PAUSE = 12 * 3600 * 1_000_000  # microseconds; as stores/snapshot.py
OPEN = 32  # sessions whose last sitting is remembered
ATTEMPTS = 50


@dataclass(slots=True)
class Head:
    """``number`` is the last one given; ``open`` by session: sitting, next ordinal, time of the last turn."""

    number: int = 0
    sitting: int = 0
    open: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    fence: tuple[int, int] | None = None

    def take(self, count: int) -> int:
        first = self.number + 1
        self.number += count
        return first

    def place(self, turn: Turn) -> Place:
        session, time = scope_key(turn.scope.session), microseconds(turn.time)
        sitting, ordinal, last = self.open.pop(session, (0, 0, 0))
        if not sitting or abs(time - last) > PAUSE:
            self.sitting += 1
            sitting, ordinal = self.sitting, 0
        self.open[session] = (sitting, ordinal + len(chunks(turn.text)), time)
        while len(self.open) > OPEN:
            del self.open[next(iter(self.open))]
        return Place(sitting, ordinal)

    def state(self) -> Body:
        return {"number": self.number, "sitting": self.sitting, "open": [[k, *v] for k, v in self.open.items()]}


def wanted(names: Names, user: str) -> Body:
    scope = scope_hash(user)
    return {"_index": names.work, "_id": document_id(scope, "head"), "routing": scope}


def read(document: Mapping[str, object]) -> Head:
    source = document.get("_source")
    if not isinstance(source, Mapping):
        return Head()
    state = source["state"]
    fence = (int(str(document["_seq_no"])), int(str(document["_primary_term"])))
    return Head(state["number"], state["sitting"], {k: (s, o, t) for k, s, o, t in state["open"]}, fence)


def save(names: Names, user: str, head: Head) -> Operation:
    at = wanted(names, user)
    body = {"scope": at["routing"], "kind": "head", "user": user, "state": head.state()}
    action = "create" if head.fence is None else "index"
    return Operation(action, at["_index"], at["_id"], at["routing"], body, head.fence)


async def load(cluster: Cluster, names: Names, users: Sequence[str]) -> dict[str, Head]:
    found = await cluster.documents([wanted(names, user) for user in users])
    return {user: read(document) for user, document in zip(users, found, strict=True)}


async def take(cluster: Cluster, names: Names, user: str, count: int) -> int:
    """The first of ``count`` numbers that nobody else has."""
    while True:
        head = (await load(cluster, names, [user]))[user]
        first = head.take(count)
        (outcome,) = await cluster.bulk([save(names, user, head)])
        if outcome.ok:
            return first


async def names_of(cluster: Cluster, names: Names, scopes: Iterable[str]) -> dict[str, str]:
    """Users by their hashes."""
    found = await cluster.documents(
        [{"_index": names.work, "_id": document_id(scope, "head"), "routing": scope} for scope in scopes]
    )
    return {one["_source"]["scope"]: one["_source"]["user"] for one in found if "_source" in one}
