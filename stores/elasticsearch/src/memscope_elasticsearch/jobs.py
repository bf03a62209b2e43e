"""Batches under a lease, and plans written under the user's lane: the state machine.

pending ──claim──▶ leased ──save_reply──▶ extracted ──complete: intent, documents, done──▶ done
                     └──fail──▶ failed ──▶ ... ──▶ parked

A record waits for a stage by its own field ``wait``; a batch only gathers what is to be done together.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memscope.errors import Conflict, LeaseLost
from memscope.records import AppendResult, ChangeSet, Claim, Stage, TurnInsert
from memscope.records.serialization import plan_from_json, plan_to_json
from memscope.stores import PARK_AFTER
from memscope.stores.rules import check_user, furthest, holds
from memscope.text.units import microseconds
from memscope_elasticsearch import forget, heads, lanes
from memscope_elasticsearch.append import Committer
from memscope_elasticsearch.lanes import LANES, Batch, Intent, Lane
from memscope_elasticsearch.plans import Board, Written, settle
from memscope_elasticsearch.shop import Shop

USERS_AT_ONCE = 8
LOOKED_AT = 64

# ---- plans without a claim


async def append(
    shop: Shop, committer: Committer, user: str, inserts: Sequence[TurnInsert], plan: ChangeSet | None
) -> AppendResult:
    check_user(user, inserts, plan)
    if plan is None or not (plan.new or plan.closed or plan.revised):
        return await committer.append(user, inserts, plan.done if plan else ())
    appended = await committer.append(user, inserts, plan.done)
    await apply(shop, user, replace(plan, done=()))
    return appended


async def apply(shop: Shop, user: str, plan: ChangeSet) -> int:
    written = await _write(shop, user, "plan", {"plan": plan_to_json(plan)}, plan)
    return written.new + written.other


async def _write(
    shop: Shop, user: str, what: str, about: dict[str, Any], plan: ChangeSet, claim: Claim | None = None
) -> Written:
    check_user(user, (), plan)
    number = await heads.take(shop.cluster, shop.names, user, len(plan.new)) if plan.new else 0

    def prepare(lane: Lane) -> None:
        if claim is not None:
            _owned(lane, claim)

    async def write() -> Written:
        async with lanes.writing(shop, user, what, about, number, redo, prepare) as intent:
            return await _carry_out(shop, user, intent, plan)

    return await lanes.whole(write(), name="memscope-write")


async def _carry_out(shop: Shop, user: str, intent: Intent, plan: ChangeSet) -> Written:
    board = Board(shop, user)
    batch = intent.about.get("batch")
    try:
        await board.read(plan)
        if batch is None:
            await board.load(plan.done)
        board.check(plan, intent.token)
        written = board.decide(plan, intent.number, intent.token)
    except Exception:
        await lanes.clear(shop, user, intent, lambda lane: None)  # nothing was written
        raise
    await board.flush(intent.token)
    if batch is None:
        await settle(shop, user, [id for id in plan.done if id in board.turns], "consolidate")
    else:
        done = [item for item in plan.done if item not in written.unsourced]
        await settle(shop, user, [item for item in done if item in batch["items"]], batch["stage"])
    await lanes.clear(shop, user, intent, lambda lane: _close(lane, batch))
    return written


def _close(lane: Lane, batch: dict[str, Any] | None) -> None:
    if batch is not None:
        lane.batches = [one for one in lane.batches if one.id != batch["id"]]
        lane.done.append([batch["id"], batch["token"]])


async def redo(shop: Shop, user: str, intent: Intent) -> None:
    """Bring to its end what another began; a plan that conflicts by now is one that never began."""
    if intent.what == "forget":
        await forget.carry_out(shop, user, intent)
        return
    try:
        await _carry_out(shop, user, intent, plan_from_json(intent.about["plan"]))
    except Conflict:
        return


async def finish_abandoned(shop: Shop) -> None:
    """Operations whose process died, of any user."""
    now = shop.now()
    ended = [{"range": {"due": {"lte": now}}}, {"range": {"due": {"gt": furthest(now, shop.cluster.options.lease_s)}}}]
    body = {"size": LOOKED_AT, "query": {"bool": {"should": ended}}, "_source": ["user"], "track_total_hits": False}
    answer = await shop.cluster.search(shop.names.work, body, paths="hits.hits._source")
    for hit in answer.get("hits", {}).get("hits", []):
        user = hit["_source"]["user"]
        left = (await lanes.load(shop, user)).intent
        if left is not None and lanes.abandoned(shop, left):
            await redo(shop, user, await lanes.take_over(shop, user, left))


# ---- claims


async def claim(shop: Shop, stage: Stage, limit: int, lease_s: float, user: str | None) -> list[Claim]:
    if user is not None:
        found = await claim_one(shop, user, stage, limit, lease_s)
        return [found] if found is not None else []
    await finish_abandoned(shop)
    claims: list[Claim] = []
    async for name in due_users(shop, stage):
        found = await claim_one(shop, name, stage, limit, lease_s)
        claims += [found] if found is not None else []
        if len(claims) == USERS_AT_ONCE:
            break
    return claims


async def due_users(shop: Shop, stage: Stage) -> Any:
    """Users with something that waits, from a random place on, so that workers do not meet."""
    if stage == "embed":  # what this process wrote lately is known without a refresh
        for name in shop.recent.users():
            yield name
    else:
        await shop.settle()
    start = secrets.token_hex(16)
    for first, last in ((start, None), (None, start)):
        after = first
        while True:
            scopes = await _waiting_scopes(shop, stage, after)
            within = [scope for scope in scopes if last is None or scope <= last]
            names = await heads.names_of(shop.cluster, shop.names, within)
            lanes_found = await shop.cluster.documents([lanes.at(shop, scope) for scope in names])
            for scope, document in zip(names, lanes_found, strict=True):
                if _free(lanes.read(document), stage, shop.now()):
                    yield names[scope]
            if len(scopes) < LOOKED_AT or len(within) < len(scopes):
                break
            after = scopes[-1]


async def _waiting_scopes(shop: Shop, stage: Stage, after: str | None) -> list[str]:
    sources: dict[str, Any] = {"size": LOOKED_AT, "sources": [{"scope": {"terms": {"field": "scope"}}}]}
    if after is not None:
        sources["after"] = {"scope": after}
    body = {"size": 0, "query": {"bool": shop.spaces.waiting(stage)}, "aggs": {"scopes": {"composite": sources}}}
    answer = await shop.cluster.search(shop.names.memory, body, paths="aggregations.scopes.buckets.key")
    return [bucket["key"]["scope"] for bucket in answer.get("aggregations", {}).get("scopes", {}).get("buckets", [])]


def _free(lane: Lane, stage: Stage, now: int) -> bool:
    """Nobody works in this lane, and its oldest batch may be tried."""
    first = next((batch for batch in lane.batches if batch.stage == stage and not batch.parked), None)
    return not lane.working(stage, now) and (first is None or not holds(first.not_before, now))


async def claim_one(shop: Shop, user: str, stage: Stage, limit: int, lease_s: float) -> Claim | None:
    lane = await lanes.load(shop, user)
    if lane.intent is not None and lanes.abandoned(shop, lane.intent):
        await redo(shop, user, await lanes.take_over(shop, user, lane.intent))
        lane = await lanes.load(shop, user)
    if not _free(lane, stage, shop.now()) or lane.intent is not None:
        return None
    formed: Batch | None = None
    if not any(batch.stage == stage and not batch.parked for batch in lane.batches):
        formed = await _form(shop, user, stage, limit, lane)
        if formed is None:
            return None
    now = shop.clock()
    until = now + timedelta(seconds=lease_s)
    batch = await lanes.change(
        shop, user, lambda lane: _lease(lane, stage, formed, microseconds(now), microseconds(until))
    )
    if batch is None:
        return None
    texts = await shop.spaces.texts(user, batch) if stage == "embed" else ()
    plan = plan_from_json(batch.plan) if batch.plan is not None else None
    return Claim(batch.id, stage, user, batch.token, until, batch.attempt, tuple(batch.items), texts, plan)


def _lease(lane: Lane, stage: Stage, formed: Batch | None, now: int, until: int) -> Batch | None:
    """Give the first batch a token; whoever held a lease of this lane that ran out has lost it for good."""
    if not _free(lane, stage, now) or lane.intent is not None:
        return None
    mine = [batch for batch in lane.batches if batch.stage == stage and not batch.parked]
    taken = {item for batch in lane.batches if batch.stage == stage for item in batch.items}
    if not mine:
        if formed is None or taken.intersection(formed.items):
            return None
        lane.batches.append(formed)
        mine = [formed]
    for batch in lane.batches:
        if batch.stage in LANES[stage]:
            batch.token = ""
    first = mine[0]
    first.token, first.until, first.attempt = secrets.token_hex(8), until, first.attempt + 1
    return first


async def _form(shop: Shop, user: str, stage: Stage, limit: int, lane: Lane) -> Batch | None:
    """A new batch of what waits, in order; what a search says is checked against the documents themselves."""
    taken = {item for batch in lane.batches if batch.stage == stage for item in batch.items}
    if stage == "embed":
        formed: Batch | None = await shop.spaces.form(user, limit, taken)
        return formed
    await shop.settle()
    items: list[str] = []
    async for hits in shop.walk(user, shop.spaces.waiting(stage), "number", size=limit, _source=["rid"]):
        free = [hit["_source"]["rid"] for hit in hits if hit["_source"]["rid"] not in taken]
        found = await shop.load(user, free)
        items += [rid for rid in free if rid in found and found[rid].source.get("wait") == stage]
        if len(items) >= limit:
            break
    return Batch(secrets.token_hex(16), stage, items[:limit]) if items else None


# ---- leases


def _owned(lane: Lane, claim: Claim) -> Batch:
    """The batch, if the claim's token is the last one given: a lease that ran out is lost once another takes it."""
    for batch in lane.batches:
        if batch.id == claim.id and batch.token == claim.token and batch.stage == claim.stage:
            return batch
    raise LeaseLost(f"batch {claim.id!r} is another worker's now", hint="discard the result")


