"""Batches under a lease, and change sets applied under the user's lock: the state machine.

pending ──claim──▶ leased ──save_reply──▶ extracted ──complete: intent, documents, done──▶ done
                     └──fail──▶ failed ──▶ ... ──▶ parked

A record waits for the stage in its field ``wait``; a batch groups records to be processed together.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memscope.errors import Conflict, MemscopeError
from memscope.records import AppendResult, ChangeSet, Claim, Stage, TurnInsert
from memscope.records.serialization import change_set_from_json, change_set_to_json
from memscope.search.units import microseconds
from memscope.stores import rules
from memscope.stores.rules import Applied, check_user, claimable, latest_valid_lease, owned, unfinished
from memscope_elasticsearch import counters, forget, user_lock
from memscope_elasticsearch.append import GroupCommitter
from memscope_elasticsearch.apply import PendingWrites, settle
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.user_lock import Batch, UserState, WriteIntent

CONCURRENT_USERS = 8
MAX_CLAIMABLE_READ = 64

# ---- change sets without a claim


async def append(
    session: Session, committer: GroupCommitter, user: str, inserts: Sequence[TurnInsert], change_set: ChangeSet | None
) -> AppendResult:
    check_user(user, inserts, change_set)
    if change_set is None or not (change_set.new or change_set.closed or change_set.revised):
        return await committer.append(user, inserts, change_set.done if change_set else ())
    appended = await committer.append(user, inserts, change_set.done)
    await apply(session, user, replace(change_set, done=()))
    return appended


async def apply(session: Session, user: str, change_set: ChangeSet) -> int:
    written = await _write(session, user, "plan", {"plan": change_set_to_json(change_set)}, change_set)
    return written.new + written.other


async def _write(
    session: Session, user: str, what: str, about: dict[str, Any], change_set: ChangeSet, claim: Claim | None = None
) -> Applied:
    check_user(user, (), change_set)
    number = await counters.take(session.cluster, session.names, user, len(change_set.new)) if change_set.new else 0

    def prepare(state: UserState) -> None:
        if claim is not None:
            owned(state.batches, claim)
            return
        batched = {item for batch in state.batches if batch.stage != "embed" for item in batch.items}
        about["plan"]["done"] = [id for id in change_set.done if id not in batched]  # items in batches stay there

    async def write() -> Applied:
        async with user_lock.writing(session, user, what, about, number, redo, prepare) as intent:
            return await _carry_out(session, user, intent, replace(change_set, done=tuple(about["plan"]["done"])))

    return await asyncio.shield(session.cluster.local().start(write(), "memscope-write"))


async def _carry_out(session: Session, user: str, intent: WriteIntent, change_set: ChangeSet) -> Applied:
    pending = PendingWrites(session, user)
    batch = intent.about.get("batch")
    try:
        await pending.read(change_set)
        if batch is None:
            await pending.load(change_set.done)
        written = pending.decide(change_set, intent.number, intent.token)
    except MemscopeError as error:
        if not error.retryable:  # a refusal is final; otherwise the next writer replays the intent
            await user_lock.clear(session, user, intent, lambda state: None)
        raise
    await pending.flush(intent.token)
    if batch is None:
        await settle(session, user, [id for id in change_set.done if id in pending.turns], "consolidate")
    else:
        done = [item for item in change_set.done if item not in written.unsourced]
        await settle(session, user, [item for item in done if item in batch["items"]], batch["stage"])
    await user_lock.clear(session, user, intent, lambda state: _close(state, batch))
    return written


def _close(state: UserState, batch: dict[str, Any] | None) -> None:
    if batch is not None:
        state.batches = [other for other in state.batches if other.id != batch["id"]]
        state.done.append([batch["id"], batch["token"]])


async def redo(session: Session, user: str, intent: WriteIntent) -> None:
    """Replay another writer's intent; drop its change set if it conflicts now."""
    if intent.what == "forget":
        await forget.carry_out(session, user, intent)
        return
    try:
        await _carry_out(session, user, intent, change_set_from_json(intent.about["plan"]))
    except Conflict:
        return


async def finish_abandoned(session: Session) -> None:
    """Finish the operations of dead processes, for all users."""
    now = session.now()
    ended = [
        {"range": {"due": {"lte": now}}},
        {"range": {"due": {"gt": latest_valid_lease(now, session.cluster.options.lease_s)}}},
    ]
    body = {
        "size": MAX_CLAIMABLE_READ,
        "query": {"bool": {"should": ended}},
        "_source": ["user"],
        "track_total_hits": False,
    }
    answer = await session.cluster.search(session.names.work, body, paths="hits.hits._source")
    for hit in answer.get("hits", {}).get("hits", []):
        user = hit["_source"]["user"]
        left = (await user_lock.load(session, user)).intent
        if left is not None and user_lock.abandoned(session, left):
            await redo(session, user, await user_lock.take_over(session, user, left))


# ---- claims


async def claim(session: Session, stage: Stage, limit: int, lease_s: float, user: str | None) -> list[Claim]:
    if user is not None:
        claimed = await claim_one(session, user, stage, limit, lease_s)
        return [claimed] if claimed is not None else []
    await finish_abandoned(session)
    claims: list[Claim] = []
    async for name in due_users(session, stage):
        claimed = await claim_one(session, name, stage, limit, lease_s)
        claims += [claimed] if claimed is not None else []
        if len(claims) == CONCURRENT_USERS:
            break
    return claims


async def due_users(session: Session, stage: Stage) -> Any:
    """Yield users with waiting records from a random start, so that workers rarely compete for one."""
    if stage == "embed":  # this process knows its unrefreshed writes without a search
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
                if claimable(user_lock.read(document).batches, stage, session.now()):
                    yield names[scope]
            if len(scopes) < MAX_CLAIMABLE_READ or len(within) < len(scopes):
                break
            after = scopes[-1]


