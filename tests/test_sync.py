"""MemoryScope is AsyncMemoryScope without await: the same methods, the same arguments, wherever it is called from."""

from __future__ import annotations

import ast
import copy
import inspect
import os
import pickle
import re
import subprocess
import sys
import threading

import pytest

from memscope import AsyncMemoryScope, MemoryScope
from memscope.admin import AsyncAdmin
from memscope.blocks import AsyncBlocks
from memscope.entities.operations import AsyncEntities
from memscope.errors import ClosedError, InputError
from memscope.sync import loop_thread
from memscope.sync.views import SyncAdmin, SyncBlocks, SyncEntities

TURN = {"role": "user", "content": "I moved to Berlin last May."}


def public(cls):
    members = {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}
    return {name: member for name, member in members.items() if callable(member)}


PAIRS = [(MemoryScope, AsyncMemoryScope), (SyncBlocks, AsyncBlocks), (SyncEntities, AsyncEntities),
         (SyncAdmin, AsyncAdmin)]  # fmt: skip
VIEWS = {
    "AsyncBlocks": "SyncBlocks",
    "AsyncEntities": "SyncEntities",
    "AsyncAdmin": "SyncAdmin",
    "Answer": "SyncAnswer",
}


def shape(method):
    """Its parameters, the type it returns as the sync class has it, and the first line of its docstring."""
    signature = inspect.signature(method)
    summary = (inspect.getdoc(method) or "").splitlines()[0]
    annotations = [str(one).replace("validation.Zone", "Zone") for one in signature.parameters.values()]
    return annotations, VIEWS.get(signature.return_annotation, signature.return_annotation), summary


@pytest.mark.parametrize(("sync", "asynchronous"), PAIRS, ids=lambda cls: cls.__name__)
def test_both_have_the_same_methods_with_the_same_signatures(sync, asynchronous):
    assert public(sync).keys() == public(asynchronous).keys()
    for name, method in public(asynchronous).items():
        assert shape(getattr(sync, name)) == shape(method), name


def test_a_memory_has_at_most_18_methods():
    assert 14 <= len(public(AsyncMemoryScope)) <= 18


@pytest.mark.parametrize("cls", [theirs for _, theirs in PAIRS], ids=lambda cls: cls.__name__)
def test_every_method_documents_each_argument_its_result_and_its_errors(cls):
    for name, method in public(cls).items():
        doc, signature = inspect.getdoc(method), inspect.signature(method)
        assert "\nRaises:\n" in doc, name
        assert signature.return_annotation == "None" or "\nReturns:\n" in doc, name
        documented = re.findall(r"^    (\w+): ", doc.partition("Args:\n")[2].partition("\n\n")[0], re.MULTILINE)
        assert documented == [one for one in signature.parameters if one != "self"], name


@pytest.mark.parametrize("cls", [one for pair in PAIRS for one in pair], ids=lambda cls: cls.__name__)
def test_an_editor_finds_every_method_in_the_file_of_its_class(cls):
    """Go-to-definition: each is written out as a ``def`` of its own."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(cls)))
    (node,) = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == cls.__name__]
    written = {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert public(cls).keys() <= written


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
    assert memory.admin.status()["turns"] == 8


def test_a_call_from_its_own_loop_names_the_async_class(memory):
    async def inner():
        return memory.admin.status()

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


CHILD = """
import asyncio, os, sys
from memscope import AsyncMemoryScope, MemoryScope
from memscope.admin import AsyncAdmin
from memscope.blocks import AsyncBlocks
from memscope.entities.operations import AsyncEntities
from memscope.errors import ClosedError, InputError
def said(who): return [{"role": "user", "content": f"I am the {who}."}]
def leave(work):
    try:
        code = work()
    except BaseException as error:
        print(repr(error), flush=True)
        code = 2
    os._exit(code)
async def main():
    async with AsyncMemoryScope(sys.argv[1], settings={}) as memory:
        await memory.add_turns(said("parent"), user="alice")
        async def work():
            await memory.add_turns(said("child"), user="alice")
            return 0 if (await memory.retrieve("parent child", user="alice")).hits else 1
        def plain():
            with MemoryScope(sys.argv[1], settings={}) as other:
                other.add_turns(said("child"), user="alice")
                return 0 if other.retrieve("parent child", user="alice").hits else 1
        children = []
        for child_work in (lambda: asyncio.run(work()), plain):
            if not (child := os.fork()):
                leave(child_work)
            children.append(child)
        if not (child := os.fork()):
            try:
                await work()
            except ClosedError as error:
                os._exit(7 if "asyncio.run" in error.hint else 1)
        children.append(child)
        codes = [(await asyncio.to_thread(os.waitpid, child, 0))[1] >> 8 for child in children]
        print(codes, len(await memory.list(user="alice")))
asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork_inside_a_running_loop(tmp_path):
    """docs/service.md: a loop of its own, or a MemoryScope; the parent's coroutine cannot go on in the child."""
    command = [sys.executable, "-c", CHILD, str(tmp_path / "memory.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[0, 0, 7] 3\n", done.stdout + done.stderr


def test_an_exit_in_a_task_reaches_its_caller_and_later_calls_work(memory):
    async def leave():
        sys.exit(3)

    with pytest.raises(SystemExit):
        loop_thread.run(leave())
    assert memory.add_turns([TURN], user="alice").stored == 1


def test_two_memories_share_one_thread(tmp_path):
    names = [thread.name for thread in threading.enumerate()]
    with MemoryScope(tmp_path / "a.db", settings={}) as one, MemoryScope(tmp_path / "b.db", settings={}) as two:
        one.admin.status(), two.admin.status()
        assert one.admin.runtime.is_open and two.admin.runtime.is_open
    assert names.count("memscope") <= 1


def test_the_runtime_is_public_and_read_only(memory):
    assert memory.admin.runtime is memory.memory.admin.runtime
    assert memory.admin.runtime.services.settings.batch_turns == 20
    for made in (memory, memory.memory):
        with pytest.raises(AttributeError):
            made.admin.runtime = None


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy])
def test_a_memory_that_is_pickled_or_copied_says_what_to_do(memory, duplicate):
    for one in (memory, memory.memory, memory.admin, memory.blocks("alice"), memory.entities("alice")):
        with pytest.raises(InputError, match="cannot be pickled or copied; make another one from the same store"):
            duplicate(one)


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


ENDING = """
import threading
from memscope import MemoryScope

class Agent:
    def __init__(self):
        self.memory = MemoryScope("ended.db", settings={})
        self.memory.add_turns([{"role": "user", "content": "Hello"}], user="alice")

    def __del__(self):
        try:
            self.memory.list(user="alice")
        except Exception as error:
            print(type(error).__name__)
        self.memory.close()
        print("closed")

def late():
    threading.main_thread().join()
    try:
        while True:
            agent.memory.list(user="alice")
    except Exception as error:
        print(type(error).__name__)

agent = Agent()
threading.Thread(target=late).start()
"""


@pytest.mark.slow
def test_a_memory_that_is_used_while_the_program_ends_neither_hangs_nor_hides_why(tmp_path):
    done = subprocess.run([sys.executable, "-c", ENDING], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["ClosedError", "ClosedError", "closed"], "")
