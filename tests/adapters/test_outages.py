"""An outage of the store loses nothing that an agent hears meanwhile: it is recorded later, once, with its time."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from adapters.autogen.talking import agent_with as assistant
from adapters.langchain.talking import agent_with
from memscope import AsyncMemoryScope
from memscope.adapters import write_queue
from memscope.adapters.runs import begin_run
from memscope.adapters.session import MemorySession, SessionPool, to_turn
from memscope.adapters.write_queue import Write, queue_of
from memscope.errors import StoreUnavailable
from memscope.records import Scope
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope_autogen import MemoryScopeMemory
from memscope_langchain import MemoryScopeMiddleware
from memscope_testing.scripted import FickleStore, ScriptedModel

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class MuteStore(InMemoryStore):
    """A store that takes turns and loses its answers, for as long as ``is_mute``."""

    is_mute = False

    async def append(self, *arguments, **more):
        result = await super().append(*arguments, **more)
        if self.is_mute:
            raise StoreUnavailable("no answer")
        return result


class Clock:
    """Each reading is a second later."""

    def __init__(self):
        self.now = NOON

    def __call__(self):
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(write_queue, "LATE_WRITE_PAUSE_S", 0.01)


async def turns_of(memory, user="alice"):
    return list(await memory.list(user=user, kinds=["turn"]))


async def texts(memory, user="alice"):
    return [turn.text for turn in await turns_of(memory, user)]


async def until_written(memory):
    async with asyncio.timeout(30):
        while queue_of(memory).late:
            await asyncio.sleep(0.01)


@pytest.fixture(params=[FickleStore, MuteStore])
def store(request):
    return request.param()


def fail(store, *, now):
    setattr(store, "broken" if isinstance(store, FickleStore) else "is_mute", now)


# ---- agents of frameworks


async def test_langchain(store):
    async with AsyncMemoryScope(store, settings={}) as memory:
        agent = agent_with(MemoryScopeMiddleware(memory=memory), ScriptedModel(), checkpointer=InMemorySaver())

        async def say(text, thread="one", user="alice"):
            configurable = {"configurable": {"user_id": user, "thread_id": thread}}
            await agent.ainvoke({"messages": [("user", text)]}, configurable)

        await say("I keep bees.")
        fail(store, now=True)
        for text in ("ok", "My boat is called Aurora.", "ok"):
            await say(text)
        await say("I am Bob.", "two", "bob")
        fail(store, now=False)
        await say("Thanks!")
        await until_written(memory)
        said = [text for text in await texts(memory) if not text.startswith("Understood")]
        assert said == ["I keep bees.", "ok", "My boat is called Aurora.", "ok", "Thanks!"]
        assert len(await texts(memory)) == 10
        assert (await texts(memory, "bob"))[0] == "I am Bob."
        assert len(await texts(memory, "bob")) == 2


async def test_autogen(store):
    async with AsyncMemoryScope(store, settings={}) as memory:
        agent = assistant(MemoryScopeMemory(user="alice", memory=memory), ScriptedModel())
        await agent.run(task="I keep bees.")
        fail(store, now=True)
        for text in ("ok", "My boat is called Aurora.", "ok"):
            await agent.run(task=text)
        state = await agent.save_state()
        fail(store, now=False)
        await agent.run(task="Thanks!")
        await until_written(memory)
        again = assistant(MemoryScopeMemory(user="alice", memory=memory), ScriptedModel())
        await again.load_state(state)
        await again.run(task="Bye!")
        said = [text for text in await texts(memory) if not text.startswith("Understood")]
        assert said == ["I keep bees.", "ok", "My boat is called Aurora.", "ok", "Thanks!", "Bye!"]
        assert len(await texts(memory)) == 12


# ---- the session that all adapters share


async def test_turns_come_with_their_time_without_another_call(store):
    async with AsyncMemoryScope(store, settings={}, clock=Clock()) as memory:
        session, fixed = MemorySession("alice", memory=memory), NOON - timedelta(days=1)
        fail(store, now=True)
        await session.record([to_turn("user", "one"), to_turn("user", "one"), to_turn("assistant", "two", time=fixed)])
        first = memory.admin.runtime.services.clock.now
        for _ in range(99):
            memory.admin.runtime.services.clock()
        fail(store, now=False)
        await until_written(memory)
        turns = await turns_of(memory)
        assert sorted(turn.text for turn in turns) == ["one", "one", "two"]
        assert all(turn.time <= first for turn in turns)
        assert min(turn.time for turn in turns) == fixed


async def test_a_history_that_each_run_repeats_is_not_piled_up(store):
    async with AsyncMemoryScope(store, settings={}) as memory:
        session, turns = MemorySession("alice", memory=memory), []
        fail(store, now=True)
        for number in range(9):
            turns += [to_turn("user", "ok")]
            await begin_run(session, turns)
            turns += [to_turn("assistant", f"Reply {number}")]
            await session.record(turns[-1:])
        assert sum(len(write.turns) for write in queue_of(memory).late) == 18
        fail(store, now=False)
        await until_written(memory)
        await begin_run(session, turns)
        assert await texts(memory) == [turn["content"] for turn in turns]


async def test_history_that_is_sent_again_later_adds_nothing(store):
    async with AsyncMemoryScope(store, settings={}) as memory:
        session = MemorySession("alice", memory=memory)
        turns = [to_turn("user", text) for text in ("ok", "My boat is red.", "ok")]
        await session.record(turns[:1])
        fail(store, now=True)
        await session.record(turns[1:])
        fail(store, now=False)
        await until_written(memory)
        await session.record(turns, replay=True)
        assert await texts(memory) == ["ok", "My boat is red.", "ok"]


async def test_equal_words_of_later_and_forgotten_turns_are_no_reason_to_lose_one(store):
    async with AsyncMemoryScope(store, settings={}) as memory:
        session = MemorySession("alice", memory=memory)
        keys = [(await session.record([to_turn("user", "ok")]))[0] for _ in range(20)]
        await memory.forget(user="alice", ids=[keys[3], keys[-1]])
        fail(store, now=True)
        await session.record([to_turn("user", "ok"), to_turn("user", "ok")])
        await session.record([to_turn("user", "ok")])
        fail(store, now=False)
        await until_written(memory)
        assert await texts(memory) == ["ok"] * 21


async def test_a_write_that_its_caller_gave_up_on_is_carried_out_once():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        session = MemorySession("alice", memory=memory, deadline_s=0.05)
        gate = store.hold()
        assert await session.record([to_turn("user", "one")]) == ("",)
        assert await session.record([to_turn("user", "two")]) == ("",)
        store.gate = None
        gate.set()
        await until_written(memory)
        assert await texts(memory) == ["one", "two"]


async def test_a_write_behind_a_late_one_returns_its_keys():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        gate, three = store.hold(), to_turn("user", "three", id="3")
        assert await MemorySession("alice", memory=memory, deadline_s=0.05).record([to_turn("user", "one")]) == ("",)
        waiting = asyncio.create_task(MemorySession("alice", memory=memory).record([to_turn("user", "two"), three]))
        await asyncio.sleep(0.05)
        again = asyncio.create_task(MemorySession("alice", memory=memory).record([three]))  # waits already
        await asyncio.sleep(0.05)
        gate.set()
        keys = await waiting
        assert await again == ("3",)
        assert keys[1] == "3"
        assert (await memory.get(keys[0], user="alice")).text == "two"
        assert await texts(memory) == ["one", "two", "three"]


async def test_other_users_do_not_wait():
    class Choosy(FickleStore):
        refused = "alice"

        async def append(self, user, *arguments, **more):
            if user == self.refused:
                raise StoreUnavailable("not this one")
            return await super().append(user, *arguments, **more)

    store = Choosy()
    async with AsyncMemoryScope(store, settings={}) as memory:
        sessions = SessionPool(memory)
        for text in ("one", "two"):
            assert await sessions.to("alice").record([to_turn("user", text)]) == ("",)
        assert all(await sessions.to("bob").record([to_turn("user", "one")]))
        store.broken = True
        assert await sessions.to("bob").record([to_turn("user", "two")]) == ("",)
        store.broken = False
        assert all(await sessions.to("bob").record([to_turn("user", "three")]))
        assert await texts(memory, "bob") == ["one", "two", "three"]
        store.refused = ""
        await until_written(memory)
        assert await texts(memory) == ["one", "two"]


async def test_users_take_turns_while_a_store_refuses_at_once(monkeypatch):
    monkeypatch.setattr(write_queue, "LATE_WRITE_PAUSE_S", 1000)
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        store.broken = True
        for text in ("one", "two", "three"):
            for user in ("alice", "bob", "carol"):
                async with asyncio.timeout(20):  # the pause between attempts is not the caller's
                    with pytest.raises(StoreUnavailable):
                        await queue_of(memory).write(memory, Write([to_turn("user", text)], Scope(user)))
        store.broken = False
        await queue_of(memory).flush(memory)
        assert await texts(memory) == await texts(memory, "bob") == ["one", "two", "three"]


async def test_too_many_turns_lose_the_oldest_and_say_so(monkeypatch, caplog):
    monkeypatch.setattr(write_queue, "MAX_LATE_TURNS", 3)
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        store.broken = True
        for number in range(6):
            await MemorySession(f"user {number}", memory=memory).record([to_turn("user", "Hello")])
        store.broken = False
        await until_written(memory)
        users = await memory.admin.users()
        assert users[1:] == ["user 4", "user 5"]
        assert users[0] in ("user 0", "user 3")  # the first may be being written
    assert "too many turns wait for it" in caplog.text
    assert "3 of the turns that waited for it are lost" in caplog.text


@pytest.mark.parametrize("is_back", [True, False])
async def test_closing_tries_once_more(tmp_path, caplog, monkeypatch, is_back):
    session = MemorySession("alice", memory=tmp_path / "memory.db")
    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "append", fails)
        patch.setattr(write_queue, "LATE_WRITE_PAUSE_S", 1000)
        await session.record([to_turn("user", "one"), to_turn("user", "two")])
        await session.record([to_turn("user", "three"), to_turn("user", "four")])
        if not is_back:
            await session.close()
    await session.close()
    assert [turn.text for turn in await session.list_turns()] == (["one", "two", "three", "four"] if is_back else [])
    await session.close()
    lost = [record.getMessage() for record in caplog.records if "lost" in record.getMessage()]
    assert lost == ([] if is_back else ["4 turns are lost: the store did not take them until the memory was closed"])


async def fails(*arguments, **more):
    raise StoreUnavailable("no answer")


async def test_a_strict_session_keeps_nothing_back():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        session, store.broken = MemorySession("alice", memory=memory, strict=True), True
        with pytest.raises(StoreUnavailable):
            await session.record([to_turn("user", "Hello")])
        assert not queue_of(memory).late


async def test_an_interrupted_agent_has_said_what_it_said(caplog):
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        gate = store.hold()
        recording = asyncio.create_task(MemorySession("alice", memory=memory).record([to_turn("user", "Hello")]))
        await asyncio.to_thread(store.reached.wait)
        recording.cancel()
        await asyncio.wait([recording])
        gate.set()
        await until_written(memory)
        assert await texts(memory) == ["Hello"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_program_that_ends_without_closing_says_what_is_lost(tmp_path):
    code = (
        "import asyncio, sys\n"
        "from memscope.adapters.session import MemorySession, to_turn\n"
        "from memscope.errors import StoreUnavailable\n"
        "from memscope.stores.sqlite import SQLiteStore\n"
        "async def fails(*arguments, **more): raise StoreUnavailable('no answer')\n"
        "SQLiteStore.append = fails\n"
        "session = MemorySession('alice', memory=sys.argv[1])\n"
        "asyncio.run(session.record([to_turn('user', 'one'), to_turn('user', 'two')]))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "memory.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "2 turns are lost: the store did not take them until the program ended" in done.stderr or (
        "2 turns are not recorded" in done.stderr  # a repeated attempt came too late
    )


async def test_writes_that_fail_after_their_callers_gave_up_leave_no_unseen_errors(caplog):
    store = FickleStore()
    memory = AsyncMemoryScope(store, settings={})
    sessions, gate = SessionPool(memory, deadline_s=0.05), store.hold()
    for user in ("alice", "bob", "carol"):
        await sessions.to(user).record([to_turn("user", "Hello")])
    store.broken = True
    gate.set()
    await memory.close()
    gc.collect()
    assert [record.getMessage() for record in caplog.records][1:] == [
        "3 turns are lost: the store did not take them until the memory was closed"
    ]
