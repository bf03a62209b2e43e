"""Stateful test: random sequences of operations, compared with a model made of a few Python collections."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from memscope.errors import LeaseLost
from memscope.records import ChangeSet, Claim, Select
from memscope.stores import MAX_ATTEMPTS, Store
from memscope_testing.contract import Chapter
from memscope_testing.records import PAST, fresh_user, ids, inserts, observation

T = TypeVar("T")
KEYS = [f"k{n}" for n in range(8)]
STATEMENT_KEYS = {"k6", "k7"}
MACHINE_SETTINGS = settings(
    stateful_step_count=30, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@dataclass
class ExpectedBatch:
    items: list[str]
    parked: bool = False
    saved: bool = False


@dataclass
class ExpectedUser:
    """Expected state of one user in the store."""

    stored: list[str] = field(default_factory=list)  # turns, in order
    memories: dict[str, str] = field(default_factory=dict)  # observation -> its turn
    forgotten: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    batches: list[ExpectedBatch] = field(default_factory=list)
    owner: Claim | None = None
    late: list[Claim] = field(default_factory=list)

    def pending(self) -> set[str]:
        return self.waiting | {item for batch in self.batches for item in batch.items}

    def first(self) -> ExpectedBatch | None:
        return next((batch for batch in self.batches if not batch.parked), None)

    def held(self) -> tuple[Claim, ExpectedBatch]:
        """Return the live claim and its batch."""
        batch = self.first()
        assert self.owner is not None
        assert batch is not None
        return self.owner, batch

    def form(self, limit: int) -> ExpectedBatch | None:
        items = [key for key in self.stored if key in self.waiting][:limit]
        if not items:
            return None
        self.waiting -= set(items)
        self.batches.append(ExpectedBatch(items))
        return self.batches[-1]

    def release(self) -> None:
        if self.owner is not None:
            self.late.append(self.owner)
            self.owner = None

    def forget(self, chosen: set[str]) -> set[str]:
        gone = {id for id in chosen if id in self.stored or id in self.memories}
        gone |= {memory for memory, turn in self.memories.items() if turn in gone}
        self.forgotten |= gone
        self.stored = [key for key in self.stored if key not in gone]
        self.memories = {memory: turn for memory, turn in self.memories.items() if memory not in gone}
        for batch in [batch for batch in self.batches if gone.intersection(batch.items)]:
            self.batches.remove(batch)
            self.waiting |= set(batch.items)
        self.waiting -= gone
        return gone


class Operations(RuleBasedStateMachine):
    """Run each operation on the store and on its model. Rules run in a thread, operations in the store's event loop."""

    store: Store
    loop: asyncio.AbstractEventLoop
    reopen: Callable[[Store], Coroutine[Any, Any, Store]]

    def __init__(self) -> None:
        super().__init__()
        self.user = fresh_user()
        self.model = ExpectedUser()
        self.made = itertools.count()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=4))
    def append(self, keys: list[str]) -> None:
        turns = [inserts(key, user=self.user, statement=key in STATEMENT_KEYS)[0] for key in keys]
        outcomes = self.wait(self.store.append(self.user, turns)).outcomes
        for key, outcome in zip(keys, outcomes, strict=True):
            known = key in self.model.stored
            assert outcome == ("forgotten" if key in self.model.forgotten else "duplicate" if known else "stored")
            if outcome == "stored":
                self.model.stored.append(key)
                self.model.waiting |= {key} - STATEMENT_KEYS

    @rule(limit=st.integers(1, 4))
    def claim(self, limit: int) -> None:
        self.take(limit)

    def take(self, limit: int) -> None:
        claims = self.wait(self.store.claim("consolidate", limit, 600, user=self.user))
        if self.model.owner is not None:
            assert claims == []
            return
        batch = self.model.first() or self.model.form(limit)
        assert [list(claim.items) for claim in claims] == ([batch.items] if batch else [])
        if claims and batch:
            assert claims[0].change_set is None or batch.saved
            self.model.owner = claims[0]

    @precondition(lambda self: self.model.owner)
    @rule()
    def lease_runs_out(self) -> None:
        self.wait(self.store.extend(self.model.held()[0], 0))
        self.model.release()
        self.take(4)

    @precondition(lambda self: self.model.owner)
    @rule()
    def save(self) -> None:
        claim, batch = self.model.held()
        self.wait(self.store.save_reply(claim, self.change_set(claim.items)))
        batch.saved = True

    @precondition(lambda self: self.model.owner)
    @rule(share=st.integers(0, 4))
    def complete(self, share: int) -> None:
        claim, batch = self.model.held()
        change_set = self.change_set(claim.items[share:])
        assert self.wait(self.store.complete(claim, change_set)) == len(change_set.new)
        assert self.wait(self.store.complete(claim, change_set)) == 0
        self.model.memories |= {memory.id: memory.sources[0] for memory in change_set.new}
        self.model.batches.remove(batch)
        self.model.waiting |= set(batch.items) - set(change_set.done)
        self.model.owner = None

    @precondition(lambda self: self.model.owner)
    @rule()
    def fail(self) -> None:
        claim, batch = self.model.held()
        self.wait(self.store.fail(claim, "model_timeout", PAST))
        batch.parked = claim.attempt >= MAX_ATTEMPTS
        self.model.release()

    @rule()
    def unpark(self) -> None:
        parked = [batch for batch in self.model.batches if batch.parked]
        if self.model.owner is None:
            assert self.wait(self.store.unpark("consolidate", self.user)) == len(parked)
            for batch in parked:
                batch.parked = False

    @precondition(lambda self: self.model.late)
    @rule(data=st.data())
    def late_worker(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.model.late))
        try:
            self.wait(self.store.complete(claim, self.change_set(claim.items)))
        except LeaseLost:
            return
        raise AssertionError("a worker that lost its lease has written")

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        known = sorted({*self.model.stored, *self.model.memories, "missing"})
        chosen = data.draw(st.sets(st.sampled_from(known), min_size=1, max_size=2))
        touched = self.model.forget(chosen)
        report = self.wait(self.store.forget(Select(self.user, ids=frozenset(chosen))))
        assert report.turns + report.observations == len(touched)
        if touched and self.model.owner is not None:
            self.let_go(self.model.owner)

    def let_go(self, claim: Claim) -> None:
        """Update the model's claim: forgetting some records may end any lease of their user."""
        try:
            self.wait(self.store.extend(claim, 0))
        except LeaseLost:
            self.model.late.append(claim)
        self.model.owner = None

    @rule()
    def restart(self) -> None:
        type(self).store = self.wait(self.reopen(self.store))

    def change_set(self, items: tuple[str, ...]) -> ChangeSet:
        new = tuple(observation(f"{key}-{next(self.made)}", key, user=self.user) for key in items)
        return ChangeSet(new=new, done=(*items, "of nobody"))

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        stored = self.wait(ids(self.store, self.user))
        assert [id for id in stored if id in KEYS] == self.model.stored
        assert {id for id in stored if id not in KEYS} == self.model.memories.keys()
        assert self.wait(self.store.tombstones(self.user)) == sorted(self.model.forgotten)
        assert set(self.wait(ids(self.store, self.user, pending="consolidate"))) == self.model.pending()
        stats = self.wait(self.store.stats(self.user))
        states = (stats.pending, stats.failed, stats.parked)
        assert sum(state["consolidate"] for state in states) == len(self.model.pending())


class Machine(Chapter):
    """``machine_examples``: number of random runs of 30 operations; reduce it for a slow store."""

    machine_examples = 25

    async def test_any_order_of_operations(self, store: Store) -> None:
        bound = {"store": store, "loop": asyncio.get_running_loop(), "reopen": self.reopen}
        rules = type("Rules", (Operations,), bound)
        await asyncio.to_thread(
            run_state_machine_as_test, rules, settings=settings(MACHINE_SETTINGS, max_examples=self.machine_examples)
        )
