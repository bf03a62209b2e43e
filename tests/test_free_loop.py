"""No async method blocks the event loop it is called on: all of them under BlockBuster, as ``langgraph dev`` has it.

In processes of their own, in which nothing was read before, once forwards and once backwards: what one method reads in
a thread might hide that another reads it on the loop.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import traceback
from itertools import count
from pathlib import Path

import blockbuster.blockbuster
import pytest

from memscope import AsyncMemoryScope, MemoryScope
from memscope.admin import AsyncAdmin
from memscope.blocks import AsyncBlocks
from memscope.entities.operations import AsyncEntities
from memscope.errors import MemscopeError

from servers.faults import FaultServer

pytestmark = pytest.mark.slow

SAID = {
    "en": ["My sister Anna Weber moved to Berlin last May.", "I am vegetarian.", "I have choir every Tuesday."],
    "zh": ["我姐姐王小芳去年五月搬到了柏林。", "我吃素，在腾讯工作。", "我每周二参加合唱团。"],
}
ASKED = {"en": "Where does my sister Anna live? What do you know about me?", "zh": "我姐姐住在哪里？你了解我什么？"}
NAMES = {"en": ("Anna Weber", "Berlin"), "zh": ("王小芳", "柏林")}
NUMBERS = count()
#: A small read is tried on the loop, and repeated in a thread where that is forbidden.
TRIED = "stores/sqlite/engine.py:read"


def turns(user):
    return [{"role": "user", "content": text} for text in SAID[user]]


def new(path, end):
    return f"{path}-{next(NUMBERS)}{end}"


#: A call per method, of a memory, its user (named as their language) and the path of the store.
CALLS = {
    "add_turns": lambda m, u, p: m.add_turns(turns(u), user=f"{u} 2"),
    "add_memory": lambda m, u, p: m.add_memory(SAID[u][1], user=u, kind="insight", subject="food"),
    "update": lambda m, u, p: m.update("a", user=u, text="x"),
    "consolidate": lambda m, u, p: m.consolidate(user=u),
    "reflect": lambda m, u, p: m.reflect(user=u),
    "retrieve": lambda m, u, p: m.retrieve(ASKED[u], user=u, explain=True),
    "context": lambda m, u, p: m.context(ASKED[u], user=u),
    "context assembled": lambda m, u, p: m.context(ASKED[u], user=u, assemble=True),
    "profile": lambda m, u, p: m.profile(u),
    "get": lambda m, u, p: m.get("a", user=u),
    "list": lambda m, u, p: m.list(user=u, text="a"),
    "history": lambda m, u, p: m.history("a", user=u),
    "entities.list": lambda m, u, p: m.entities(u).list(),
    "entities.get": lambda m, u, p: m.entities(u).get(NAMES[u][0]),
    "entities.timeline": lambda m, u, p: m.entities(u).timeline(),
    "entities.stream": lambda m, u, p: m.entities(u).stream(),
    "entities.graph": lambda m, u, p: m.entities(u).graph(),
    "entities.merge": lambda m, u, p: m.entities(u).merge(*NAMES[u]),
    "entities.split": lambda m, u, p: m.entities(u).split(*NAMES[u]),
    "entities.dismiss": lambda m, u, p: m.entities(u).dismiss(NAMES[u][1]),
    "chat": lambda m, u, p: m.chat(ASKED[u], user=u)._whole(),
    "forget": lambda m, u, p: m.forget(user=f"{u} gone", everything=True),
    "admin.sweep": lambda m, u, p: m.admin.sweep(user=u),
    "admin.audit": lambda m, u, p: m.admin.audit(user=u),
    "admin.receipts": lambda m, u, p: m.admin.receipts(user=u),
    "admin.start": lambda m, u, p: m.admin.start(),
    "admin.stop": lambda m, u, p: m.admin.stop(),
    "admin.unpark": lambda m, u, p: m.admin.unpark(),
    "admin.proposals": lambda m, u, p: m.admin.proposals(user=u),
    "admin.accept": lambda m, u, p: m.admin.accept(["a"], user=u),
    "admin.reject": lambda m, u, p: m.admin.reject(["a"], user=u),
    "admin.compact": lambda m, u, p: m.admin.compact(),
    "admin.export": lambda m, u, p: m.admin.export(new(p, ".jsonl")),
    "admin.import_": lambda m, u, p: m.admin.import_(f"{p}.jsonl"),
    "admin.import_from": lambda m, u, p: m.admin.import_from("openai", f"{p}.{u}.json", user=f"{u} 3"),
    "admin.backup": lambda m, u, p: m.admin.backup(new(p, ".backup")),
    "admin.copy": lambda m, u, p: m.admin.copy(new(p, ".copied")),
    "admin.reembed": lambda m, u, p: m.admin.reembed(),
    "flush": lambda m, u, p: m.flush(),
    "admin.users": lambda m, u, p: m.admin.users(),
    "admin.status": lambda m, u, p: m.admin.status(user=u),
    "blocks.create": lambda m, u, p: m.blocks(f"{u} 2").create("notes", SAID[u][0]),
    "blocks.configure": lambda m, u, p: m.blocks(u).configure("human", description=SAID[u][0]),
    "blocks.append": lambda m, u, p: m.blocks(u).append("human", SAID[u][0]),
    "blocks.replace": lambda m, u, p: m.blocks(u).replace("human", "?", SAID[u][0]),
    "blocks.remove": lambda m, u, p: m.blocks(u).remove("human", "?"),
    "blocks.insert": lambda m, u, p: m.blocks(u).insert("human", SAID[u][0], 1),
    "blocks.rethink": lambda m, u, p: m.blocks(u).rethink("human", SAID[u][1]),
    "blocks.revert": lambda m, u, p: m.blocks(u).revert("human", 1),
    "blocks.erase": lambda m, u, p: m.blocks(f"{u} 2").erase("notes"),
    "blocks.list": lambda m, u, p: m.blocks(u).list(),
    "blocks.get": lambda m, u, p: m.blocks(u).get("human"),
    "blocks.history": lambda m, u, p: m.blocks(u).history("human"),
    "blocks.text": lambda m, u, p: m.blocks(u).text(),
}


async def call_all(names, path, settings):
    """Print the calls that blocked, as JSON: the method, what was called, and from where."""
    memory, blocked = AsyncMemoryScope(path, settings=settings), []

    def noted(self, function):
        stack = [f"{frame.filename}:{frame.name}" for frame in traceback.extract_stack()]
        if not any(place.endswith(TRIED) for place in stack):
            blocked.append((function, [place for place in stack if "memscope" in place][-4:]))
        Exception.__init__(self, function)

    blockbuster.blockbuster.BlockingError.__init__ = noted
    forbidden = blockbuster.BlockBuster()
    forbidden.activate()
    try:
        async with memory:
            for name in names:
                for user in ("en", "zh"):
                    before = len(blocked)
                    try:
                        await CALLS[name](memory, user, path)
                    except (MemscopeError, blockbuster.BlockingError):
                        pass
                    blocked[before:] = [(name, user, *one) for one in blocked[before:]]
    finally:
        forbidden.deactivate()
    print(json.dumps(blocked))


@pytest.fixture
def path(tmp_path):
    """A store that other processes made, with an export, a backup and another system's file beside it."""
    path = tmp_path / "memory.db"
    with MemoryScope(path, settings={}) as memory:
        for user in SAID:
            Path(f"{path}.{user}.json").write_text(json.dumps(turns(user)))
            memory.add_turns(turns(user), user=f"{user} gone")
            memory.add_turns([{**one, "id": key} for key, one in zip("abc", turns(user), strict=True)], user=user)
            memory.blocks(user).create("human", SAID[user][0])
        memory.admin.export(f"{path}.jsonl")
        memory.admin.backup(f"{path}.backup")
    return path


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("models", [False, True], ids=["no models", "models"])
def test_no_method_blocks_the_event_loop(path, models, backwards):
    with FaultServer() as server:
        model = {"base_url": server.base_url, "model": "test-chat", "key": "k", "first_pause_s": 0.01}
        settings = dict.fromkeys(("chat", "embedding", "rerank"), model) if models else {}
        names = [*reversed(CALLS)] if backwards else [*CALLS]
        given = json.dumps([names, str(path), {**settings, "context": {"budget": 2000}}])
        command = [sys.executable, __file__, given]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_every_async_method_is_called_above():
    public = {name for name, _ in inspect.getmembers(AsyncMemoryScope, inspect.iscoroutinefunction) if name[0] != "_"}
    for place, cls in {"blocks": AsyncBlocks, "entities": AsyncEntities, "admin": AsyncAdmin}.items():
        public |= {f"{place}.{name}" for name, _ in inspect.getmembers(cls, inspect.iscoroutinefunction)}
    assert {name for name in public if "._" not in name} - {"close"} <= CALLS.keys()  # closed at the end of each


if __name__ == "__main__":
    asyncio.run(call_all(*json.loads(sys.argv[1])))
