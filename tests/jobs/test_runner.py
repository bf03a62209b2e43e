"""The machine behind the back end: leases, failures, previews, the background and worker processes."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta

import pytest

from memscope.errors import (
    LeaseLost,
    ModelAuthError,
    ModelRateLimited,
    ModelRejected,
    ModelReplyError,
    ModelTimeout,
    ModelUnavailable,
    StoreBusy,
)
from memscope.jobs.claims import PARKED_REASON, PAUSED_REASON
from memscope.jobs.runner import attempt, run_until_idle
from memscope.pipeline import worker
from memscope.records import MAX_WAIT_S, Select
from memscope.stores import MAX_ATTEMPTS
from memscope_testing.models import ScriptedChat, data

from workbench import STEPS, Gate, NoHooks, clock, consolidate, heard, job, listening, pending, world

__all__ = ["clock", "world"]


# -------------------------------------------------------------------------------------------------------- all the turns


async def test_defect_25_a_hundred_and_thirty_turns_are_all_consolidated_in_batches_of_ten(world):
    await world.say(*(f"word{n}" for n in range(130)))
    report = await world.consolidate(chat=listening())
    assert (report.done, report.pending, report.new) == (130, 0, 130)


async def test_of_all_users_when_none_is_named(world):
    for user in ("alice", "bob", "carol"):
        await world.say("tea", user=user)
    report = await world.consolidate(chat=listening(), user=None)
    assert (report.done, report.new) == (3, 3)


async def test_defect_24_two_at_once_store_once(world):
    await world.say("tea", "coffee")
    chat = listening()
    await asyncio.gather(*(world.consolidate(chat=chat) for _ in range(4)))
    assert sorted(await world.texts()) == ["The user said coffee.", "The user said tea."]
    assert len([prompt for prompt in chat.prompts if "turns" in data(prompt)]) == 1


async def test_t17_the_same_twice_changes_nothing(world):
    await world.say("tea")
    await world.consolidate(chat=listening())
    before = await world.memories()
    report = await world.consolidate()
    assert (report.calls, report.new, report.done) == (0, 0, 0)
    assert await world.memories() == before


async def test_without_a_chat_model_turns_stay_pending_without_an_error(world):
    await world.say("tea")
    ctx = replace(world.ctx(), chat=None)
    report = await consolidate(ctx, "alice")
    assert (report.model, report.pending, dict(report.errors)) == ("none", 1, {})
    assert (await world.consolidate(chat=listening())).new == 1


# ------------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("error", [ModelReplyError("x"), ModelTimeout("x"), ModelRejected("x"), ZeroDivisionError()])
async def test_defect_7_a_poison_batch_is_parked_and_holds_up_nobody(world, error):
    await world.say("poison")
    code = getattr(error, "code", "worker")
    for attempted in range(1, MAX_ATTEMPTS + 1):
        report = await world.consolidate(*[error] * 2)
        assert (report.done, report.pending, dict(report.errors)) == (0, 1, {code: 1}), attempted
        assert (await world.consolidate()).calls == 0, "not before its time"
        world.clock.now += timedelta(hours=1)
    assert await pending(world) == (0, 0, 1)
    assert (await world.store.stats("alice")).errors == {code: 1}
    assert (await world.consolidate()).reason == PARKED_REASON
    await world.say("tea")
    report = await world.consolidate(chat=listening())
    assert (report.new, report.pending, report.errors) == (1, 1, {code: 1})
    assert await world.store.unpark() == 1
    assert (await world.consolidate(chat=listening())).pending == 0


@pytest.mark.parametrize("error", [ModelUnavailable("x"), ModelRateLimited("x"), ModelAuthError("x")])
async def test_an_endpoint_that_is_down_parks_nothing(world, error):
    await world.say("tea")
    for _ in range(3 * MAX_ATTEMPTS):
        assert (await world.consolidate(error)).pending == 1
        world.clock.now += timedelta(minutes=1)
    assert (await pending(world))[2] == 0
    assert (await world.consolidate(chat=listening())).new == 1


async def test_the_server_says_when_to_come_back(world):
    await world.say("tea")
    assert (await world.consolidate(ModelRateLimited("x", retry_after=600))).reason == ""
    world.clock.now += timedelta(seconds=599)
    report = await world.consolidate()
    assert (report.calls, report.reason) == (0, PAUSED_REASON), "else the code looks like that of another try"
    world.clock.now += timedelta(seconds=2)
    assert (await world.consolidate(chat=listening())).new == 1


async def test_a_server_that_asks_for_ages_is_asked_again_after_the_longest_wait(world):
    """A store takes a later time for that of a wrong clock, and claims the batch at once."""
    await world.say("tea")
    await world.consolidate(ModelRateLimited("x", retry_after=1e9))
    world.clock.now += timedelta(seconds=MAX_WAIT_S - 1)
    assert (await world.consolidate()).calls == 0
    world.clock.now += timedelta(seconds=2)
    assert (await world.consolidate(chat=listening())).new == 1


async def test_one_users_failure_is_not_anothers(world):
    await world.say("poison", user="alice")
    await world.say("tea", user="bob")

    def answer(messages):
        return ModelReplyError("x") if "poison" in messages[1]["content"] else heard(messages)

    report = await world.consolidate(chat=ScriptedChat(answer), user=None)
    assert (report.done, report.pending, report.errors) == (1, 1, {"model_reply": 1})


async def test_a_failed_workers_words_are_not_logged(world, caplog):
    await world.say("my secret is xyzzy")

    @worker(reads=["turns"], writes=[])
    async def careless(batch, ctx):
        raise KeyError(batch.turns[0].text)

    with caplog.at_level(logging.DEBUG, "memscope"):
        report = await world.consolidate(steps=[careless])
    assert dict(report.errors) == {"worker": 1}
    assert "KeyError at test_runner.py" in caplog.text
    assert "xyzzy" not in caplog.text


async def test_t12_a_store_that_fails_is_not_reported_as_stored(world, monkeypatch):
    await world.say("tea")
    ctx = world.ctx(chat=listening())

    async def busy(*_):
        raise StoreBusy("locked")

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "complete", busy)
        report = await consolidate(ctx, "alice")
    assert (report.done, report.new, dict(report.errors)) == (0, 0, {"store_busy": 1})
    world.clock.now += timedelta(minutes=2)
    report = await world.consolidate()
    assert (report.new, report.calls) == (1, 0), "the reply was saved before"


# --------------------------------------------------------------------------------------------------------------- leases


async def test_what_a_dead_worker_saved_is_completed_without_the_model(world):
    await world.say("tea")
    ctx = world.ctx(chat=listening())
    work = job(ctx, STEPS)
    (claim,) = await world.store.claim("consolidate", 10, 60)
    await world.store.save_reply(claim, await work.make(ctx, claim))
    world.clock.now += timedelta(minutes=2)
    report = await world.consolidate()
    assert (report.new, report.calls, report.done) == (1, 0, 1)
    assert await world.texts() == ["The user said tea."]


async def test_the_same_batch_makes_the_same_ids_whoever_works_on_it(world):
    await world.say("tea", "coffee")
    ctx = world.ctx(chat=listening())
    (claim,) = await world.store.claim("consolidate", 10, 60)
    change_sets = [await job(ctx).make(ctx, claim) for _ in range(2)]
    assert [memory.id for memory in change_sets[0].new] == [memory.id for memory in change_sets[1].new]
    assert len({memory.id for memory in change_sets[0].new}) == 2


async def test_a_lost_lease_discards_the_reply(world):
    await world.say("tea")
    gate = Gate()
    ctx = world.ctx(chat=gate.chat())
    (claim,) = await world.store.claim("consolidate", 10, 60)
    working = asyncio.create_task(attempt(ctx, job(ctx), claim))
    await gate.asked.wait()
    world.clock.now += timedelta(minutes=2)
    (other,) = await world.store.claim("consolidate", 10, 60)
    gate.open.set()
    assert (await working).code == "lease_lost"
    assert await world.texts() == []
    await world.store.give_back(other)
    assert (await world.consolidate(chat=listening())).new == 1


async def test_a_lost_lease_is_noticed_while_the_model_still_thinks(world):
    world.settings["lease_s"] = 0.06
    await world.say("tea")
    gate = Gate()
    ctx = world.ctx(chat=gate.chat())
    (claim,) = await world.store.claim("consolidate", 10, 0.06)
    working = asyncio.create_task(attempt(ctx, job(ctx), claim))
    await gate.asked.wait()
    await world.store.forget(Select("alice"))
    async with asyncio.timeout(60):
        assert (await working).code == "lease_lost"


async def test_a_model_is_shown_no_turns_again_that_were_forgotten_while_it_thought(world):
    await world.say("tea", "coffee")
    gate = Gate()
    ctx = world.ctx(chat=gate.chat(lambda _: "no JSON"))
    (claim,) = await world.store.claim("consolidate", 10, 60)
    working = asyncio.create_task(attempt(ctx, job(ctx), claim))
    await gate.asked.wait()
    await world.store.forget(Select("alice"))
    gate.open.set()
    assert (await working).code == "lease_lost"
    assert len(ctx.chat.prompts) == 1


async def test_the_lease_is_extended_while_the_model_thinks(world):
    world.settings["lease_s"] = 0.06
    await world.say("tea")
    gate, extended = Gate(), asyncio.Event()
    ctx = world.ctx(chat=gate.chat())
    (claim,) = await world.store.claim("consolidate", 10, 0.06)
    extend, calls = world.store.extend, []

    async def watched(claim, lease_s):
        world.clock.now += timedelta(seconds=0.05)
        calls.append(await extend(claim, lease_s))
        if len(calls) == 3:
            extended.set()

    world.store.extend = watched
    working = asyncio.create_task(attempt(ctx, job(ctx), claim))
    async with asyncio.timeout(60):
        await extended.wait()
        gate.open.set()
        assert (await working).moved


async def test_forget_while_the_model_answers_and_nothing_comes_back(world):
    await world.say("tea with Mallory", "coffee")
    gate = Gate()
    working = asyncio.create_task(world.consolidate(chat=gate.chat()))
    await gate.asked.wait()
    await world.store.forget(Select("alice", ids=frozenset({"t1"})))
    gate.open.set()
    report = await working
    assert report.new == 0
    await world.consolidate(chat=listening())
    assert await world.texts() == ["The user said coffee."]


async def test_a_clock_set_back_loses_nothing(world):
    await world.say("tea")
    await world.consolidate(ModelTimeout("x"))
    world.clock.now -= timedelta(days=1)
    await world.consolidate(chat=listening())
    world.clock.now += timedelta(days=1, hours=1)
    await world.consolidate(chat=listening())
    assert await world.texts() == ["The user said tea."]


# ------------------------------------------------------------------------------------------------- preview and stopping


async def test_a_preview_says_all_and_writes_nothing(world):
    await world.say("tea")
    for _ in range(2 * MAX_ATTEMPTS):
        report = await world.consolidate(chat=listening(), preview=True)
        assert (report.preview, report.new, report.done, report.pending) == (True, 1, 0, 1)
        assert report.actions[0]["text"] == "The user said tea."
    assert await world.texts() == []
    assert await pending(world) == (1, 0, 0)
    assert (await world.consolidate(chat=listening())).new == 1


async def test_a_preview_of_all_users_ends(world):
    for user in ("alice", "bob"):
        await world.say("tea", user=user)
    async with asyncio.timeout(60):
        report = await world.consolidate(chat=listening(), user=None, preview=True)
    assert (report.new, report.pending, dict(report.errors)) == (2, 2, {})


async def test_a_cancelled_call_gives_its_batch_back_at_once(world):
    await world.say("tea")
    gate = Gate()
    working = asyncio.create_task(world.consolidate(chat=gate.chat()))
    await gate.asked.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert (await world.consolidate(chat=listening())).new == 1


# ---------------------------------------------------------------------------------------------------------------- hooks


async def test_plugins_see_the_batch_before_the_model_and_the_report_after(world):
    seen = []

    class Redactor(NoHooks):
        async def before(self, operation, value, **context):
            return [replace(turn, text=turn.text.replace("9264", "****")) for turn in value]

        async def after(self, operation, value, **context):
            seen.append((operation, value.new, context["scope"].user))

    await world.say("My PIN is 9264")
    ctx = world.ctx(chat=listening())
    report = await consolidate(ctx, "alice", hooks=Redactor())
    assert report.new == 1
    assert "is 9264" not in str(ctx.chat.prompts)
    assert await world.texts() == ["The user said My PIN is ****."]
    assert seen == [("consolidate", 1, "alice")]


async def test_a_plugin_that_refuses_leaves_the_turns_pending(world):
    class Refusing(NoHooks):
        async def before(self, operation, value, **context):
            raise LeaseLost("no")

    await world.say("tea")
    ctx = world.ctx()
    report = await run_until_idle(ctx, job(ctx, STEPS, Refusing()), user="alice")
    assert (report.done, report.calls) == (0, 0)
