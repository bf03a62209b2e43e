"""One store under random calls, and its answers in a form that two stores can be compared by.

Left out of an answer: tokens, batch ids, unit ids, messages of errors and the state of the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from memscope.errors import MemscopeError
from memscope.records import (
    ChangeSet,
    Claim,
    Record,
    Revision,
    Scope,
    Search,
    Select,
    Turn,
    TurnInsert,
    VectorSpace,
)
from memscope.search.local import LocalSearch
from memscope.stores import Store
from memscope.stores.rules import record_id
from memscope.text.terms import terms
from memscope_testing.records import at
from stores.calls import IDS, STAGES, USERS, Call, Seen

Clock = Callable[[], datetime]
Opening = Callable[[Clock], AbstractAsyncContextManager[Store]]


class Ticking:
    """A clock that moves when a call says so."""

    def __init__(self) -> None:
        self.now = at(100_000)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Side:
    """One store with the claims that it gave; ``exact``: its numbers of records and its index are compared too."""

    store: Store
    clock: Ticking
    exact: bool = True
    claims: list[Claim] = field(default_factory=list)

    async def make(self, call: Call) -> Any:
        try:
            return await getattr(self, call.name)(**call.fields)
        except MemscopeError as error:
            return type(error).__name__

    # ---- turns and memories

    async def append(self, user: str, inserts: list[TurnInsert], change_set: dict[str, Any] | None) -> Any:
        owned = [replace(one, turn=_owned(one.turn, user)) for one in inserts]
        return await self.store.append(
            user, owned, await self.change_set(user, change_set) if change_set is not None else None
        )

    async def apply(self, user: str, change_set: dict[str, Any]) -> Any:
        return await self.store.apply(user, await self.change_set(user, change_set))

    async def change_set(self, user: str, given: dict[str, Any], done: Iterable[str] = ()) -> ChangeSet:
        revised = [await self.revision(user, **fields) for fields in given["revised"]]
        return ChangeSet(
            new=tuple(_owned(memory, user) for memory in given["new"]),
            closed=tuple(given["closed"]),
            revised=tuple(revision for revision in revised if revision is not None),
            done=(*done, *given["done"]),
        )

    async def revision(self, user: str, id: str, stale: bool, **fields: Any) -> Revision | None:
        stored = (await self.store.fetch(user, [id])).records.get(id)
        if stored is None or isinstance(stored, Turn):
            return None
        return Revision(replace(stored, **fields), stored.version - stale)

    async def fetch(self, user: str, ids: list[str]) -> Any:
        found = await self.store.fetch(user, ids)
        records = {handle: self.record(record) for handle, record in found.records.items()}
        return records, {handle: [self.record(one) for one in made] for handle, made in found.derived.items()}

    async def history(self, user: str, id: str) -> Any:
        return await self.store.history(user, id)

    async def scan(self, user: str, selects: list[dict[str, Any]]) -> Any:
        return [await self.selected(user, select) for select in selects]

    async def selected(self, user: str, select: dict[str, Any]) -> list[Record]:
        return [self.record(record) async for page in self.store.scan(Select(user, **select)) for record in page]

    async def forget(self, user: str, select: dict[str, Any], dry_run: bool) -> Any:
        report = await self.store.forget(Select(user, **select), dry_run=dry_run)
        return replace(report, physical="none", reason="")

    async def add_tombstones(self, user: str, ids: list[str]) -> Any:
        await self.store.add_tombstones(user, ids)

    async def adopt_secret(self, secret: bytes) -> Any:
        return await self.store.adopt_secret(secret), await self.store.secret() == secret

    async def search(self, user: str, words: str, vector: bool) -> Any:
        """Contents of a local store's index; the pool is never full here."""
        if not (self.exact and isinstance(self.store, LocalSearch)):
            return None
        space = (await self.store.stats()).space
        asked = np.arange(1, space.dims + 1, dtype=np.float32) if vector and space else None
        pool = await self.store.search(Search(Scope(user), tuple(terms(words)), vector=asked, space=space))
        records = (await self.store.fetch(user, list(pool.handle))).records
        rows = [
            (record_id(records[pool.handle[n]]), int(pool.part[n]), tuple(pool.tf[n]), round(float(pool.cosine[n]), 4))
            for n in range(len(pool.handle))
        ]
        return pool.units, tuple(pool.document_frequency), sorted(map(repr, rows))

    # ---- work

    async def claim(self, stage: Any, limit: int, lease_s: float, someone: str | None) -> Any:
        found = sorted(await self.store.claim(stage, limit, lease_s, user=someone), key=lambda claim: claim.user)
        self.claims = [*found, *self.claims]
        return [_answer(claim) for claim in found]

    def held(self, ordinal: int) -> Claim | None:
        return self.claims[ordinal % len(self.claims)] if self.claims else None

    async def extend(self, claim: int, lease_s: float) -> Any:
        if held := self.held(claim):
            return (await self.store.extend(held, lease_s)).until

    async def save_reply(self, claim: int, change_set: dict[str, Any]) -> Any:
        if held := self.held(claim):
            await self.store.save_reply(held, await self.change_set(held.user, change_set))

    async def complete(self, claim: int, change_set: dict[str, Any] | None, left: set[int]) -> Any:
        held = self.held(claim)
        if held is None or held.stage == "embed":
            return None
        done = [item for n, item in enumerate(held.items) if n not in left]
        return await self.store.complete(
            held, await self.change_set(held.user, change_set, done) if change_set is not None else None
        )

    async def embed(self, claim: int, numbers: float, dims: int) -> Any:
        embedding = [held for held in self.claims if held.stage == "embed"]
        if embedding:
            held = embedding[claim % len(embedding)]
            vectors = {item: np.linspace(1, numbers, dims, dtype=np.float32) for item in held.items}
            return await self.store.complete(held, ChangeSet(vectors=vectors, done=held.items))

    async def fail(self, claim: int, code: str, wait_s: float, counted: bool, change_set: dict[str, Any] | None) -> Any:
        """With a reply saved before; and what a worker is given afterwards."""
        if held := self.held(claim):
            if change_set is not None:
                await self.save_reply(claim, change_set)
            await self.store.fail(held, code, self.clock() + timedelta(seconds=wait_s), counted=counted)
            return await self.claim(held.stage, 2, 60, held.user)

    async def exhaust(self, user: str, stage: Any) -> Any:
        """Fail the next batch until it is parked."""
        answers = []
        for _ in range(6):
            answers.append(await self.claim(stage, 2, 60, user))
            if answers[-1]:
                await self.store.fail(self.claims[0], "model_reply", self.clock())
        return answers

    async def give_back(self, claim: int) -> Any:
        if held := self.held(claim):
            await self.store.give_back(held)
            return await self.claim(held.stage, 2, 60, held.user)

    async def unpark(self, stage: Any, someone: str | None) -> Any:
        return await self.store.unpark(stage, someone)

    # ---- the whole

    async def set_vector_space(self, space: VectorSpace, replace: bool) -> Any:
        await self.store.set_vector_space(space, replace=replace)

    async def tick(self, seconds: float) -> Any:
        """The clock is shared: whoever makes the calls moves it, once."""

    async def state(self) -> dict[str, Any]:
        """Everything that can be seen, by name."""
        found: dict[str, Any] = {"users": await self.store.users(), "stats": await self.counts(None)}
        for user in USERS:
            found[f"records of {user}"] = await self.selected(user, {})
            found[f"derived of {user}"] = (await self.fetch(user, list(IDS)))[1]
            found[f"stats of {user}"] = await self.counts(user)
            found[f"tombstones of {user}"] = await self.store.tombstones(user)
            for stage in STAGES[1:]:
                waiting = [page async for page in self.store.scan(Select(user, pending=stage))]  # type: ignore[arg-type]
                found[f"{stage} of {user}"] = [record_id(record) for page in waiting for record in page]
        return found

    async def counts(self, user: str | None) -> Any:
        return replace(await self.store.stats(user), details={})

    def seen(self, state: dict[str, Any]) -> Seen:
        stored = {user: [record_id(record) for record in state[f"records of {user}"]] for user in USERS}
        records = {user: state[f"records of {user}"] for user in USERS}
        closed = {user: [one.superseded_by for one in records[user] if not isinstance(one, Turn)] for user in USERS}
        superseders = {user: [id for id in closed[user] if id in stored[user]] for user in USERS}
        return Seen(stored, superseders, [claim.stage for claim in self.claims])

    def record(self, record: Record) -> Record:
        return replace(record, seq=0) if isinstance(record, Turn) and not self.exact else record


