"""Per-user lock document, changed by compare-and-swap on ``_seq_no``.

It contains the batches with their leases and saved replies, and the write-ahead intent of the current writer.
If the writer dies, the next one replays the intent before its own. Every step of an intent is idempotent. The index
calls the document ``lane``.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from memscope.errors import StoreBusy
from memscope.records import Json
from memscope.stores import rules
from memscope.stores.rules import holds
from memscope_elasticsearch.client import PAGE_FILTER_PATH, Body, BulkOperation, version_of
from memscope_elasticsearch.documents import document_at, scope_hash
from memscope_elasticsearch.session import Session

T = TypeVar("T")
MAX_DONE_BATCHES = 32  # completed batches remembered, so that ``complete`` is idempotent
LOCK_PAUSE_S = 0.02
WAITING_PER_PAGE = 64


@dataclass(slots=True)
class Batch(rules.Batch):
    """A batch, stored as an object with its field names.

    ``units``, of stage embed: document and revision of each item when claimed; ``plan``: the saved reply.
    """

    items: list[str] = field(default_factory=list)
    units: list[list[Any]] = field(default_factory=list)
    plan: Json = None


@dataclass(slots=True)
class WriteIntent:
    """A writer's operation: its kind ``what``, arguments ``about``, and first reserved record ``number``."""

    token: str
    until: int
    what: str
    about: Json
    number: int = 0


@dataclass(slots=True)
class UserState:
    batches: list[Batch] = field(default_factory=list)
    done: list[list[str]] = field(default_factory=list)  # [batch, token] of recently completed batches
    intent: WriteIntent | None = None
    version: tuple[int, int] | None = None

    def body(self, user: str) -> Body:
        state = {
            "batches": [asdict(batch) for batch in self.batches],
            "done": self.done[-MAX_DONE_BATCHES:],
            "intent": asdict(self.intent) if self.intent else None,
        }
        return {
            "scope": scope_hash(user), "kind": "lane", "user": user, "state": state,
            "due": self.intent.until if self.intent else None,
            "troubled": any(batch.code for batch in self.batches),
        }  # fmt: skip


def at(session: Session, scope: str) -> Body:
    return document_at(session.names.work, scope, "lane")


def read(document: Any) -> UserState:
    state = document.get("_source", {}).get("state")
    if state is None:
        return UserState()
    intent = WriteIntent(**state["intent"]) if state["intent"] else None
    batches = [Batch(**batch) for batch in state["batches"]]
    return UserState(batches, state["done"], intent, version_of(document))


async def load(session: Session, user: str) -> UserState:
    (document,) = await session.cluster.documents([at(session, scope_hash(user))])
    return read(document)


async def change(session: Session, user: str, step: Callable[[UserState], T]) -> T:
    """Change the state by ``step``, which runs again after a lost race; an exception changes nothing."""
    clock, until = asyncio.get_running_loop().time, session.cluster.until()
    while True:
        state = await load(session, user)
        before = state.body(user)
        result = step(state)
        if state.body(user) == before or await save(session, user, state):
            return result
        if clock() > until:
            raise StoreBusy("too many processes write for the same user at once", hint="try again")
        await asyncio.sleep(random.uniform(0, LOCK_PAUSE_S))


async def save(session: Session, user: str, state: UserState) -> bool:
    body = {name: value for name, value in state.body(user).items() if value is not None}
    operation = BulkOperation.put(at(session, scope_hash(user)), body, state.version)
    (outcome,) = await session.cluster.bulk([operation])
    return outcome.ok


# ---- writing


@asynccontextmanager
async def writing(
    session: Session, user: str, what: str, about: Json, number: int, redo: Callable[[Session, str, WriteIntent], Any],
    prepare: Callable[[UserState], None] = lambda state: None,
) -> AsyncIterator[WriteIntent]:  # fmt: skip
    """Hold the user's lock, after replaying another writer's abandoned intent with ``redo``.

    ``prepare`` changes the state in the step that takes the lock, and may raise to refuse. The caller ends with
    ``clear``; an exception leaves the intent to the next writer.
    """
    async with _alone(session, user):
        intent = await _begin(session, user, WriteIntent(secrets.token_hex(8), 0, what, about, number), redo, prepare)
        yield intent


@asynccontextmanager
async def _alone(session: Session, user: str) -> AsyncIterator[None]:
    """Serialize this event loop's writes for a user, so that they do not contend in the cluster."""
    lock = session.cluster.local().lock(user)
    try:
        async with asyncio.timeout_at(session.cluster.until()):
            await lock.acquire()
    except TimeoutError:
        raise StoreBusy("another call writes for this user", hint="try again") from None
    try:
        yield
    finally:
        lock.release()


async def _begin(
    session: Session,
    user: str,
    intent: WriteIntent,
    redo: Callable[[Session, str, WriteIntent], Any],
    prepare: Callable[[UserState], None],
) -> WriteIntent:
    clock, until, pause = asyncio.get_running_loop().time, session.cluster.until(), LOCK_PAUSE_S
    while True:
        left = await change(session, user, lambda state: _take(state, intent, session, prepare))
        if left is None:
            return intent
        if abandoned(session, left):
            await redo(session, user, await take_over(session, user, left))
        elif clock() > until:
            raise StoreBusy("another process writes for this user", hint="try again")
        else:
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, 0.5)


def _take(
    state: UserState, intent: WriteIntent, session: Session, prepare: Callable[[UserState], None]
) -> WriteIntent | None:
    """Take the lock; if another writer left an intent, return that instead."""
    if state.intent is not None and state.intent.token != intent.token:
        return state.intent
    if state.intent is None:
        prepare(state)
        intent.until = lease_end(session)
        state.intent = intent
    return None


def lease_end(session: Session) -> int:
    return session.now() + int(session.cluster.options.lease_s * 1e6)


def abandoned(session: Session, intent: WriteIntent) -> bool:
    return not holds(intent.until, session.now(), session.cluster.options.lease_s)


async def take_over(session: Session, user: str, left: WriteIntent) -> WriteIntent:
    """Adopt an intent and restart its lease; replaying it twice is harmless."""

    def step(state: UserState) -> None:
        if state.intent is not None and state.intent.token == left.token:
            state.intent.until = lease_end(session)

    await change(session, user, step)
    return left


async def clear(session: Session, user: str, intent: WriteIntent, step: Callable[[UserState], T]) -> T | None:
    """Remove the completed intent as the last step; None if another writer did so already."""

    def end(state: UserState) -> T | None:
        if state.intent is None or state.intent.token != intent.token:
            return None
        state.intent = None
        return step(state)

    return await change(session, user, end)


async def troubled(session: Session) -> AsyncIterator[tuple[str, UserState]]:
    """Yield users with failed batches, and their states."""
    await session.cluster.refresh(session.names.work)
    body = {"size": WAITING_PER_PAGE, "query": {"term": {"troubled": True}}, "sort": [{"scope": "asc"}],
            "search_after": [""], "_source": ["user"]}  # fmt: skip
    async for hits in session.cluster.walk(session.names.work, body, paths=PAGE_FILTER_PATH):
        for hit in hits:
            yield hit["_source"]["user"], await load(session, hit["_source"]["user"])