async def _waiting_scopes(session: Session, stage: Stage, after: str | None) -> list[str]:
    sources: dict[str, Any] = {"size": MAX_CLAIMABLE_READ, "sources": [{"scope": {"terms": {"field": "scope"}}}]}
    if after is not None:
        sources["after"] = {"scope": after}
    body = {"size": 0, "query": {"bool": session.vectors.waiting(stage)}, "aggs": {"scopes": {"composite": sources}}}
    answer = await session.cluster.search(session.names.memory, body, paths="aggregations.scopes.buckets.key")
    return [bucket["key"]["scope"] for bucket in answer.get("aggregations", {}).get("scopes", {}).get("buckets", [])]


async def claim_one(session: Session, user: str, stage: Stage, limit: int, lease_s: float) -> Claim | None:
    state = await user_lock.load(session, user)
    if state.intent is not None and user_lock.abandoned(session, state.intent):
        await redo(session, user, await user_lock.take_over(session, user, state.intent))
        state = await user_lock.load(session, user)
    if not claimable(state.batches, stage, session.now()) or state.intent is not None:
        return None
    formed: Batch | None = None
    if unfinished(state.batches, stage) is None:
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
    change_set = change_set_from_json(batch.plan) if batch.plan is not None else None
    return Claim(batch.id, stage, user, batch.token, until, batch.attempt, tuple(batch.items), texts, change_set)


def _lease(state: UserState, stage: Stage, formed: Batch | None, now: int, until: int) -> Batch | None:
    """Lease the stage's oldest batch, else the one just formed; None if another worker was faster."""
    if not claimable(state.batches, stage, now) or state.intent is not None:
        return None
    first = unfinished(state.batches, stage)
    if first is None:
        if formed is None or _taken(state, stage).intersection(formed.items):
            return None
        state.batches.append(formed)
        first = formed
    rules.lease(state.batches, first, until)
    return first


def _taken(state: UserState, stage: Stage) -> set[str]:
    return {item for batch in state.batches if batch.stage == stage for item in batch.items}


async def _form(session: Session, user: str, stage: Stage, limit: int, state: UserState) -> Batch | None:
    """Form a batch of waiting records, in order; re-read the hits in real time, since searches may be stale."""
    taken = _taken(state, stage)
    if stage == "embed":
        formed: Batch | None = await session.vectors.form(user, limit, taken)
        return formed
    await session.settle()
    items: list[str] = []
    order = ("time", "number") if stage == "reflect" else ("number",)
    async for hits in session.walk(user, session.vectors.waiting(stage), *order, size=limit, _source=["rid"]):
        free = [hit["_source"]["rid"] for hit in hits if hit["_source"]["rid"] not in taken]
        records = await session.load(user, free)
        items += [
            record_id for record_id in free if record_id in records and records[record_id].source.get("wait") == stage
        ]
        if len(items) >= limit:
            break
    return Batch(secrets.token_hex(16), stage, items=items[:limit]) if items else None


# ---- leases


async def extend(session: Session, claim: Claim, lease_s: float) -> Claim:
    until = session.clock() + timedelta(seconds=lease_s)

    def step(state: UserState) -> None:
        owned(state.batches, claim).until = microseconds(until)

    await user_lock.change(session, claim.user, step)
    return replace(claim, until=until)


async def save_reply(session: Session, claim: Claim, change_set: ChangeSet) -> None:
    body = change_set_to_json(change_set)

    def step(state: UserState) -> None:
        owned(state.batches, claim).plan = body

    await user_lock.change(session, claim.user, step)


async def complete(session: Session, claim: Claim, change_set: ChangeSet | None) -> int:
    state = await user_lock.load(session, claim.user)
    if [claim.id, claim.token] in state.done:
        return 0
    batch = owned(state.batches, claim)
    if change_set is None:
        change_set = change_set_from_json(batch.plan) if batch.plan is not None else ChangeSet()
    if claim.stage == "embed":
        await session.vectors.put(claim.user, batch, change_set.vectors)
        await user_lock.change(session, claim.user, lambda state: _close(state, _about(owned(state.batches, claim))))
        await session.vectors.switch_when_full()
        return 0
    about = {
        "plan": change_set_to_json(replace(change_set, vectors={})),
        "batch": {**_about(batch), "items": batch.items},
    }
    return (await _write(session, claim.user, "complete", about, change_set, claim)).new


def _about(batch: Batch) -> dict[str, Any]:
    return {"id": batch.id, "token": batch.token, "stage": batch.stage}


async def fail(session: Session, claim: Claim, code: str, not_before: datetime, counted: bool) -> None:
    def step(state: UserState) -> None:
        batch = owned(state.batches, claim)
        if rules.fail(batch, code, microseconds(not_before), counted=counted):
            batch.plan = None

    await user_lock.change(session, claim.user, step)
    if claim.stage == "embed":
        await session.vectors.switch_when_full()


async def give_back(session: Session, claim: Claim) -> None:
    await user_lock.change(session, claim.user, lambda state: rules.give_back(owned(state.batches, claim)))


async def unpark(session: Session, stage: Stage | None, user: str | None) -> int:
    names = [user] if user is not None else [name async for name, _ in user_lock.troubled(session)]
    return sum([await user_lock.change(session, name, lambda state: _unpark(state, stage)) for name in names])


def _unpark(state: UserState, stage: Stage | None) -> int:
    parked = [batch for batch in state.batches if batch.parked and stage in (None, batch.stage)]
    for batch in parked:
        rules.unpark(batch)
    return len(parked)
