"""Batches under a lease, and change sets applied under the user's lock: the state machine.

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
from memscope_elasticsearch import counters, forget, user_lock
from memscope_elasticsearch.append import GroupCommitter
from memscope_elasticsearch.apply import PendingWrites, Written, settle
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.user_lock import LANES, Batch, UserState, WriteIntent

USERS_AT_ONCE = 8
LOOKED_AT = 64

# ---- plans without a claim


async def append(
    session: Session, committer: GroupCommitter, user: str, inserts: Sequence[TurnInsert], plan: ChangeSet | None
) -> AppendResult:
    check_user(user, inserts, plan)
    if plan is None or not (plan.new or plan.closed or plan.revised):
        return await committer.append(user, inserts, plan.done if plan else ())
    appended = await committer.append(user, inserts, plan.done)
    await apply(session, user, replace(plan, done=()))
    return appended


async def apply(session: Session, user: str, plan: ChangeSet) -> int:
    written = await _write(session, user, "plan", {"plan": plan_to_json(plan)}, plan)
    return written.new + written.other


async def _write(
    session: Session, user: str, what: str, about: dict[str, Any], plan: ChangeSet, claim: Claim | None = None
) -> Written:
    check_user(user, (), plan)
    number = await counters.take(session.cluster, session.names, user, len(plan.new)) if plan.new else 0

    def prepare(state: UserState) -> None:
        if claim is not None:
            _owned(state, claim)

    async def write() -> Written:
        async with user_lock.writing(session, user, what, about, number, redo, prepare) as intent:
            return await _carry_out(session, user, intent, plan)

    return await user_lock.whole(write(), name="memscope-write")


async def _carry_out(session: Session, user: str, intent: WriteIntent, plan: ChangeSet) -> Written:
    pending = PendingWrites(session, user)
    batch = intent.about.get("batch")
    try:
        await pending.read(plan)
        if batch is None:
            await pending.load(plan.done)
        pending.check(plan, intent.token)
        written = pending.decide(plan, intent.number, intent.token)
    except Exception:
        await user_lock.clear(session, user, intent, lambda state: None)  # nothing was written
        raise
    await pending.flush(intent.token)
    if batch is None:
        await settle(session, user, [id for id in plan.done if id in pending.turns], "consolidate")
    else:
        done = [item for item in plan.done if item not in written.unsourced]
        await settle(session, user, [item for item in done if item in batch["items"]], batch["stage"])
    await user_lock.clear(session, user, intent, lambda state: _close(state, batch))
    return written


def _close(state: UserState, batch: dict[str, Any] | None) -> None:
    if batch is not None:
        state.batches = [one for one in state.batches if one.id != batch["id"]]
        state.done.append([batch["id"], batch["token"]])


async def redo(session: Session, user: str, intent: WriteIntent) -> None:
    """Bring to its end what another began; a plan that conflicts by now is one that never began."""
    if intent.what == "forget":
        await forget.carry_out(session, user, intent)
        return
    try:
        await _carry_out(session, user, intent, plan_from_json(intent.about["plan"]))
    except Conflict:
        return


async def finish_abandoned(session: Session) -> None:
    """Operations whose process died, of any user."""
    now = session.now()
    ended = [
        {"range": {"due": {"lte": now}}},
        {"range": {"due": {"gt": furthest(now, session.cluster.options.lease_s)}}},
    ]
    body = {"size": LOOKED_AT, "query": {"bool": {"should": ended}}, "_source": ["user"], "track_total_hits": False}
    answer = await session.cluster.search(session.names.work, body, paths="hits.hits._source")
    for hit in answer.get("hits", {}).get("hits", []):
        user = hit["_source"]["user"]
        left = (await user_lock.load(session, user)).intent
        if left is not None and user_lock.abandoned(session, left):
            await redo(session, user, await user_lock.take_over(session, user, left))


# ---- claims


async def claim(session: Session, stage: Stage, limit: int, lease_s: float, user: str | None) -> list[Claim]:
    if user is not None:
        found = await claim_one(session, user, stage, limit, lease_s)
        return [found] if found is not None else []
    await finish_abandoned(session)
    claims: list[Claim] = []
    async for name in due_users(session, stage):
        found = await claim_one(session, name, stage, limit, lease_s)
        claims += [found] if found is not None else []
        if len(claims) == USERS_AT_ONCE:
            break
    return claims


async def due_users(session: Session, stage: Stage) -> Any:
    """Users with something that waits, from a random place on, so that workers do not meet."""
    if stage == "embed":  # what this process wrote lately is known without a refresh
        for name in session.unrefreshed.users():
            yield name
    else:
        await session.settle()
    start = secrets.token_hex(16)
    for first, last in ((start, None), (None, start)):
        after = first
        while True:
            scopes = await _waiting_scopes(session, stage, after)
            within = [scope for scope in scopes if last is None or scope <= last]
            names = await counters.names_of(session.cluster, session.names, within)
            states = await session.cluster.documents([user_lock.at(session, scope) for scope in names])
            for scope, document in zip(names, states, strict=True):
                if _free(user_lock.read(document), stage, session.now()):
                    yield names[scope]
            if len(scopes) < LOOKED_AT or len(within) < len(scopes):
                break
            after = scopes[-1]


async def _waiting_scopes(session: Session, stage: Stage, after: str | None) -> list[str]:
    sources: dict[str, Any] = {"size": LOOKED_AT, "sources": [{"scope": {"terms": {"field": "scope"}}}]}
    if after is not None:
        sources["after"] = {"scope": after}
    body = {"size": 0, "query": {"bool": session.vectors.waiting(stage)}, "aggs": {"scopes": {"composite": sources}}}
    answer = await session.cluster.search(session.names.memory, body, paths="aggregations.scopes.buckets.key")
    return [bucket["key"]["scope"] for bucket in answer.get("aggregations", {}).get("scopes", {}).get("buckets", [])]


def _free(state: UserState, stage: Stage, now: int) -> bool:
    """Returns whether no worker has a lease of these stages and the oldest batch may be tried."""
    first = next((batch for batch in state.batches if batch.stage == stage and not batch.parked), None)
    return not state.working(stage, now) and (first is None or not holds(first.not_before, now))


async def claim_one(session: Session, user: str, stage: Stage, limit: int, lease_s: float) -> Claim | None:
    state = await user_lock.load(session, user)
    if state.intent is not None and user_lock.abandoned(session, state.intent):
        await redo(session, user, await user_lock.take_over(session, user, state.intent))
        state = await user_lock.load(session, user)
    if not _free(state, stage, session.now()) or state.intent is not None:
        return None
    formed: Batch | None = None
    if not any(batch.stage == stage and not batch.parked for batch in state.batches):
        formed = await _form(session, user, stage, limit, state)
        if formed is None:
            return None
    now = session.clock()
    until = now + timedelta(seconds=lease_s)
    batch = await user_lock.change(
        session, user, lambda state: _lease(state, stage, formed, microseconds(now), microseconds(until))
    )
    if batch is None:
        return None
    texts = await session.vectors.texts(user, batch) if stage == "embed" else ()
    plan = plan_from_json(batch.plan) if batch.plan is not None else None
    return Claim(batch.id, stage, user, batch.token, until, batch.attempt, tuple(batch.items), texts, plan)


def _lease(state: UserState, stage: Stage, formed: Batch | None, now: int, until: int) -> Batch | None:
    """Give the first batch a token; expired leases of the same stages are lost for good."""
    if not _free(state, stage, now) or state.intent is not None:
        return None
    mine = [batch for batch in state.batches if batch.stage == stage and not batch.parked]
    taken = {item for batch in state.batches if batch.stage == stage for item in batch.items}
    if not mine:
        if formed is None or taken.intersection(formed.items):
            return None
        state.batches.append(formed)
        mine = [formed]
    for batch in state.batches:
        if batch.stage in LANES[stage]:
            batch.token = ""
    first = mine[0]
    first.token, first.until, first.attempt = secrets.token_hex(8), until, first.attempt + 1
    return first


async def _form(session: Session, user: str, stage: Stage, limit: int, state: UserState) -> Batch | None:
    """A new batch of what waits, in order; what a search says is checked against the documents themselves."""
    taken = {item for batch in state.batches if batch.stage == stage for item in batch.items}
    if stage == "embed":
        formed: Batch | None = await session.vectors.form(user, limit, taken)
        return formed
    await session.settle()
    items: list[str] = []
    async for hits in session.walk(user, session.vectors.waiting(stage), "number", size=limit, _source=["rid"]):
        free = [hit["_source"]["rid"] for hit in hits if hit["_source"]["rid"] not in taken]
        found = await session.load(user, free)
        items += [
            record_id for record_id in free if record_id in found and found[record_id].source.get("wait") == stage
        ]
        if len(items) >= limit:
            break
    return Batch(secrets.token_hex(16), stage, items[:limit]) if items else None


# ---- leases


def _owned(state: UserState, claim: Claim) -> Batch:
    """The batch, if the claim's token is the last one given: a lease that ran out is lost once another takes it."""
    for batch in state.batches:
        if batch.id == claim.id and batch.token == claim.token and batch.stage == claim.stage:
            return batch
    raise LeaseLost(f"batch {claim.id!r} is another worker's now", hint="discard the result")


