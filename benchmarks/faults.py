"""Run every fault of the fault server against every kind of model call: ``python benchmarks/faults.py [--seeds N]``.

A subject is a public call that returns items: facts of a chat reply, vectors, scores. Each fault runs at ratio 1 and,
with N seeds, at ratio 0.5, and then ends. A call must return all its items or raise a typed error within its deadline
+ 3 s, and return all its items once the fault is over. ``silent_losses`` counts items that are missing or wrong without
an error, ``doubled`` duplicate items, ``over_deadline`` calls that took too long.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import failing.backend
import failing.chat
from pydantic import BaseModel

from memscope.errors import MemscopeError, ModelError
from memscope.models import Message
from memscope.models.clients import OpenAIChat, OpenAIEmbedder, OpenAIReranker
from memscope.models.endpoint import Endpoint
from memscope.models.structured_output import ask

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from servers.faults import FAULTS, MALFORMED, FaultServer, Plan

GRACE_S = 3.0  # tolerance for a busy machine; faults last longer
STEADY_S = 30.0
TRIES = 5  # attempts without a fault, since a busy machine may exceed deadlines
Items = tuple[str, ...]


class Fact(BaseModel):
    number: int
    text: str


class Facts(BaseModel):
    facts: list[Fact]


FACTS = {"facts": [{"number": n, "text": f"fact {n}"} for n in range(5)]}
TEXTS = [f"text {n} about tea" for n in range(5)]
LONG = "the whole of a longer answer " * 20


Call = Callable[[], Awaitable[Items]]


@dataclass(frozen=True)
class Subject:
    """A public call under test. ``connect``: (base_url, deadline) -> context manager of the call.

    ``strikes``: the endpoint at which faults occur. ``changed_by``: faults that return a complete but different text,
    which cannot be detected; these are not run.
    """

    strikes: str
    connect: Callable[[str, float], AbstractAsyncContextManager[Call]]
    script: Any = None
    changed_by: frozenset[str] = frozenset()


def at(url: str, deadline: float) -> Endpoint:
    quick = {"deadline_s": deadline, "query_deadline_s": deadline, "first_pause_s": 0.01}
    return Endpoint(model="m", base_url=url, breaker_failures=10**6, **quick)


@asynccontextmanager
async def chat(url: str, deadline: float) -> AsyncIterator[Call]:
    model = OpenAIChat(at(url, deadline))

    async def call() -> Items:
        found = await ask(model, [Message(role="user", content="facts?")], Facts, deadline_s=deadline)
        return tuple(f"fact {fact.number}" for fact in found.facts)

    yield call
    await model.close()


@asynccontextmanager
async def stream(url: str, deadline: float) -> AsyncIterator[Call]:
    model = OpenAIChat(at(url, deadline))

    async def call() -> Items:
        async with aclosing(model.stream([Message(role="user", content=LONG)])) as pieces:
            return ("".join([piece async for piece in pieces]),)

    yield call
    await model.close()


@asynccontextmanager
async def embed(url: str, deadline: float) -> AsyncIterator[Call]:
    model = OpenAIEmbedder(at(url, deadline), cached=0)
    await model.measure()

    async def call() -> Items:
        return tuple(str(row.round(4).tolist()) for row in await model.embed(TEXTS))

    yield call
    await model.close()


@asynccontextmanager
async def rerank(url: str, deadline: float) -> AsyncIterator[Call]:
    model = OpenAIReranker(at(url, deadline))

    async def call() -> Items:
        return tuple(f"{n}: {score}" for n, score in enumerate(await model.rerank("tea", TEXTS)))

    yield call
    await model.close()


SUBJECTS: Mapping[str, Subject] = {
    "chat": Subject("chat", chat, {"facts": FACTS}),
    "stream": Subject(
        "chat",
        stream,
        changed_by=frozenset({"malformed_json", "wrong_schema", "wrong_language", "fenced", "prose", "think"}),
    ),
    "embed": Subject("embeddings", embed),
    "rerank": Subject("rerank", rerank),
    **{name: Subject(*row) for name, row in {**failing.backend.ROWS, **failing.chat.ROWS}.items()},
}


def rules(fault: str, deadline: float) -> Sequence[dict[str, Any]]:
    """Return server rules for all variants of a fault, long enough to exceed the deadline."""
    if fault == "malformed_json":
        return [{"fault": fault, "variant": variant} for variant in MALFORMED]
    longer = {"hang": {"seconds": deadline + 5}, "stall": {"seconds": deadline + 5}, "drip": {"interval": deadline / 5}}
    return [{"fault": fault, **longer.get(fault, {})}]


async def timed(call: Call, deadline: float, tally: Counter[str]) -> Items | None:
    """Return the items, or None for a typed error. Other errors end the benchmark."""
    began = time.monotonic()
    try:
        return await call()
    except MemscopeError:
        return None
    finally:
        tally["over_deadline"] += time.monotonic() - began > deadline + GRACE_S


def compare(got: Items, expected: Items, tally: Counter[str]) -> None:
    tally["silent_losses"] += (Counter(expected) - Counter(got)).total()
    tally["doubled"] += (Counter(got) - Counter(set(got))).total()


async def run(subject: Subject, rule: dict[str, Any], seed: int, deadline: float, tally: Counter[str]) -> None:
    with FaultServer(script=subject.script, seed=seed) as server:
        async with subject.connect(server.base_url, STEADY_S) as call:  # long enough even for a busy machine
            expected = await call()
        async with connected(subject, server.base_url, deadline) as call:
            server.plan = Plan([rule], seed)
            if (got := await timed(call, deadline, tally)) is not None:
                compare(got, expected, tally)
            server.plan = Plan([])
            for _ in range(TRIES):
                if (got := await timed(call, deadline, tally)) is not None:
                    break
            compare(got or (), expected, tally)
    tally["runs"] += 1


@asynccontextmanager
async def connected(subject: Subject, url: str, deadline: float) -> AsyncIterator[Call]:
    async with AsyncExitStack() as stack:
        for left in reversed(range(TRIES)):
            try:
                call = await stack.enter_async_context(subject.connect(url, deadline))
                break
            except ModelError:
                if not left:
                    raise
        yield call


async def everything(names: Sequence[str], seeds: int, deadline: float) -> Counter[str]:
    tally: Counter[str] = Counter(runs=0, silent_losses=0, doubled=0, over_deadline=0)
    for name in names:
        subject = SUBJECTS[name]
        for fault in sorted(f for f, strikes in FAULTS.items() if subject.strikes in strikes):
            if fault in subject.changed_by:
                continue
            for rule in rules(fault, deadline):
                before = dict(tally)
                await run(subject, rule, 0, deadline, tally)
                for seed in range(1, seeds + 1):
                    await run(subject, {**rule, "ratio": 0.5}, seed, deadline, tally)
                report(name, rule, before, tally)
    return tally


def report(name: str, rule: dict[str, Any], before: Mapping[str, int], after: Mapping[str, int]) -> None:
    bad = {key: after[key] - before[key] for key in before if key != "runs" and after[key] != before[key]}
    print(f"{name:15} {rule['fault']:16} {rule.get('variant', ''):16} {bad or 'ok'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deadline", type=float, default=1.0, help="seconds a call may take")
    parser.add_argument("--seeds", type=int, default=1, help="further runs of each fault at ratio 0.5")
    parser.add_argument("--only", choices=SUBJECTS, action="append", help="this subject only; repeatable")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(everything(given.only or list(SUBJECTS), given.seeds, given.deadline))))


if __name__ == "__main__":
    main()