async def extend(shop: Shop, claim: Claim, lease_s: float) -> Claim:
    until = shop.clock() + timedelta(seconds=lease_s)

    def step(lane: Lane) -> None:
        _owned(lane, claim).until = microseconds(until)

    await lanes.change(shop, claim.user, step)
    return replace(claim, until=until)


async def save_reply(shop: Shop, claim: Claim, plan: ChangeSet) -> None:
    body = plan_to_json(plan)

    def step(lane: Lane) -> None:
        _owned(lane, claim).plan = body

    await lanes.change(shop, claim.user, step)


async def complete(shop: Shop, claim: Claim, plan: ChangeSet | None) -> int:
    lane = await lanes.load(shop, claim.user)
    if [claim.id, claim.token] in lane.done:
        return 0
    batch = _owned(lane, claim)
    if plan is None:
        plan = plan_from_json(batch.plan) if batch.plan is not None else ChangeSet()
    if claim.stage == "embed":
        await shop.spaces.put(claim.user, batch, plan.vectors)
        await lanes.change(shop, claim.user, lambda lane: _close(lane, _about(_owned(lane, claim))))
        await shop.spaces.switch_when_full()
        return 0
    about = {"plan": plan_to_json(replace(plan, vectors={})), "batch": {**_about(batch), "items": batch.items}}
    return (await _write(shop, claim.user, "complete", about, plan, claim)).new


