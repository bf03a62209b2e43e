"""Fixtures: a server on a real port with the memory of two users."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memscope import AsyncMemoryScope
from memscope.reconciliation.approval import proposed
from memscope.records import ChangeSet, Insight, Interval, Observation, Quote, Scope, Supersession

collect_ignore_glob = [] if find_spec("memscope_server") else ["test_*.py"]

DAY = datetime(2026, 3, 2, 8, 15, tzinfo=UTC)
HOSTILE = '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'
TURNS = [
    ("user", "I live in Berlin with my sister Kim, and I'm vegetarian."),
    ("assistant", "Noted: Berlin."),
    ("user", "I moved to Lisbon two weeks ago."),
    ("user", "我喜欢喝绿茶，每天早上都喝。"),
    ("user", f"My homepage says {HOSTILE}"),
]


@dataclass
class Served:
    """The URL of a running server, and the secrets of its tokens."""

    root: str
    operator: str
    alice: str
    bob: str
    home: str
    assistant: str
    tokens: Any

    def client(self, secret: str | None, root: str = "") -> httpx2.Client:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return httpx2.Client(base_url=root or self.root, headers=headers, timeout=60)


def observation(id: str, source: str, text: str, quote: str, day: datetime, **more: Any) -> Observation:
    shared = {"scope": Scope("alice"), "said": day, "recorded": day, "quotes": (Quote(source, quote),)}
    return Observation(id=id, text=text, sources=(source,), **shared, **more)


async def fill(store: Path) -> str:
    """Store turns, facts and an insight of Alice and a turn of Bob, and return the id of the turn about Berlin."""
    async with AsyncMemoryScope(store, settings={}) as memory:
        turns = [
            {"role": role, "content": text, "time": DAY + timedelta(days=day), "session": "one"}
            for day, (role, text) in enumerate(TURNS)
        ]
        keys = (await memory.add_turns(turns, user="alice")).keys
        await memory.add_turns([{"role": "user", "content": "Bob's secret is a boat."}], user="bob")
        await memory.add_memory("Prefers short answers.", user="alice", agent="helper")
        await memory.blocks("alice").append("human", f"Alice, a baker. {HOSTILE}", reason="she said so")
        await memory.blocks("alice").replace("human", "baker", "cook", reason="a new job")
        moved = DAY + timedelta(days=2)
        happened = Interval(moved - timedelta(days=14), moved - timedelta(days=13))
        store_ = memory.admin.runtime.services.store
        replaces = [Supersession("fact-diet", "proposal", moved, moved)]
        new = (
            observation("fact-berlin", keys[0], "The user lives in Berlin.", "I live in Berlin", DAY),
            observation("fact-diet", keys[0], "The user is vegetarian.", "I'm vegetarian", DAY, keywords=("food",)),
            observation(
                "fact-lisbon", keys[2], "The user moved to Lisbon.", "I moved to Lisbon", moved, happened=happened
            ),
            proposed(
                observation("proposal", keys[3], "用户喜欢绿茶。", "我喜欢喝绿茶", DAY + timedelta(days=3)), replaces
            ),
        )
        closed = (Supersession("fact-berlin", "fact-lisbon", moved, moved, happened.start),)
        await store_.apply("alice", ChangeSet(new=new, closed=closed))
        shared = {"scope": Scope("alice"), "said": moved, "recorded": moved}
        insight = Insight(id="insight-home", text="home: Lisbon", sources=("fact-lisbon",), subject="home", **shared)
        await store_.apply("alice", ChangeSet(new=(insight,)))
        return str(keys[0])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    from memscope_server.tokens import TokenFile

    home = asyncio.run(fill(tmp_path / "memory.db"))
    tokens = TokenFile(tmp_path / "tokens.json")
    asked = (("operator", None), ("user", "alice"), ("user", "bob"), ("user", "alice", "helper"))
    secrets = [tokens.add(*one)[1] for one in asked]
    with serving(tmp_path / "memory.db", tokens) as root:
        yield Served(root, *secrets[:3], home, secrets[3], tokens)


@contextmanager
def serving(store: Path, tokens: Any, settings: Mapping[str, Any] | None = None, limits: Any = None) -> Iterator[str]:
    """Serve a store on a free port and yield its URL."""
    import uvicorn

    from memscope_server import create_app
    from memscope_server.connections import Server, options

    listening = socket.create_server(("127.0.0.1", 0))
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    memory = AsyncMemoryScope(store, settings=settings or {})
    app = create_app(memory, tokens=tokens, hosts={host}, limits=limits)
    server = Server(uvicorn.Config(app, log_level="warning", **options(limits)))

    async def run() -> None:
        async with memory:
            await server.serve(sockets=[listening])

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="served")
    thread.start()
    try:
        yield f"http://{host}"
    finally:
        server.should_exit = True
        thread.join(timeout=60)
        listening.close()


@pytest.fixture
def alice(served):
    with served.client(served.alice) as client:
        yield client


@pytest.fixture
def operator(served):
    with served.client(served.operator) as client:
        yield client
