"""Stores that each break one promise, which ``kill.py`` must catch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from memscope.records import ChangeSet, Claim, TurnInsert
from memscope.search.units import units_version
from memscope.stores import Store, rules
from memscope.stores import sqlite as sqlite_store
from memscope.stores.local import records
from memscope.stores.local.transaction import UserTransaction
from memscope.stores.sqlite.engine import Engine, WriteRequest, _answer
from memscope.transfer import jsonl
from memscope_testing.records import turn


async def _save(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    await store.save_reply(claim, change_set)


async def _complete(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    await store.complete(claim, change_set)


@dataclass(frozen=True)
class Mutant:
    """``break_promise`` runs in the process that will be killed. The other fields replace steps of a client."""

    name: str
    break_promise: Callable[[], None] = lambda: None
    draft: Callable[[TurnInsert], TurnInsert] = lambda draft: draft
    save: Callable[[Store, Claim, ChangeSet], object] = _save
    complete: Callable[[Store, Claim, ChangeSet], object] = _complete


sound = Mutant("none")

# ---- adding


class AnswersFirst(Engine):
    """Acknowledges writes before they are committed."""

    def _together(self, group: list[WriteRequest]) -> None:
        db = self._writing()
        db.execute("BEGIN IMMEDIATE")
        for request in group:
            request.result = request.task(db)
        _answer(group)
        time.sleep(0.003)
        db.execute("COMMIT")


class NoTransaction(Engine):
    """Commits statement by statement."""

    def _together(self, group: list[WriteRequest]) -> None:
        for request in group:
            request.result = request.task(self._writing())


def use(engine: type[Engine]) -> Callable[[], None]:
    return lambda: setattr(sqlite_store, "Engine", engine)


def keyless(draft: TurnInsert) -> TurnInsert:
    """Give a resent turn a new key, so that it becomes another turn."""
    return replace(draft, turn=replace(draft.turn, key=turn().key + str(time.monotonic_ns())))


ADD_MUTANTS = (
    Mutant("acknowledges before the commit", use(AnswersFirst)),
    Mutant("writes without a transaction", use(NoTransaction)),
    Mutant("keys are not the caller's", draft=keyless),
)

# ---- consolidating


def ignore_tokens() -> None:
    def owned(batches: object, claim: Claim) -> rules.Batch:
        return rules.Batch(claim.id, claim.stage, claim.token)

    setattr(rules, "owned", owned)  # noqa: B010


async def memories_then_done(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    await store.apply(claim.user, replace(change_set, done=()))
    await asyncio.sleep(0.002)
    await store.complete(claim, ChangeSet(done=change_set.done))


async def done_then_memories(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    await store.complete(claim, ChangeSet(done=change_set.done))
    await asyncio.sleep(0.002)
    await store.apply(claim.user, replace(change_set, done=()))


async def no_reply_kept(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    return


CONSOLIDATE_MUTANTS = (
    Mutant("nobody checks the lease", ignore_tokens, save=no_reply_kept),
    Mutant("memories, then done", save=no_reply_kept, complete=memories_then_done),
    Mutant("done, then memories", save=no_reply_kept, complete=done_then_memories),
)

# ---- exports


def ask_once() -> None:
    """Read the pending items before the records instead of after them."""
    known: dict[tuple[str, str], set[str]] = {}
    asked = jsonl.waiting

    async def waiting(store: Store, user: str, kind: str, ids: frozenset[str]) -> set[str]:
        if (user, kind) not in known:
            known[user, kind] = await asked(store, user, kind, ids)
        return known[user, kind]

    jsonl.waiting = waiting


def settle_nothing_here() -> None:
    """Skip the step in which a newer export completes the pending state of an older one."""

    async def settle(writer: jsonl.ImportWriter) -> None:
        return

    jsonl.ImportWriter._settle = settle  # type: ignore[method-assign]


TRANSFER_MUTANTS = (
    Mutant("asks what waits once", break_promise=ask_once),
    Mutant("settles nothing that is here", break_promise=settle_nothing_here),
)

# ---- migrations


def renewed_in_name() -> None:
    """Mark units as being of the current version without deriving their terms."""

    def derive_units(tx: UserTransaction) -> None:
        tx.terms = units_version

    records.derive_units = derive_units


MIGRATE_MUTANTS = (Mutant("renewed in name", renewed_in_name),)