async def extend(session: Session, claim: Claim, lease_s: float) -> Claim:
    until = session.clock() + timedelta(seconds=lease_s)

    def step(state: UserState) -> None:
        _owned(state, claim).until = microseconds(until)

    await user_lock.change(session, claim.user, step)
    return replace(claim, until=until)


async def save_reply(session: Session, claim: Claim, plan: ChangeSet) -> None:
    body = plan_to_json(plan)

    def step(state: UserState) -> None:
        _owned(state, claim).plan = body

    await user_lock.change(session, claim.user, step)


async def complete(session: Session, claim: Claim, plan: ChangeSet | None) -> int:
    state = await user_lock.load(session, claim.user)
    if [claim.id, claim.token] in state.done:
        return 0
    batch = _owned(state, claim)
    if plan is None:
        plan = plan_from_json(batch.plan) if batch.plan is not None else ChangeSet()
    if claim.stage == "embed":
        await session.vectors.put(claim.user, batch, plan.vectors)
        await user_lock.change(session, claim.user, lambda state: _close(state, _about(_owned(state, claim))))
        await session.vectors.switch_when_full()
        return 0
    about = {"plan": plan_to_json(replace(plan, vectors={})), "batch": {**_about(batch), "items": batch.items}}
    return (await _write(session, claim.user, "complete", about, plan, claim)).new


