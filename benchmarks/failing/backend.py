"""The stages of the back end as subjects of ``faults.py``: the items are the contents of a user's memory.

The first call is for a user without faults, all others for a second user with the same turns. During the fault a call
may end with a typed error and all turns pending; afterwards the second user's memory must equal the first one's.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from memscope import AsyncMemoryScope
from memscope.errors import ModelReplyError
from memscope.models.clients import OpenAIChat, OpenAIEmbedder
from memscope.models.endpoint import Endpoint
from memscope.records import WorkReport
from memscope.stores.memory import InMemoryStore
from memscope_testing.models import IdealChat

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from servers.faults import Script
from servers.faults.replies import Reply

BACKGROUND_S = 1.5  # maximum wait for the background in a call
Call = Callable[[], Awaitable[tuple[str, ...]]]
SAID = ["I moved to Munich and share a flat with Bo.", "I quit smoking.", "My cat Ada has diabetes."]
FACTS = [
    (1, "The user moved to Munich.", "I moved to Munich", "home"),
    (1, "The user shares a flat with Bo.", "share a flat with Bo", "flat"),
    (2, "The user quit smoking.", "I quit smoking", "health"),
    (3, "The user's cat Ada has diabetes.", "My cat Ada has diabetes", "cat"),
]
EXTRACTION = {
    "turns": [{"turn": turn, "level": 3} for turn in (1, 2, 3)],
    "facts": [
        {"text": text, "about": "user", "when": "", "keywords": [word], "quotes": [{"turn": turn, "words": words}]}
        for turn, text, words, word in FACTS
    ],
}
TOLD = "The user lives in Munich with Bo."
HOME = {"insight": 0, "subject": "home", "text": TOLD, "facts": [1, 2], "replaces": []}
UPDATES = {"sentences": [HOME], "alone": [3, 4], "relations": []}
SCRIPT = [
    {"in": "user", "match": '"earlier":', "reply": UPDATES},
    {"in": "user", "match": '"by":', "reply": EXTRACTION},
]


class Clock:
    """A clock that only moves when told."""

    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def at(url: str, deadline: float) -> Endpoint:
    return Endpoint(model="m", base_url=url, deadline_s=deadline, first_pause_s=0.01, breaker_failures=10**6)


@asynccontextmanager
async def remembering(clock: Clock, **models: Any) -> AsyncIterator[AsyncMemoryScope]:
    settings = {"idle_s": 0.02, "retry_s": 0.1, "reflection": {"batch": len(FACTS)}}  # reflect on all facts at once
    async with AsyncMemoryScope(InMemoryStore(clock=clock), settings=settings, clock=clock, **models) as memory:
        yield memory


def turns_of(user: Callable[[], str], memory: AsyncMemoryScope, clock: Clock, work: Any) -> Call:
    async def call() -> tuple[str, ...]:
        name = user()
        clock.now += timedelta(days=1)
        turns = [{"role": "user", "content": text, "id": f"{name}-{n}"} for n, text in enumerate(SAID)]
        await memory.add_turns(turns, user=name, session="s")
        return await work(memory, name)

    return call


def users() -> Callable[[], str]:
    """Return a function that names one user on its first call, and a second one afterwards."""
    calls = count()
    return lambda: "first" if next(calls) == 0 else "second"


async def held(memory: AsyncMemoryScope, report: WorkReport, user: str) -> tuple[str, ...]:
    if report.pending:
        raise ModelReplyError(f"pending: {dict(report.errors)}")
    return tuple(one.text for one in await memory.list(user=user, kinds=["observation", "insight"]))


async def consolidated(memory: AsyncMemoryScope, user: str) -> tuple[str, ...]:
    return await held(memory, await memory.consolidate(user=user), user)


async def reflected(memory: AsyncMemoryScope, user: str) -> tuple[str, ...]:
    return await held(memory, await memory.reflect(user=user), user)


async def by_itself(memory: AsyncMemoryScope, user: str) -> tuple[str, ...]:
    """Wait for the facts that an adapter's background work extracts, without calling consolidate."""
    memory.admin.runtime.work.work_for(user)
    report, until = WorkReport("consolidate", "m", pending=1), time.monotonic() + BACKGROUND_S
    while report.pending and time.monotonic() < until:
        await asyncio.sleep(0.01)
        stats = await memory.admin.runtime.services.store.stats(user)
        left = sum(states[stage] for states in (stats.pending, stats.failed) for stage in ("consolidate", "reflect"))
        report = replace(report, pending=left, errors=stats.errors)
    return await held(memory, report, user)


async def embedded(memory: AsyncMemoryScope, user: str) -> tuple[str, ...]:
    await memory.flush()
    found = await memory.retrieve("Where is home?", user=user)
    return tuple(hit.turn.text for hit in found if hit.turn and "vector" in hit.found_by)


def chatting(work: Any) -> Any:
    @asynccontextmanager
    async def connect(url: str, deadline: float) -> AsyncIterator[Call]:
        clock, chat = Clock(), OpenAIChat(at(url, deadline))
        await chat.served()  # what is loaded on first use is no part of a deadline
        async with remembering(clock, chat=chat) as memory:
            yield turns_of(users(), memory, clock, work)

    return connect


@asynccontextmanager
async def embedding(url: str, deadline: float) -> AsyncIterator[Call]:
    clock = Clock()
    async with remembering(clock, embedder=OpenAIEmbedder(at(url, deadline), cached=0)) as memory:
        yield turns_of(users(), memory, clock, embedded)


class ByLine(Script):
    """A script that replies to the turns in the prompt, so that halves of a split batch get their own facts."""

    def __init__(self) -> None:
        super().__init__()
        facts = [
            {
                "turns": [turn - 1],
                "text": text,
                "about": "user",
                "when": "",
                "keywords": [word],
                "level": 3,
                "quote": words,
            }
            for turn, text, words, word in FACTS
        ]
        self.chat = IdealChat([{"text": text} for text in SAID], facts)

    def answer(self, body: dict[str, Any]) -> Reply | None:
        with suppress(IndexError, ValueError, AssertionError, KeyError):
            try:
                self.chat.chat(body["messages"]).send(None)
            except StopIteration as done:
                return Reply(done.value.text)
        return super().answer(body)


#: Per subject: the endpoint with the faults, how to connect, and the model's replies.
ROWS: dict[str, tuple[str, Any, Any]] = {
    "consolidate": ("chat", chatting(consolidated), SCRIPT),
    "reflect": ("chat", chatting(reflected), SCRIPT),
    "halves": ("chat", chatting(consolidated), ByLine()),
    "background": ("chat", chatting(by_itself), ByLine()),
    "stage embed": ("embeddings", embedding, None),
}
