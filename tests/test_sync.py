"""MemoryScope is AsyncMemoryScope without await: the same methods, the same arguments, wherever it is called from."""

from __future__ import annotations

import inspect
import os
import re
import threading

import pytest

from memscope import AsyncMemoryScope, MemoryScope
from memscope.errors import ClosedError
from memscope.sync import loop_thread

TURN = {"role": "user", "content": "I moved to Berlin last May."}


def public(cls):
    members = {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}
    return {name: member for name, member in members.items() if callable(member)}


def test_both_have_the_same_methods_with_the_same_signatures():
    assert public(MemoryScope).keys() == public(AsyncMemoryScope).keys()
    for name, method in public(AsyncMemoryScope).items():
        assert inspect.signature(getattr(MemoryScope, name)) == inspect.signature(method), name


@pytest.fixture
def memory(tmp_path):
    with MemoryScope(tmp_path / "memory.db", settings={}) as opened:
        yield opened


def test_in_a_plain_program(memory):
    memory.add_turns([TURN], user="alice")
    memory.reflect(user="alice")
    assert "Berlin" in memory.context("Where does Alice live?", user="alice") or memory.list(user="alice")


async def test_inside_a_running_loop(memory):
    memory.add_turns([TURN], user="alice")
    assert memory.retrieve("Berlin", user="alice")[0].turn.text == TURN["content"]


def test_from_several_threads(memory):
    threads = [threading.Thread(target=memory.add_turns, args=([TURN],), kwargs={"user": "alice"}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.status()["turns"] == 8


def test_a_call_from_its_own_loop_names_the_async_class(memory):
    async def inner():
        return memory.status()

    with pytest.raises(ClosedError, match="AsyncMemoryScope"):
        loop_thread.run(inner())


def test_errors_come_through(memory):
    with pytest.raises(ValueError, match="user"):
        memory.add_turns([TURN], user="")


def test_after_a_fork_both_processes_go_on(memory):
    memory.add_turns([TURN], user="alice")
    child = os.fork()
    if child == 0:
        try:
            memory.add_turns([TURN], user="alice")
            os._exit(0 if len(memory.list(user="alice")) == 2 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(memory.list(user="alice")) == 2


def test_two_memories_share_one_thread(tmp_path):
    names = [thread.name for thread in threading.enumerate()]
    with MemoryScope(tmp_path / "a.db", settings={}) as one, MemoryScope(tmp_path / "b.db", settings={}) as two:
        one.status(), two.status()
        assert one.runtime.is_open and two.runtime.is_open
    assert names.count("memscope") <= 1


def test_the_runtime_is_public_and_read_only(memory):
    assert memory.runtime is memory.memory.runtime
    assert memory.runtime.settings.batch_turns == 10
    for made in (memory, memory.memory):
        with pytest.raises(AttributeError):
            made.runtime = None


def test_editors_complete_the_constructor():
    ours = inspect.signature(MemoryScope).parameters
    assert list(ours) == list(inspect.signature(AsyncMemoryScope).parameters) and "settings" in ours


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda memory: memory.add_turns([{"role": "user", "content": "x"}], user_id="a"), "did you mean 'user'?"),
        (lambda memory: memory.retrieve("x", user_id="a"), "did you mean 'user'?"),
        (lambda memory: memory.entities(user_id="a"), "did you mean 'user'?"),
        (lambda memory: memory.chat("x", user_id="a"), "did you mean 'user'?"),
        (lambda memory: MemoryScope(user_id="a"), "MemoryScope() has no argument 'user_id'; every call has a user="),
        (lambda memory: MemoryScope(config_path="a"), "has no argument 'config_path'; known: chat, clock, "),
        (lambda memory: memory.list(user="a", session_id="s"), "did you mean 'session'?"),
        (lambda memory: memory.retrieve("x", user="a", top_k=3), "known: agent"),
    ],
)
def test_an_argument_of_another_library_gets_a_hint(call, hint):
    with MemoryScope(":memory:") as memory, pytest.raises(TypeError, match=re.escape(hint)):
        call(memory)
