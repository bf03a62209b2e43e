"""Stage ``reflect`` of ``kill.py``: kill workers that place facts under one subject per user.

The real workers of reflect run with an in-process model that replies differently each time, sometimes later than the
lease allows. At the end every fact must be a source of its user's only current insight, or pending.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from killing.mutants import Mutant, done_then_memories, ignore_tokens, no_reply_kept
from killing.processes import USERS, Faults, kill_at_random
from killing.stores import Place

from memscope.config.settings import Settings
from memscope.errors import LeaseLost, StoreBusy
from memscope.jobs.runner import StageJob
from memscope.models import Message, Usage
from memscope.plugins.loader import Plugins
from memscope.records import ChangeSet, Claim, Insight, Json, Observation, Select, TurnInsert
from memscope.reflection import REFLECTION_STEPS, job
from memscope.services import Services
from memscope.stores import Store
from memscope_testing.models import ScriptedChat, data
from memscope_testing.records import observation, turn

WORKERS, FACTS_A_ROUND, PATIENCE_S = 2, 20, 300.0
SUBJECT = "things"


def model(slowest_s: float) -> ScriptedChat:
    chance = random.Random(os.urandom(8))

    async def place(messages: list[Message]) -> Json:
        await asyncio.sleep(chance.uniform(0, slowest_s) if chance.random() < 0.3 else 0.001)
        shown = data(messages)
        known = next((one["n"] for one in shown["insights"] if one["subject"] == SUBJECT), 0)
        text = f"Alice told about {chance.randrange(10**9)} things."
        facts = [one["n"] for one in shown["facts"]]
        told = {"insight": known, "subject": SUBJECT, "text": text, "facts": facts, "replaces": []}
        return {"sentences": [told], "alone": [], "relations": []}

    return ScriptedChat(place)


async def work(place: Place, mutant: Mutant) -> None:
    mutant.break_promise()
    store = await place.open()
    settings, chat = Settings(lease_s=place.lease_s), model(2 * place.lease_s)
    ctx = Services(store, settings, lambda: datetime.now(UTC), Usage(), chat=chat)
    stage = job(ctx, REFLECTION_STEPS, Plugins())
    while True:
        claims: list[Claim] = []
        with suppress(StoreBusy):
            claims = await store.claim("reflect", 5, place.lease_s)
        for claim in claims:
            with suppress(LeaseLost, StoreBusy):
                await reflect(stage, ctx, mutant, claim)
        await asyncio.sleep(0.002)


async def reflect(stage: StageJob, ctx: Services, mutant: Mutant, claim: Claim) -> None:
    store, change_set = ctx.store, claim.change_set
    if change_set is None:
        change_set = await stage.make(ctx, claim)
        await mutant.save(store, claim, change_set)  # type: ignore[misc]
    await mutant.complete(store, claim, change_set)  # type: ignore[misc]


async def say_more(place: Place, round: int) -> None:
    store = await place.open()
    if not (await store.stats()).pending["reflect"]:
        for user in USERS:
            keys = [f"{user}-{round}-{number}" for number in range(FACTS_A_ROUND)]
            turns = [TurnInsert(turn(key, f"words of {key}", user=user, statement=True)) for key in keys]
            facts = tuple(observation(f"f-{key}", key, user=user, text=f"Alice saw thing {key}.") for key in keys)
            await store.append(user, turns, ChangeSet(new=facts))
    await store.close()


async def waiting(place: Place) -> int:
    store = await place.open()
    stats = await store.stats()
    await store.close()
    return sum(counts["reflect"] for counts in (stats.pending, stats.failed, stats.parked))


def wait_until_done(place: Place) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while asyncio.run(waiting(place)) and time.monotonic() < deadline:
        time.sleep(0.05)


def reflect_stage(place: Place, kills: int, chance: random.Random, mutant: Mutant) -> Faults:
    asyncio.run(say_more(place, 0))
    died = kill_at_random(
        place,
        [lambda: work(place, mutant)] * WORKERS,
        kills,
        chance,
        between=lambda number: asyncio.run(say_more(place, number + 1)),
        settle=lambda: wait_until_done(place),
    )
    return replace(asyncio.run(check(place)), died=died)


async def check(place: Place) -> Faults:
    """Count facts under no insight (lost), and subjects with two current insights (doubled)."""
    faults = Faults(corrupt=await place.damage())
    store = await place.open()
    for user in USERS:
        records = [record async for page in store.scan(Select(user)) for record in page]
        facts = {record.id for record in records if isinstance(record, Observation)}
        insights = [record for record in records if isinstance(record, Insight)]
        current = [one for one in insights if one.current]
        pending = {record.id async for page in store.scan(Select(user, pending="reflect")) for record in page}
        faults.turns += len(facts)
        faults.done += len(insights)
        faults.doubled += max(0, len(current) - 1)
        faults.unconsolidated += len(pending)
        faults.lost += len(facts - pending - {source for one in current for source in one.sources})
    await store.close()
    return faults


# ---- stores that break one promise. Normally ids are derived from the batch, so that repeating it is idempotent.


async def complete_with_own_ids(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    """Give each attempt random ids, so that two workers write the same batch unless the lease prevents it, or the check
    that an insight of ``reflect`` supersedes none that another has superseded.
    """
    own = {memory.id: os.urandom(8).hex() for memory in change_set.new}
    new = tuple(replace(memory, id=own[memory.id]) for memory in change_set.new)
    closed = tuple(replace(one, by=own.get(one.by or "", one.by)) for one in change_set.closed)
    await store.complete(claim, replace(change_set, new=new, closed=closed))


async def complete_as_a_person(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    """Pass for a person, whose insights are not checked, so that only the lease prevents it."""
    new = tuple(replace(memory, origin="person") for memory in change_set.new)
    await complete_with_own_ids(store, claim, replace(change_set, new=new))


async def drop_earlier_facts(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    """Drop the sources of the superseded insight, so that the new one only has the new facts."""
    new = tuple(replace(memory, sources=memory.sources[-len(change_set.done) :]) for memory in change_set.new)
    await store.complete(claim, replace(change_set, new=new))


async def leave_the_old_one(store: Store, claim: Claim, change_set: ChangeSet) -> None:
    """Do not close the old insight."""
    await store.complete(claim, replace(change_set, closed=()))


OWN_IDS = Mutant("none", save=no_reply_kept, complete=complete_with_own_ids)  # correct as long as leases are checked
REFLECT_MUTANTS = (
    Mutant("nobody checks the lease", ignore_tokens, save=no_reply_kept, complete=complete_as_a_person),
    Mutant("done, then memories", save=no_reply_kept, complete=done_then_memories),
    Mutant("a new insight drops the facts of the old one", save=no_reply_kept, complete=drop_earlier_facts),
    Mutant("the old insight stays", save=no_reply_kept, complete=leave_the_old_one),
)
