"""Turns that wait for the store while their scope is forgotten do not bring it back; later ones are recorded."""

from __future__ import annotations

import asyncio

import pytest

from adapters.test_outages import Clock, fails, soon, texts, until_written
from memscope import AsyncMemoryScope
from memscope.adapters import write_queue
from memscope.adapters.session import MemorySession, to_turn
from memscope.adapters.write_queue import queue_of
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.scripted import FickleStore

__all__ = ["soon"]


async def test_what_is_forgotten_does_not_come_back():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        session, store.broken = MemorySession("alice", session="one", memory=memory), True
        await session.record([to_turn("user", "My PIN is 1234.")])
        store.broken = False
        await session.clear()
        await session.record([to_turn("user", "My PIN is 1234.")], replay=True)
        await until_written(memory)
        assert await texts(memory) == []


@pytest.mark.parametrize(
    ("forgotten", "comes"),
    [
        ({"everything": True}, False),
        ({"session": "one"}, False),
        ({"session": "two"}, True),
        ({"session": "one", "text": "bees"}, True),
    ],
)
async def test_what_another_process_forgets_meanwhile_does_not_come_back(tmp_path, monkeypatch, forgotten, comes):
    path = tmp_path / "memory.db"
    async with AsyncMemoryScope(path, settings={}) as memory:
        for session in ("one", "two"):
            await MemorySession("alice", session=session, memory=memory).record([to_turn("user", "I keep bees.")])
        attempts = []

        async def failing(*arguments, **more):
            attempts.append(arguments)
            await fails()

        with monkeypatch.context() as patch:
            patch.setattr(SQLiteStore, "append", failing)
            patch.setattr(write_queue, "LATE_WRITE_PAUSE_S", 1000)
            await MemorySession("alice", session="one", memory=memory).record([to_turn("user", "My PIN is 1234.")])
            while len(attempts) < 2:
                await asyncio.sleep(0.01)
        async with AsyncMemoryScope(path, settings={}) as other:
            await other.forget(user="alice", **forgotten)
        await queue_of(memory).flush(memory)
        await MemorySession("alice", session="one", memory=memory).record([to_turn("user", "Hello")])
        assert ("My PIN is 1234." in await texts(memory)) is comes
        assert (await texts(memory))[-1] == "Hello"


async def test_what_is_said_after_a_forget_comes_whatever_the_clock_of_the_memory_says():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}, clock=Clock()) as memory:
        session = MemorySession("alice", session="one", memory=memory)
        await session.record([to_turn("user", "My PIN is 1234.")])
        await session.clear()
        store.broken = True
        await session.record([to_turn("user", "I keep bees.")])
        store.broken = False
        await until_written(memory)
        assert await texts(memory) == ["I keep bees."]


@pytest.mark.parametrize("fails_on", [False, True], ids=["writable", "full"])
@pytest.mark.parametrize(
    "what",
    [
        {"everything": True},
        {"session": "one"},
        {"text": "pin"},
        {"period": ("2026-05-04", "2026-05-05")},
        {"filter": {"secret": True}},
    ],
    ids=str,
)
async def test_forget_reaches_turns_that_wait(what, fails_on):
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}, clock=Clock()) as memory:
        session, other = (MemorySession(user, session="one", memory=memory) for user in ("alice", "bob"))
        await session.record([to_turn("user", "I keep bees.", time="2026-05-01T12:00Z")])
        pin = to_turn("user", "My PIN is 1234.", metadata={"secret": True})
        store.broken = True
        for one in (session, other):
            await one.record([pin, to_turn("user", "I row.", time="2026-05-01T12:05Z")])
        store.broken = False
        with pytest.MonkeyPatch.context() as patch:
            if fails_on:  # such as a full disk, on which forget works
                patch.setattr(store, "append", fails)
            await memory.forget(user="alice", **what)
        await until_written(memory)
        gone = what.keys() & {"everything", "session"}
        assert await texts(memory) == ([] if gone else ["I keep bees.", "I row."])
        assert await texts(memory, "bob") == ["My PIN is 1234.", "I row."]


async def test_a_turn_that_waits_is_forgotten_by_its_id():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        session, store.broken = MemorySession("alice", session="one", memory=memory), True
        await session.record([to_turn("user", "My PIN is 1234.", id="m1"), to_turn("user", "I row.", id="m2")])
        store.broken = False
        report = await memory.forget(user="alice", ids=["m1"])
        await until_written(memory)
        assert (report.turns, await texts(memory)) == (1, ["I row."])
