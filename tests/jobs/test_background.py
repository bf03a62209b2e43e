"""The back end running by itself: a worker process, and the background of a process."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from datetime import timedelta

from memscope.errors import ModelUnavailable
from memscope.jobs.background import Background, serve
from memscope.jobs.pace import Poller
from memscope.records import ChangeSet
from memscope_testing.models import ScriptedChat

from workbench import Gate, clock, job, listening, pending, world

__all__ = ["clock", "world"]


def be_quiet(world, hours=12):
    world.clock.now += timedelta(hours=hours)


# ----------------------------------------------------------------------------------------------------- a worker process


async def test_a_worker_process_works_until_it_is_told_to_stop(world):
    world.settings["poll_s"] = 0.01
    ctx, stop = world.ctx(chat=listening()), asyncio.Event()
    serving = asyncio.create_task(serve(ctx, [job(ctx)], stop))
    for said in ("tea", "coffee"):
        await world.say(said)
        be_quiet(world)
        async with asyncio.timeout(60):
            while not any(said in text for text in await world.texts()):
                await asyncio.sleep(0.01)
    stop.set()
    async with asyncio.timeout(60):
        await serving


async def test_a_worker_that_is_stopped_in_the_middle_gives_its_batch_back(world):
    await world.say("tea")
    be_quiet(world)
    gate, stop = Gate(), asyncio.Event()
    ctx = world.ctx(chat=gate.chat())
    serving = asyncio.create_task(serve(ctx, [job(ctx)], stop, drain_s=0.01))
    await gate.asked.wait()
    stop.set()
    async with asyncio.timeout(60):
        await serving
    assert (await world.consolidate(chat=listening())).new == 1


async def test_an_embedder_that_is_down_keeps_no_fact_away(world):
    await world.say("tea")
    be_quiet(world)
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
    be_quiet(world)
    calls, enough, stop = [], asyncio.Event(), asyncio.Event()

    def answer(messages):
        world.clock.now += timedelta(minutes=1)
        calls.append(1)
        if len(calls) == 4:
            enough.set()
        return ModelUnavailable("down")

    ctx = world.ctx(chat=ScriptedChat(answer))
    serving = asyncio.create_task(serve(ctx, [job(ctx)], stop))
    async with asyncio.timeout(60):
        await enough.wait()
    stop.set()
    await serving
    assert caplog.text.count("model_unavailable") == 1


# ------------------------------------------------------------------------------------------------------- the background


async def background(world, chat, *, after=lambda: None, **settings):
    world.settings |= {"idle_s": 3600, "poll_s": 3600, "batch_turns": 3, **settings}
    ctx = world.ctx(chat=chat)
    work = job(ctx)
    thinking = replace(work, stage="reflect", make=nothing, limit=ctx.settings.reflection.batch)
    return Background(ctx, work, thinking, after=after)


async def nothing(ctx, claim):
    return ChangeSet(done=claim.items)


async def until(condition):
    async with asyncio.timeout(60):
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


async def test_only_users_of_this_process_are_worked_on_and_what_was_left_of_theirs(world):
    for user in ("alice", "bob", "carol"):
        await world.say(f"{user} said this earlier", user=user)
    swept = []
    running = await background(world, listening(), after=lambda: swept.append(1), idle_s=0.02, poll_s=0.02)
    running.everyone = False
    running.user_seen("alice")
    running.start()
    running.turns_added("carol", 1)
    await until(lambda: _count(world, 1))
    await until(lambda: _count(world, 1, user="carol"))
    swept.clear()
    await until(lambda: _more_than(swept, 2))
    assert await world.texts(user="bob") == []
    await running.stop()


async def test_what_failed_is_tried_again_for_own_users_too(world):
    world.settings["retry_s"] = 0.01
    errors, well = [ModelUnavailable("down")] * 2, listening()

    async def answer(messages):
        return errors.pop() if errors else (await well.chat(messages)).text

    running = await background(world, ScriptedChat(answer), poll_s=0.02)
    running.everyone = False
    running.start()
    await world.say("one", "two", "three")
    running.turns_added("alice", 3)

    async def later():
        world.clock.now += timedelta(seconds=1)
        return await _count(world, 3)

    await until(later)
    await running.stop()


async def test_an_idle_user_is_consolidated_and_reflected(world):
    running = await background(world, listening(), idle_s=0.02, reflection={"batch": 1})
    running.start()
    await world.say("one")
    running.turns_added("alice", 1)
    await until(lambda: _seen(world))
    await running.stop()


async def test_the_backlog_is_taken_at_the_start(world):
    await world.say("one")
    be_quiet(world)
    running = await background(world, listening())
    running.start()
    running.start()
    await until(lambda: _count(world, 1))
    await running.stop()


async def test_stop_right_after_a_turn_ends(world):
    running = await background(world, listening())
    running.start()
    await until(lambda: _swept(running))
    running.turns_added("alice", 1)
    async with asyncio.timeout(60):
        await running.stop()


async def test_stop_before_its_work_began_warns_of_nothing(world, recwarn):
    running = await background(world, listening())
    running.start()
    while not running._tasks:
        await asyncio.sleep(0)
    await running.stop(drain_s=0)
    gc.collect()
    assert [str(one.message) for one in recwarn] == []


async def test_stop_gives_back_what_hangs(world):
    gate = Gate()
    await world.say("one")
    be_quiet(world)
    running = await background(world, gate.chat())
    running.start()
    await gate.asked.wait()
    async with asyncio.timeout(60):
        await running.stop(drain_s=0.01)
    assert (await world.consolidate(chat=listening())).new == 1


# ------------------------------------------------------------------------------------------------------------- the pace


async def round_of(world, rounds=None):
    """One round of a worker process."""
    rounds = rounds or Poller(world.ctx(chat=listening()), [job(world.ctx(chat=listening()))])
    return await rounds.work()


async def test_a_worker_process_waits_for_a_full_batch_or_for_quiet(world):
    world.settings |= {"batch_turns": 3, "idle_s": 900}
    await world.say("one")
    await round_of(world)
    assert await world.texts() == [] and await pending(world) == (1, 0, 0)
    await world.say("two", "three", "four")
    await round_of(world)
    assert len(await world.texts()) == 3, "full, with the turn that was looked at before"
    await round_of(world)
    assert await pending(world) == (1, 0, 0), "the next one fills"
    world.clock.now += timedelta(minutes=20)
    await round_of(world)
    assert await pending(world) == (1, 0, 0), "less than half a batch: it waits for the next sitting"
    world.clock.now += timedelta(hours=2)
    await round_of(world)
    assert await pending(world) == (0, 0, 0)


async def test_two_sittings_that_make_half_a_batch_are_one_call(world):
    world.settings |= {"batch_turns": 8, "idle_s": 900}
    await world.say("one", "two", session="morning")
    world.clock.now += timedelta(minutes=75)
    await round_of(world)
    assert await pending(world) == (2, 0, 0)
    await world.say("three", "four", session="noon", recorded=world.clock.now)
    await round_of(world)
    assert await pending(world) == (4, 0, 0), "the talk goes on"
    world.clock.now += timedelta(minutes=16)
    (done,) = [result for result in await round_of(world) if result.moved]
    assert len(done.change_set.done) == 4


async def test_users_whose_batches_fill_hide_no_other(world):
    world.settings |= {"idle_s": 900}
    await world.say("long ago", user="old")
    be_quiet(world)
    for n in range(20):
        await world.say("now", user=f"user {n}", recorded=world.clock.now)
    await world.say("long ago too", user="zoe")
    results = await round_of(world)
    assert {result.user for result in results if result.moved} == {"old", "zoe"}
    assert {result.user for result in results if result.due_in_s} == {f"user {n}" for n in range(20)}


async def test_facts_wait_for_a_batch_or_a_day(world):
    world.settings |= {"reflection": {"batch": 3, "wait_s": 86_400}, "idle_s": 900}
    ctx, seen = world.ctx(chat=listening()), []

    async def reflect(ctx, claim):
        seen.append(len(claim.items))
        return ChangeSet(done=claim.items)

    rounds = Poller(ctx, [job(ctx), replace(job(ctx), stage="reflect", make=reflect, limit=3)])
    await world.say("one", "two")
    be_quiet(world)
    await rounds.work()
    assert (seen, await pending(world, "reflect")) == ([], (2, 0, 0))
    await world.say("three")
    be_quiet(world)
    await rounds.work()
    assert (seen, await pending(world, "reflect")) == ([3], (0, 0, 0))
    await world.say("four")
    be_quiet(world)
    await rounds.work()
    be_quiet(world, hours=25)
    await Poller(ctx, rounds.jobs).work()
    assert seen == [3, 1]


async def test_a_user_whose_facts_failed_is_looked_at_again_though_few_wait(world):
    world.settings |= {"reflection": {"wait_s": 86_400}, "retry_s": 1}
    errors = [ModelUnavailable("down")]

    async def reflect(ctx, claim):
        if errors:
            raise errors.pop()
        return ChangeSet(done=claim.items)

    await world.say("one")
    await world.consolidate(chat=listening())
    be_quiet(world, hours=25)
    ctx = world.ctx(chat=listening())
    rounds = Poller(ctx, [job(ctx), replace(job(ctx), stage="reflect", make=reflect)])
    assert [result.code for result in await rounds.work()] == ["model_unavailable"]
    world.clock.now += timedelta(minutes=1)
    await rounds.work()
    assert await pending(world, "reflect") == (0, 0, 0)


async def test_the_next_run_takes_what_an_earlier_one_left_of_its_user(world):
    await world.say("left", "behind")
    await world.say("of nobody here", user="bob")
    be_quiet(world)
    running = await background(world, listening(), batch_turns=10)
    running.everyone = False
    running.start()
    await world.say("new", recorded=world.clock.now)
    running.turns_added("alice", 1)
    await until(lambda: _count(world, 3))
    assert await world.texts(user="bob") == []
    await running.stop()


async def test_what_an_earlier_run_left_just_now_waits_for_more(world):
    await world.say("left")
    world.clock.now += timedelta(minutes=5)
    running = await background(world, listening(), idle_s=900)
    running.everyone = False
    running.start()
    running.user_seen("alice")
    await until(lambda: _more_than(running._unfinished, 0))
    assert await world.texts() == []
    await world.say("two", "three")
    running.turns_added("alice", 3)
    await until(lambda: _count(world, 3))
    await running.stop()


async def test_after_a_full_batch_the_rest_waits_for_more(world):
    running = await background(world, listening())
    running.everyone = False
    running.start()
    await world.say("one", "two", "three", "four")
    running.turns_added("alice", 4)
    await until(lambda: _count(world, 3))
    await until(lambda: _swept(running))
    assert await pending(world) == (1, 0, 0)
    await running.stop()


async def test_sweeps_leave_a_beginning_batch_to_fill(world):
    """Each sweep looks at all users; what it claimed and gave back stayed a batch of its own."""
    swept = []
    running = await background(world, listening(), after=lambda: swept.append(1), poll_s=0.01)
    running.start()
    for n, text in enumerate(("one", "two", "three"), 1):
        await world.say(text)
        running.turns_added("alice", 1)
        if n < 3:
            swept.clear()
            await until(lambda: _more_than(swept, 2))
            assert await world.texts() == []
    await until(lambda: _count(world, 3))
    await running.stop()


async def test_a_turn_of_one_user_asks_nothing_of_the_others(world, monkeypatch):
    running, looked_at, due = await background(world, listening()), [], Background._due
    monkeypatch.setattr(Background, "_due", lambda self, waiting: looked_at.append(1) or due(self, waiting))
    running.start()
    for number in range(300):
        running.turns_added(f"user {number}", 1)
        await asyncio.sleep(0)
    await running.stop()
    assert len(looked_at) < 1000


async def _count(world, number, user="alice"):
    return len(await world.texts(user=user)) == number


async def _more_than(seen, number):
    return len(seen) > number


async def _swept(running):
    return not running._tasks


async def _seen(world):
    return await _count(world, 1) and await pending(world, "reflect") == (0, 0, 0)
