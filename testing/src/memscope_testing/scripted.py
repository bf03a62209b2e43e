"""Test doubles: a chat model for a framework's agent, and a store that fails or waits on purpose."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memscope.errors import StoreUnavailable
from memscope.records import AppendResult, Candidates, ChangeSet, Search, TurnInsert
from memscope.stores.memory import InMemoryStore


class Shown(NamedTuple):
    """A message as the model received it, with a ``role`` of the chat completions protocol."""

    role: str
    text: str


@dataclass
class ScriptedModel:
    """Scripted replies of an agent's model. The framework's own model object calls ``answer``.

    ``shown``: messages of every call. ``during`` runs during each call; ``error`` is raised instead of a reply.
    """

    shown: list[list[Shown]] = field(default_factory=list)
    during: Callable[[], Awaitable[None]] | None = None
    error: Exception | None = None
    name: str = "model"
    adds: str = ""  # appended to each reply

    async def answer(self, messages: Sequence[tuple[str, str]]) -> str:
        self.shown.append([Shown(role, text) for role, text in messages])
        if self.during is not None:
            await self.during()
        if self.error is not None:
            raise self.error
        return f"Understood by {self.name}, number {len(self.shown)}.{self.adds}"

    @property
    def latest(self) -> str:
        """The text of all messages of the latest call."""
        return "\n".join(message.text for message in self.shown[-1])


class FickleStore(InMemoryStore):
    """A store whose calls fail while ``broken`` is set, and after ``hold()`` wait for ``gate``."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.gate: threading.Event | None = None
        self.reached = threading.Event()

    def hold(self) -> threading.Event:
        self.gate = threading.Event()
        return self.gate

    async def append(
        self, user: str, inserts: Sequence[TurnInsert], change_set: ChangeSet | None = None
    ) -> AppendResult:
        await self._pass()
        return await super().append(user, inserts, change_set)

    async def search(self, search: Search) -> Candidates:
        await self._pass()
        return await super().search(search)

    async def _pass(self) -> None:
        if self.gate is not None:
            self.reached.set()
            await asyncio.to_thread(self.gate.wait)
        if self.broken:
            raise StoreUnavailable("out of order, as the test wants it")


def unclosed(before: set[asyncio.Task[Any]]) -> list[str]:
    """Return the names of running tasks that are not in ``before``."""
    return [task.get_name() for task in asyncio.all_tasks() - before if task is not asyncio.current_task()]
