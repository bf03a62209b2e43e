"""Calls wait for work that another worker holds, take over from one that died, or say who has it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ModelTimeout
from memscope.jobs.claims import PAUSED_REASON
from memscope.jobs.runner import attempt, run_until_idle
from memscope_testing.models import ScriptedChat

from workbench import Gate, clock, job, listening, world

__all__ = ["clock", "world"]


async def waiting_call(world, chat, user="alice"):
    """A call under way that another worker's lease keeps waiting."""
    ctx, asked, claim = world.ctx(chat=chat), asyncio.Event(), world.store.claim

    async def watched(*args, **given):
        found = await claim(*args, **given)
        if not found:
            asked.set()
        return found

    world.store.claim = watched
    working = asyncio.create_task(run_until_idle(ctx, job(ctx), user=user))
    async with asyncio.timeout(60):
        await asked.wait()
    return working


@pytest.mark.parametrize("user", ["alice", None])
async def test_a_call_waits_for_another_workers_batch_and_does_the_rest(world, user):
    await world.say(*(f"word{n}" for n in range(12)))
    ctx = world.ctx(chat=listening())
    (claim,) = await world.store.claim("consolidate", 10, 60)
    working = await waiting_call(world, listening(), user=user)
    await attempt(ctx, job(ctx), claim)
    async with asyncio.timeout(60):
        report = await working
    assert (report.done, report.pending, dict(report.errors), report.reason) == (2, 0, {}, "")
    assert len(await world.texts()) == 12


async def test_a_call_ends_well_where_another_worker_did_it_all(world):
    await world.say("tea")
    ctx = world.ctx(chat=listening())
    (claim,) = await world.store.claim("consolidate", 10, 60)
    working = await waiting_call(world, ScriptedChat([]))
    await attempt(ctx, job(ctx), claim)
    async with asyncio.timeout(60):
        report = await working
    assert (report.done, report.pending, dict(report.errors)) == (0, 0, {})


async def test_a_call_takes_over_from_a_worker_that_died(world):
    await world.say("tea")
    await world.store.claim("consolidate", 10, 60)
    working = await waiting_call(world, listening())
    world.clock.now += timedelta(minutes=2)
    async with asyncio.timeout(60):
        report = await working
    assert (report.done, report.pending) == (1, 0)


async def test_a_call_says_that_another_worker_has_it_where_that_takes_too_long(world):
    await world.say("tea", "coffee")
    await world.store.claim("consolidate", 10, 60)
    world.settings["lease_s"] = 0.03
    async with asyncio.timeout(60):
        report = await (await waiting_call(world, ScriptedChat([])))
    assert (report.done, report.pending, dict(report.errors)) == (0, 2, {"another_worker": 1})
    assert report.reason


async def test_a_call_waits_for_no_batch_that_failed(world):
    await world.say("poison")
    await world.consolidate(*[ModelTimeout("x")] * 2)
    await world.say("tea")
    ctx = world.ctx()
    async with asyncio.timeout(60):
        report = await run_until_idle(ctx, job(ctx), user="alice")
    assert (report.pending, dict(report.errors), report.reason) == (2, {"model_timeout": 1}, PAUSED_REASON)


async def test_memory_waits_for_its_own_background():
    gate = Gate()
    async with AsyncMemoryScope(":memory:", chat=gate.chat(), settings={"idle_s": 0.01, "poll_s": 0.01}) as memory:
        await memory.add_turns([{"role": "user", "content": "tea"}], user="alice")
        await memory.admin.start()
        await gate.asked.wait()
        told = asyncio.create_task(memory.consolidate(user="alice"))
        await asyncio.sleep(0.05)
        assert not told.done()
        gate.open.set()
        async with asyncio.timeout(60):
            report = await told
        assert (report.pending, dict(report.errors)) == (0, {})
        assert [one.text for one in await memory.list(user="alice", kinds=["observation"])] == ["The user said tea."]