def _about(batch: Batch) -> dict[str, Any]:
    return {"id": batch.id, "token": batch.token, "stage": batch.stage}


async def fail(session: Session, claim: Claim, code: str, not_before: datetime, counted: bool) -> None:
    """A reply that conflicts with what is stored now would do so for ever: it goes, and the model is asked again."""

    def step(state: UserState) -> None:
        batch = _owned(state, claim)
        batch.token, batch.until, batch.code, batch.not_before = "", 0, code, microseconds(not_before)
        batch.parked = counted and batch.attempt >= PARK_AFTER
        batch.attempt -= not counted
        batch.plan = None if code == Conflict.code else batch.plan

    await user_lock.change(session, claim.user, step)


async def give_back(session: Session, claim: Claim) -> None:
    def step(state: UserState) -> None:
        batch = _owned(state, claim)
        batch.token, batch.until, batch.attempt = "", 0, batch.attempt - 1

    await user_lock.change(session, claim.user, step)


async def unpark(session: Session, stage: Stage | None, user: str | None) -> int:
    names = [user] if user is not None else [name async for name, _ in user_lock.troubled(session)]
    return sum([await user_lock.change(session, name, lambda state: _unpark(state, stage)) for name in names])


def _unpark(state: UserState, stage: Stage | None) -> int:
    parked = [batch for batch in state.batches if batch.parked and stage in (None, batch.stage)]
    for batch in parked:
        batch.parked, batch.attempt, batch.not_before = False, 0, 0
    return len(parked)
