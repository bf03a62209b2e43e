"""Closing a memory: cancelled, failing, or while a call is under way, it leaves nothing open and nothing running."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import numpy as np
import pytest

from memscope import AsyncMemoryScope, MemoryScope, MemscopeError
from memscope.errors import ClosedError
from memscope.records import VectorSpace
from memscope_testing.models import ScriptedChat

HELLO = [{"role": "user", "content": "I live in Rome."}]


class Busy(ScriptedChat):
    """Is asked and does not answer until ``go``; notes whether it was closed."""

    def __init__(self):
        super().__init__(lambda messages: {"facts": []})
        self.asked, self.go, self.closed = asyncio.Event(), asyncio.Event(), False

    async def _next(self, messages):
        self.asked.set()
        await self.go.wait()
        return await super()._next(messages)

    async def close(self):
        self.closed = True


def is_folded(path):
    return path.exists() and not path.with_name(f"{path.name}-wal").exists()


async def test_a_close_that_is_cancelled_still_closes_all(tmp_path):
    path, chat = tmp_path / "memory.db", Busy()
    memory = AsyncMemoryScope(path, chat=chat, settings={"batch_turns": 1})
    await memory.admin.start()
    await memory.add_turns(HELLO, user="alice")
    await chat.asked.wait()
    closing = asyncio.create_task(memory.close(drain_s=60))
    await asyncio.sleep(0.01)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert is_folded(path)
    assert chat.closed
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_store_that_fails_to_close_leaves_no_model_open(tmp_path, monkeypatch):
    chat = Busy()
    memory = AsyncMemoryScope(tmp_path / "memory.db", chat=chat)
    await memory.add_turns(HELLO, user="alice")
    store, failing = memory.admin.runtime.services.store, MemscopeError("the disk is gone")

    async def fail():
        raise failing

    monkeypatch.setattr(store, "close", fail)
    with pytest.raises(MemscopeError, match="disk"):
        await memory.close()
    assert chat.closed
    monkeypatch.undo()
    await store.close()


async def test_a_memory_closed_while_it_opens_is_closed(tmp_path):
    path, before = tmp_path / "memory.db", set(threading.enumerate())
    memory = AsyncMemoryScope(path)
    adding = asyncio.create_task(memory.add_turns(HELLO, user="alice"))
    await asyncio.sleep(0)
    await memory.close()
    with pytest.raises(ClosedError):
        await adding
    assert not [one.name for one in set(threading.enumerate()) - before if one.name.startswith("memscope")]


async def test_an_answer_that_ends_after_the_close_starts_no_background(tmp_path):
    chat = Busy()
    memory = AsyncMemoryScope(tmp_path / "memory.db", chat=chat)

    async def whole():
        return await memory.chat("I live in Rome.", user="alice")

    answering = asyncio.create_task(whole())
    await chat.asked.wait()
    await memory.close()
    chat.go.set()
    await answering
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_store_that_is_closed_by_a_cancelled_call_is_closed(tmp_path):
    path = tmp_path / "memory.db"
    memory = AsyncMemoryScope(path)
    await memory.add_turns(HELLO, user="alice")
    closing = asyncio.create_task(memory.admin.runtime.services.store.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    while not is_folded(path):  # its thread ends by itself
        await asyncio.sleep(0.01)
    await memory.close()


class SlowEmbedder:
    """Embeds nothing before ``go``."""

    languages, space = None, VectorSpace("slow", 4)

    def __init__(self):
        self.asked, self.go = threading.Event(), threading.Event()

    async def measure(self):
        return self.space

    async def embed(self, texts, **_):
        self.asked.set()
        while not self.go.is_set():
            await asyncio.sleep(0.01)
        return np.ones((len(texts), 4), np.float32)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_closes_without_its_parents_work(tmp_path):
    embedder = SlowEmbedder()
    embedder.embed_query = embedder.embed
    memory = MemoryScope(tmp_path / "memory.db", embedder=embedder)
    memory.add_turns(HELLO, user="alice")
    assert embedder.asked.wait(10)
    if not (child := os.fork()):
        try:
            memory.close(drain_s=60)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    embedder.go.set()
    memory.close()


def test_work_that_ctrl_c_stopped_is_free_for_the_next_process(tmp_path):
    """The claim is given back before the memory is closed; otherwise it would be held until its lease expires."""

    async def stopped(messages):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt), MemoryScope(tmp_path / "memory.db", chat=ScriptedChat(stopped)) as memory:
        memory.add_turns([{"role": "user", "content": "I keep bees."}], user="alice")
        memory.consolidate(user="alice")

    async def claimed():
        async with (
            AsyncMemoryScope(tmp_path / "memory.db") as other,
            other.admin.runtime.operation("claim") as services,
        ):
            return await services.store.claim("consolidate", 20, 60)

    assert [claim.user for claim in asyncio.run(claimed())] == ["alice"]
