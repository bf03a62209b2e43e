"""A user's lane: one document that says who works on what, changed only under the version it was read in.

It holds the batches of work with their leases and saved replies, and the **intent** of whoever writes at the moment:
what it is about to do, whole. A writer that dies leaves its intent; the next one does it again before its own. Doing it
twice is doing it once, so that of many steps the end is always the same.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from memscope.errors import StoreBusy
from memscope.records import Json, Stage
from memscope.stores.rules import holds
from memscope_elasticsearch.client import Body, Operation
from memscope_elasticsearch.documents import document_id, scope_hash
from memscope_elasticsearch.shop import Shop

T = TypeVar("T")
LANES: dict[Stage, tuple[Stage, ...]] = {
    "embed": ("embed",),
    "consolidate": ("consolidate", "reflect"),
    "reflect": ("consolidate", "reflect"),
}
KEEP_DONE = 32  # batches that are remembered as done, so that their worker can ask twice
PAUSE_S = 0.02
PAGE = 64


@dataclass(slots=True)
class Batch:
    """pending (no token), leased (token, until), extracted (plan), failed (code, not_before), parked.

    ``units`` of stage embed: the document and the revision each item was claimed in.
    """

    id: str
    stage: Stage
    items: list[str]
    units: list[list[Any]] = field(default_factory=list)
    token: str = ""
    until: int = 0
    attempt: int = 0
    code: str = ""
    not_before: int = 0
    parked: bool = False
    plan: Json = None

    def leased(self, now: int) -> bool:
        return bool(self.token) and holds(self.until, now)


@dataclass(slots=True)
class Intent:
    """What a writer is about to do: ``what`` with ``about``; ``number`` is the first of those it may give."""

    token: str
    until: int
    what: str
    about: Json
    number: int = 0


@dataclass(slots=True)
class Lane:
    batches: list[Batch] = field(default_factory=list)
    done: list[list[str]] = field(default_factory=list)  # [batch, token], the latest ones
    intent: Intent | None = None
    fence: tuple[int, int] | None = None

    def body(self, user: str) -> Body:
        state = {
            "batches": [asdict(batch) for batch in self.batches],
            "done": self.done[-KEEP_DONE:],
            "intent": asdict(self.intent) if self.intent else None,
        }
        return {
            "scope": scope_hash(user), "kind": "lane", "user": user, "state": state,
            "due": self.intent.until if self.intent else None,
            "troubled": any(batch.code for batch in self.batches),
        }  # fmt: skip

    def working(self, stage: Stage, now: int) -> bool:
        return any(batch.stage in LANES[stage] and batch.leased(now) for batch in self.batches)


def at(shop: Shop, scope: str) -> Body:
    return {"_index": shop.names.work, "_id": document_id(scope, "lane"), "routing": scope}


def read(document: Any) -> Lane:
    state = document.get("_source", {}).get("state")
    if state is None:
        return Lane()
    intent = Intent(**state["intent"]) if state["intent"] else None
    batches = [Batch(**batch) for batch in state["batches"]]
    return Lane(batches, state["done"], intent, (document["_seq_no"], document["_primary_term"]))


async def load(shop: Shop, user: str) -> Lane:
    (document,) = await shop.cluster.documents([at(shop, scope_hash(user))])
    return read(document)


async def change(shop: Shop, user: str, step: Callable[[Lane], T]) -> T:
    """Change the lane by ``step``, which may be called again on a newer one; what it raises changes nothing."""
    clock = asyncio.get_running_loop().time
    until = clock() + shop.cluster.options.deadline_s
    while True:
        lane = await load(shop, user)
        before = lane.body(user)
        result = step(lane)
        if lane.body(user) == before or await save(shop, user, lane):
            return result
        if clock() > until:
            raise StoreBusy("too many write for the same user at once", hint="try again")
        await asyncio.sleep(random.uniform(0, PAUSE_S))


async def save(shop: Shop, user: str, lane: Lane) -> bool:
    place = at(shop, scope_hash(user))
    body = {name: value for name, value in lane.body(user).items() if value is not None}
    action = "create" if lane.fence is None else "index"
    operation = Operation(action, place["_index"], place["_id"], place["routing"], body, lane.fence)
    (outcome,) = await shop.cluster.bulk([operation])
    return outcome.ok


# ---- writing


@asynccontextmanager
async def writing(
    shop: Shop, user: str, what: str, about: Json, number: int, redo: Callable[[Shop, str, Intent], Any],
    prepare: Callable[[Lane], None] = lambda lane: None,
) -> AsyncIterator[Intent]:  # fmt: skip
    """Nobody else writes this user's memories meanwhile; what another left undone is done first by ``redo``.

    ``prepare`` changes the lane in the step that takes it, and may refuse. The caller ends with ``finish`` in the step
    that clears the intent; an exception leaves the intent to whoever comes next, but for those of ``abandon``.
    """
    async with shop.cluster.local().lock(user):
        intent = await _begin(shop, user, Intent(secrets.token_hex(8), 0, what, about, number), redo, prepare)
        yield intent


async def whole(work: Coroutine[Any, Any, T], *, name: str) -> T:
    """Do it to its end even if the caller is cancelled: others would have to wait for its lease."""
    return await asyncio.shield(asyncio.create_task(work, name=name))


async def _begin(
    shop: Shop, user: str, intent: Intent, redo: Callable[[Shop, str, Intent], Any], prepare: Callable[[Lane], None]
) -> Intent:
    clock = asyncio.get_running_loop().time
    until, pause = clock() + shop.cluster.options.deadline_s, PAUSE_S
    while True:
        left = await change(shop, user, lambda lane: _take(lane, intent, shop, prepare))
        if left is None:
            return intent
        if abandoned(shop, left):
            await redo(shop, user, await take_over(shop, user, left))
        elif clock() > until:
            raise StoreBusy("another process writes for this user", hint="try again")
        else:
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, 0.5)


def _take(lane: Lane, intent: Intent, shop: Shop, prepare: Callable[[Lane], None]) -> Intent | None:
    """The intent that stands in the way, if there is one."""
    if lane.intent is not None and lane.intent.token != intent.token:
        return lane.intent
    if lane.intent is None:
        prepare(lane)
        intent.until = shop.now() + int(shop.cluster.options.lease_s * 1e6)
        lane.intent = intent
    return None


def abandoned(shop: Shop, intent: Intent) -> bool:
    return not holds(intent.until, shop.now(), shop.cluster.options.lease_s)


async def take_over(shop: Shop, user: str, left: Intent) -> Intent:
    """Make an intent ours to finish: its time begins anew. Two who do this do the same."""

    def step(lane: Lane) -> None:
        if lane.intent is not None and lane.intent.token == left.token:
            lane.intent.until = shop.now() + int(shop.cluster.options.lease_s * 1e6)

    await change(shop, user, step)
    return left


async def clear(shop: Shop, user: str, intent: Intent, step: Callable[[Lane], T]) -> T | None:
    """The last step: the intent is done. None when somebody else did that already."""

    def end(lane: Lane) -> T | None:
        if lane.intent is None or lane.intent.token != intent.token:
            return None
        lane.intent = None
        return step(lane)

    return await change(shop, user, end)


async def troubled(shop: Shop) -> AsyncIterator[tuple[str, Lane]]:
    """Users and lanes with batches that failed."""
    await shop.cluster.refresh(shop.names.work)
    after = ""
    while True:
        body = {"size": PAGE, "query": {"term": {"troubled": True}}, "sort": [{"scope": "asc"}],
                "search_after": [after], "_source": ["user"]}  # fmt: skip
        answer = await shop.cluster.search(shop.names.work, body, paths="hits.hits._source,hits.hits.sort")
        hits = answer.get("hits", {}).get("hits", [])
        for hit in hits:
            yield hit["_source"]["user"], await load(shop, hit["_source"]["user"])
        if len(hits) < PAGE:
            return
        after = hits[-1]["sort"][0]