def _about(batch: Batch) -> dict[str, Any]:
    return {"id": batch.id, "token": batch.token, "stage": batch.stage}


async def fail(shop: Shop, claim: Claim, code: str, not_before: datetime, counted: bool) -> None:
    """A reply that conflicts with what is stored now would do so for ever: it goes, and the model is asked again."""

    def step(lane: Lane) -> None:
        batch = _owned(lane, claim)
        batch.token, batch.until, batch.code, batch.not_before = "", 0, code, microseconds(not_before)
        batch.parked = counted and batch.attempt >= PARK_AFTER
        batch.attempt -= not counted
        batch.plan = None if code == Conflict.code else batch.plan

    await lanes.change(shop, claim.user, step)


async def give_back(shop: Shop, claim: Claim) -> None:
    def step(lane: Lane) -> None:
        batch = _owned(lane, claim)
        batch.token, batch.until, batch.attempt = "", 0, batch.attempt - 1

    await lanes.change(shop, claim.user, step)


async def unpark(shop: Shop, stage: Stage | None, user: str | None) -> int:
    names = [user] if user is not None else [name async for name, _ in lanes.troubled(shop)]
    return sum([await lanes.change(shop, name, lambda lane: _unpark(lane, stage)) for name in names])


def _unpark(lane: Lane, stage: Stage | None) -> int:
    parked = [batch for batch in lane.batches if batch.parked and stage in (None, batch.stage)]
    for batch in parked:
        batch.parked, batch.attempt, batch.not_before = False, 0, 0
    return len(parked)
