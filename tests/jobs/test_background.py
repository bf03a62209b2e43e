"""The back end running by itself: a worker process, and the background of a process."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from memscope.consolidation import job
from memscope.errors import ModelUnavailable
from memscope.jobs.background import Background, serve
from memscope.records import ChangeSet
from memscope.testing.models import ScriptedChat

from workbench import Gate, clock, listening, pending, world

__all__ = ["clock", "world"]

# ----------------------------------------------------------------------------------------------------- a worker process


async def test_a_worker_process_works_until_it_is_told_to_stop(world):
    world.settings["poll_s"] = 0.01
    ctx, stop = world.ctx(chat=listening()), asyncio.Event()
    serving = asyncio.create_task(serve(ctx, [job(ctx)], stop))
    for said in ("tea", "coffee"):
        await world.say(said)
        async with asyncio.timeout(10):
            while not any(said in text for text in await world.texts()):
                await asyncio.sleep(0.01)
    stop.set()
    async with asyncio.timeout(10):
        await serving


async def test_a_worker_that_is_stopped_in_the_middle_gives_its_batch_back(world):
    await world.say("tea")
    gate, stop = Gate(), asyncio.Event()
    ctx = world.ctx(chat=gate.chat())
    serving = asyncio.create_task(serve(ctx, [job(ctx)], stop, drain_s=0.01))
    await gate.asked.wait()
    stop.set()
    async with asyncio.timeout(10):
        await serving
    assert (await world.consolidate(chat=listening())).new == 1


async def test_an_embedder_that_is_down_keeps_no_fact_away(world):
    await world.say("tea")
    ctx, stop = replace(world.ctx(chat=listening()), embedder=Down()), asyncio.Event()
    serving = asyncio.create_task(serve(ctx, [job(ctx)], stop))
    await until(lambda: _count(world, 1))
    stop.set()
    await serving


class Down:
    async def measure(self):
        raise ModelUnavailable("down")

    async def embed(self, texts):
        raise ModelUnavailable("down")


async def test_a_worker_says_once_what_is_wrong(world, caplog):
    world.settings |= {"poll_s": 0.001, "retry_s": 0.001}
    await world.say("tea")
    calls, enough, stop = [], asyncio.Event(), asyncio.Event()

    def answer(messages):
        world.clock.now += timedelta(minutes=1)
        calls.append(1)
        if len(calls) == 4:
            enough.set()
        return ModelUnavailable("down")

    ctx = world.ctx(chat=ScriptedChat(answer))
    serving = asyncio.create_task(serve(ctx, [job(ctx)], stop))
    async with asyncio.timeout(10):
        await enough.wait()
    stop.set()
    await serving
    assert caplog.text.count("model_unavailable") == 1


# ------------------------------------------------------------------------------------------------------- the background


async def background(world, chat, **settings):
    world.settings |= {"idle_s": 3600, "poll_s": 3600, "batch_turns": 3, **settings}
    ctx = world.ctx(chat=chat)
    work = job(ctx)
    return Background(ctx, work, replace(work, stage="reflect", make=nothing))


async def nothing(ctx, claim):
    return ChangeSet(done=claim.items)


async def until(condition):
    async with asyncio.timeout(10):
        while not await condition():
            await asyncio.sleep(0.005)


async def test_a_full_batch_is_consolidated_and_a_beginning_one_waits(world):
    running = await background(world, listening())
    running.start()
    await asyncio.sleep(0)
    await until(lambda: _swept(running))
    await world.say("one", "two")
    running.turns_added("alice", 2)
    await asyncio.sleep(0)
    assert await world.texts() == []
    await world.say("three")
    running.turns_added("alice", 1)
    await until(lambda: _count(world, 3))
    assert await pending(world, "reflect") == (3, 0, 0), "only when the user is idle"
    await running.stop()


async def test_an_idle_user_is_consolidated_and_reflected(world):
    running = await background(world, listening(), idle_s=0.02)
    running.start()
    await world.say("one")
    running.turns_added("alice", 1)
    await until(lambda: _seen(world))
    await running.stop()


async def test_the_backlog_is_taken_at_the_start(world):
    await world.say("one")
    running = await background(world, listening())
    running.start()
    running.start()
    await until(lambda: _count(world, 1))
    await running.stop()


async def test_stop_gives_back_what_hangs(world):
    gate = Gate()
    await world.say("one")
    running = await background(world, gate.chat())
    running.start()
    await gate.asked.wait()
    async with asyncio.timeout(10):
        await running.stop(drain_s=0.01)
    assert (await world.consolidate(chat=listening())).new == 1


async def _count(world, number):
    return len(await world.texts()) == number


async def _swept(running):
    return not running._tasks


async def _seen(world):
    return await _count(world, 1) and await pending(world, "reflect") == (0, 0, 0)
