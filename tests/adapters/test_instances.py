"""One core a process for equal settings, on its own loop; nothing secret is written down."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from pydantic import SecretStr

from memscope import AsyncMemoryScope, MemoryScope
from memscope.adapters import instances
from memscope.adapters.instances import acquire, release, to_config, wait_for
from memscope.config.settings import load
from memscope.errors import ClosedError, ConfigError

TEA = [{"role": "user", "content": "Alice likes tea"}]


async def acquired(given):
    """In a thread, as adapters do it: settings are read from files."""
    return await asyncio.to_thread(acquire, given)


async def test_equal_settings_are_one_core_until_the_last_lets_go(tmp_path):
    place = tmp_path / "memory.db"
    first, second = await acquired(place), await acquired({"store": str(place)})
    assert first is second
    assert await acquired(tmp_path / "other.db") is not first
    await release(first)
    await second.do(lambda memory: memory.add_turns(TEA, user="alice"))
    await release(second)
    with pytest.raises(ClosedError):
        await second.do(lambda memory: memory.list(user="alice"))
    again = await acquired(place)
    assert again is not first
    assert len(await again.do(lambda memory: memory.list(user="alice"))) == 1
    await release(again)
    for core in list(instances._shared):
        await release(core)


async def test_a_memory_given_as_an_object_stays_open():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        await release(acquire(memory))
        assert await memory.list(user="alice") == []


def test_from_many_loops_and_threads(tmp_path):
    core = acquire(tmp_path / "memory.db")

    def work():
        for _ in range(3):
            asyncio.run(core.do(lambda memory: memory.add_turns(TEA, user="alice")))
            wait_for(core.do(lambda memory: memory.add_turns(TEA, user="alice")))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wait_for(core.do(lambda memory: memory.list(user="alice")))) == 24
    wait_for(release(core))


async def test_it_runs_on_the_loop_of_memscope_and_a_given_object_on_its_owners():
    async def where(memory):
        return threading.current_thread().name

    core = await acquired({"store": ":memory:"})
    assert await core.do(where) == "memscope"
    await release(core)
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        assert await acquire(memory).do(where) == threading.current_thread().name


@pytest.mark.slow
def test_a_process_that_just_ends_keeps_what_was_acknowledged(tmp_path):
    place = tmp_path / "memory.db"
    code = f"""
from memscope.adapters.instances import acquire, wait_for
core = acquire({str(place)!r})
wait_for(core.do(lambda memory: memory.add_turns({TEA!r}, user="alice")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with MemoryScope(place, settings={}) as memory:
        assert len(memory.list(user="alice")) == 1


def test_portable_leaves_out_what_is_secret():
    given = {
        "store": "elasticsearch://writer:hush@search.example/team",
        "chat": {
            "model": "m",
            "key": "hush",
            "headers": {"X": "hush"},
            "key_header": "X-Key",
        },
        "index_cache_mb": 64,
    }
    wanted = {
        "store": "elasticsearch://search.example/team",
        "chat": {"model": "m", "key_header": "X-Key"},
        "index_cache_mb": 64,
    }
    assert to_config(given) == wanted
    assert "hush" not in str(to_config(load(given, environ={})))
    assert load(to_config(load(given, environ={})), environ={}).chat.model == "m"
    assert to_config("postgresql://me:hush@host/db?password=hush&sslmode=require") == {
        "store": "postgresql://host/db?sslmode=require"
    }
    assert to_config(None) is None
    assert to_config({"chat": {"anything": SecretStr("hush")}}) == {"chat": {}}


@pytest.mark.parametrize("made", [AsyncMemoryScope, MemoryScope])
def test_an_object_is_not_portable(made):
    with pytest.raises(ConfigError, match="give settings or a path"):
        to_config(made(":memory:", settings={}))
