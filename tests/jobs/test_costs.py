"""Costs of the back end in the store, and the budget beyond which work waits."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from memscope import AsyncMemoryScope
from memscope.config.settings import load
from memscope.errors import ConfigError
from memscope.jobs.costs import CounterStore, count_facts
from memscope.records import Stats
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope_cli.app import cli
from memscope_testing.models import ScriptedChat, data

from workbench import Clock, fact, noted

__all__: list[str] = []
CHAT = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}


def noting():
    """A model that notes each turn as it is."""

    def answer(messages):
        lines = [line for line in data(messages)["turns"] if not line.get("context")]
        facts = [fact(line["text"], (line["n"], line["text"]), level=3) for line in lines]
        return noted(*facts, levels={line["n"]: 3 for line in lines})

    return ScriptedChat(answer)


def remembering(store, clock, budget, chat=None, **settings):
    given = {"chat": {**CHAT, "budget": budget}, "timezone": "Europe/Berlin", "batch_turns": 1, **settings}
    return AsyncMemoryScope(store, settings=given, chat=chat or noting(), clock=clock)


async def add(memory, *texts, user="alice"):
    for text in texts:
        await memory.add_turns([{"role": "user", "content": text}], user=user)


async def test_beyond_the_budget_work_waits_and_goes_on_when_the_hour_is_over(tmp_path):
    clock = Clock()
    path = tmp_path / "memory.db"
    async with remembering(SQLiteStore(path, clock=clock), clock, {"calls_per_hour": 2}) as memory:
        await add(memory, "I like tea", "I play chess", "I live in Rome")
        report = await memory.consolidate(user="alice")
        assert (report.done, report.pending, dict(report.errors)) == (2, 1, {"budget_spent": 1})
        status = await memory.admin.status()
        (limit,) = status["budget"]
        assert (limit["name"], limit["most"], limit["spent"]) == ("calls_per_hour", 2, 2)
        assert limit["until"] == "2026-11-05T14:00+01:00"
        assert status["failed"]["consolidate"] == 1
        assert status["errors"] == {"budget_spent": 1}
    async with remembering(SQLiteStore(path, clock=clock), clock, {"calls_per_hour": 2}) as memory:  # another process
        clock.now += timedelta(minutes=59)
        assert (await memory.consolidate(user="alice")).calls == 0
        clock.now += timedelta(minutes=2)
        report = await memory.consolidate(user="alice")
        assert (report.done, report.pending, report.calls) == (1, 0, 1)


async def test_a_days_budget_ends_at_midnight_in_the_zone_of_the_settings():
    clock = Clock()
    async with remembering(InMemoryStore(clock=clock), clock, {"tokens_per_day": 1}) as memory:
        await add(memory, "I like tea", "I play chess")
        assert (await memory.consolidate(user="alice")).done == 1
        for _ in range(10):  # 12:00 in UTC, 13:00 in Berlin
            clock.now += timedelta(hours=1)
            assert (await memory.consolidate(user="alice")).calls == 0
        assert (await memory.admin.status())["parked"]["consolidate"] == 0, "waiting is no failure of the batch"
        clock.now += timedelta(hours=1, minutes=1)
        assert (await memory.consolidate(user="alice")).done == 1


async def test_a_bound_on_tokens_counts_replies_and_is_shared_by_users():
    clock = Clock()
    async with remembering(InMemoryStore(clock=clock), clock, {"tokens_per_hour": 3000}) as memory:
        await add(memory, "I like tea")
        await add(memory, "I play chess", user="bob")
        await memory.consolidate()
        spent = (await memory.admin.status())["costs"]["consolidate"]
        both = [(await memory.admin.status(user=user))["costs"]["consolidate"] for user in ("alice", "bob")]
        assert spent["tokens"] > spent["characters"] / 6
        assert spent == {name: sum(one[name] for one in both) for name in spent}
        assert (await memory.admin.status(user="carol"))["costs"] == {}


async def test_the_costs_per_thousand_turns_are_those_of_the_turns_that_were_read():
    clock = Clock()
    async with remembering(InMemoryStore(clock=clock), clock, {"calls_per_hour": 2}) as memory:
        assert (await memory.admin.status())["costs_per_1000_turns"] == {}
        for user in ("alice", "bob", "carol"):  # there is no call left for the third
            await add(memory, "I like tea", user=user)
            await memory.consolidate(user=user)
        status = await memory.admin.status()
        spent, per = status["costs"]["consolidate"], status["costs_per_1000_turns"]
        read = status["turns"] - status["failed"]["consolidate"] - status["pending"]["consolidate"]
        assert (spent["calls"], read) == (2, 2)
        assert per == {"calls": 1000, "tokens": round(1000 * spent["tokens"] / 2)}


async def test_costs_are_of_the_store_and_kept_by_operation(tmp_path):
    clock = Clock()
    for text in ("I like tea", "I play chess"):
        async with remembering(SQLiteStore(tmp_path / "m.db", clock=clock), clock, None) as memory:
            await add(memory, text)
            await memory.consolidate(user="alice")
    async with remembering(SQLiteStore(tmp_path / "m.db", clock=clock), clock, None) as memory:
        status = await memory.admin.status(user="alice")
    assert status["costs"]["consolidate"]["calls"] == 2
    assert status["budget"] == []
    assert b"alice" not in (tmp_path / "m.db").read_bytes().partition(b"counters user")[2][:64]


async def test_costs_of_calls_that_failed_count_too():
    clock = Clock()
    chat = noting()

    async def broken(*args, **more):
        await type(chat).chat(chat, *args, **more)
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    async with remembering(InMemoryStore(clock=clock), clock, None) as memory:
        await add(memory, "I like tea")
        memory.admin.runtime.services.chat.chat = broken
        with pytest.raises(asyncio.CancelledError):
            await memory.consolidate(user="alice")
        assert (await memory.admin.status())["costs"]["consolidate"]["calls"] == 1


async def test_a_store_without_counters_is_counted_in_the_process():
    clock = Clock()
    store = InMemoryStore(clock=clock)
    assert not isinstance(store, CounterStore)
    async with remembering(store, clock, {"calls_per_hour": 1}) as memory:
        await add(memory, "I like tea", "I play chess")
        assert (await memory.consolidate(user="alice")).done == 1
        assert (await memory.admin.status())["costs"]["consolidate"]["calls"] == 1


async def test_counters_of_many_tasks_add_up_and_are_in_no_export(tmp_path):
    def add_one(counts):
        counts["calls"] = counts.get("calls", 0) + 1

    async with AsyncMemoryScope(tmp_path / "m.db") as memory:
        store = memory.admin.runtime.services.store
        await asyncio.gather(*(store.change_counters("whole", add_one) for _ in range(50)))
        assert await store.counters("whole") == {"calls": 50}
        await memory.admin.export(tmp_path / "all.jsonl")
    assert "counters" not in (tmp_path / "all.jsonl").read_text()


async def test_refused_facts_are_told_by_the_next_process_too(tmp_path):
    clock = Clock()
    wrong = fact("The user owns a boat.", "my boat")
    reply = noted(fact("The user likes tea.", "I like tea"), wrong, wrong)
    async with remembering(SQLiteStore(tmp_path / "m.db"), clock, None, ScriptedChat([reply])) as memory:
        await add(memory, "I like tea")
        await memory.consolidate(user="alice")
    async with remembering(SQLiteStore(tmp_path / "m.db"), clock, None, ScriptedChat([])) as memory:
        status = await memory.admin.status()
        assert status["facts"] == {"replies": 1, "kept": 1, "no_quote": 2}
        assert status["refused"].startswith("67 %") and status["refused"].endswith("no_quote")
        assert isinstance(await memory.admin.runtime.services.store.stats(), Stats)


@pytest.mark.parametrize("budget", [{"calls_per_hour": 0}, {"calls": 3}, {"tokens_per_day": "many"}, "10"])
def test_a_budget_is_checked(budget):
    with pytest.raises(ConfigError, match="budget"):
        load({"chat": {**CHAT, "budget": budget}})


def test_status_and_doctor_show_costs_budget_and_refusals(tmp_path):
    config = tmp_path / "memscope.yaml"
    chat = "{base_url: 'http://127.0.0.1:9/v1', model: m, budget: {calls_per_day: 1}}"
    config.write_text(f"store: {tmp_path}/m.db\nchat: {chat}\n")

    async def spend():
        clock = Clock()
        clock.now = datetime.now(UTC)
        chat = noting()
        chat.name = "m"
        settings = load(config)
        async with AsyncMemoryScope(settings=settings, chat=chat, clock=clock) as memory:
            await add(memory, "I like tea")
            await memory.consolidate(user="alice")
            await count_facts(memory.admin.runtime.services, {"no_quote": 1, "dates": 20, "wrong_date": 8})

    asyncio.run(spend())
    shown = CliRunner().invoke(cli, ["--config", str(config), "status"]).output
    assert "costs         consolidate: 1 call, " in shown
    assert "per 1,000 turns: 1,000 calls, " in " ".join(shown.split())
    assert "budget        calls_per_day: 1 of 1 used up, work waits until " in shown
    checked = CliRunner().invoke(cli, ["--config", str(config), "doctor"]).output
    assert "calls_per_day: 1 of 1 used up" in checked
    assert re.search("m: 50 % .*no_quote", checked)
    assert re.search("m: 40 % .*wrong_date", checked) and "makes up dates" in " ".join(checked.split())
    assert "no_quote; 40 %" in " ".join(shown.split())
