"""A memory whose clock stands still until it is moved, and what a person said in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.records import ChangeSet, Observation, Scope

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ALL_MARKS = ("(changed later: ", "（后来有变：")


class Days:
    """A clock that stands still until it is moved."""

    now = START

    def __call__(self) -> datetime:
        return self.now


@asynccontextmanager
async def talking() -> AsyncIterator[AsyncMemoryScope]:
    clock = Days()
    async with AsyncMemoryScope(":memory:", clock=clock, settings={"timezone": "UTC"}) as memory:
        memory.days = clock  # type: ignore[attr-defined]
        yield memory


async def say(memory: AsyncMemoryScope, text: str, role: str = "user", *, day: int = 0, session: str = "s") -> str:
    memory.days.now = START + timedelta(days=day)  # type: ignore[attr-defined]
    said = {"role": role, "content": text}
    return (await memory.add_turns([said], user="u", session=f"{session}{day}")).keys[0]


async def note(memory: AsyncMemoryScope, id: str, text: str, *keys: str, day: int = 0, **given: Any) -> Observation:
    when = START + timedelta(days=day)
    made = Observation(id=id, scope=Scope("u"), text=text, sources=keys, said=when, recorded=when, **given)
    await memory.admin.runtime.services.store.apply("u", ChangeSet(new=(made,)))
    return made


async def cancel_midway(answer: Any) -> None:
    """Cancel an answer of the chat after its first piece."""
    await anext(answer)
    going_on = asyncio.create_task(answer._whole())
    await asyncio.sleep(0)
    going_on.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going_on