def _owned(record: Any, user: str) -> Any:
    return record if record.scope.user else replace(record, scope=replace(record.scope, user=user))


def _answer(claim: Claim) -> Any:
    """Units have ids of the store's own; their texts say which they are."""
    items = claim.texts if claim.stage == "embed" else claim.items
    return claim.stage, claim.user, claim.until, claim.attempt, items, claim.change_set


async def compare(
    choose: Callable[[int, Seen], Call | None], first: Opening, second: Opening, *, exact: bool = True
) -> None:
    """Make the same calls on both; every answer, and all that can be seen after each call, has to be the same."""
    clock, made, seen = Ticking(), list[Call](), Seen()
    async with first(clock) as one, second(clock) as other:
        sides = Side(one, clock, exact), Side(other, clock, exact)
        while (call := choose(len(made), seen)) is not None:
            made.append(call)
            if call.name == "tick":
                clock.now += timedelta(seconds=call.fields["seconds"])
            answers = [await side.make(call) for side in sides]
            assert answers[0] == answers[1], f"{answers[0]} and {answers[1]} to the last of {made}"
            states = [await side.state() for side in sides]
            for name, found in states[0].items():
                assert found == states[1][name], f"{name}: {found} and {states[1][name]} after {made}"
            seen = sides[0].seen(states[0])
