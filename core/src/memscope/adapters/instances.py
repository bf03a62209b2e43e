"""One core a process for all adapters that name the same memory, usable from any event loop and from threads.

A core made here lives on memscope's own loop thread: connections, background work and the index are there once, and an
agent framework may start and end event loops as it likes. A memory given as an object stays where its owner uses it.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

from memscope.errors import ConfigError
from memscope.memory import AsyncMemoryScope
from memscope.sync import MemoryScope, loop_thread

if TYPE_CHECKING:
    from memscope.config.settings import Settings

R = TypeVar("R")
SECRETS = ("key", "headers", "password", "secret", "token")  # how the names of settings end that are not written down
Memory: TypeAlias = "AsyncMemoryScope | MemoryScope | Settings | Mapping[str, Any] | str | Path | None"
Operation: TypeAlias = Callable[[AsyncMemoryScope], Coroutine[Any, Any, R]]


@dataclass(eq=False)
class SharedMemory:
    """A memory and where it runs. ``settings`` is None for a memory that somebody else made and will close."""

    memory: AsyncMemoryScope
    settings: Settings | None = None
    portal: bool = False  # runs on the loop thread
    holds: int = 0
    pid: int = 0

    async def do(self, operation: Operation[R]) -> R:
        """Run ``operation(memory)`` where the memory lives, without blocking this event loop."""
        if not self.portal or asyncio.get_running_loop() is loop_thread.loop():
            return await operation(self.memory)
        work = asyncio.run_coroutine_threadsafe(operation(self.memory), loop_thread.loop())
        return await asyncio.wrap_future(work)


def wait_for(work: Coroutine[Any, Any, R]) -> R:
    """The result of an adapter's coroutine in code that cannot ``await``; not from the loop thread itself."""
    return loop_thread.run(work)


_lock = threading.Lock()
_cores: list[SharedMemory] = []


def acquire(given: Memory) -> SharedMemory:
    """The core for what an adapter was given: an object, settings, a store's path or URL, or None for the default.

    Equal settings give the same core. ``release`` it when done; the last one to do so closes it. A process may just
    end, too: what was acknowledged is durable, and what waits for a model waits in the store.
    """
    if isinstance(given, AsyncMemoryScope):
        return SharedMemory(given)
    if isinstance(given, MemoryScope):
        return SharedMemory(given.memory, portal=True)
    settings = _settings(given)
    with _lock:
        core = next((core for core in _cores if core.pid == os.getpid() and core.settings == settings), None)
        if core is None:
            core = SharedMemory(AsyncMemoryScope(settings=settings), settings, portal=True, pid=os.getpid())
            _cores.append(core)
        core.holds += 1
        return core


def checked(given: Memory) -> Memory:
    """What ``acquire`` takes, its settings read. ``ConfigError`` or ``PluginError`` if no memory can be made of it."""
    if isinstance(given, AsyncMemoryScope | MemoryScope):
        return given
    settings = _settings(given)
    if not any(core.settings == settings for core in _cores):
        AsyncMemoryScope(settings=settings)  # opens nothing
    return settings


async def release(core: SharedMemory, *, drain_s: float = 5.0) -> None:
    if _last(core):
        await core.do(lambda memory: memory.close(drain_s=drain_s))


def _last(core: SharedMemory) -> bool:
    with _lock:
        core.holds -= 1
        if core.holds or core not in _cores:
            return False
        _cores.remove(core)
        return True


# ------------------------------------------------------------------------------------------------------------- settings


def _settings(given: Settings | Mapping[str, Any] | str | Path | None) -> Settings:
    from memscope.config.settings import load

    return load({"store": str(given)} if isinstance(given, str | Path) else given)


def to_config(given: Memory) -> dict[str, Any] | None:
    """What was given as JSON that may be written down: without keys, passwords and what the environment says anyway.

    ``ConfigError`` for a memory given as an object, which only its owner can make again.
    """
    if given is None:
        return None
    if isinstance(given, AsyncMemoryScope | MemoryScope):
        raise ConfigError("a memory given as an object cannot be written down", hint="give settings or a path instead")
    if isinstance(given, str | Path):
        return {"store": _without_password(str(given))}
    told = given if isinstance(given, Mapping) else given.model_dump(exclude_unset=True)
    return _public(told)


def place(given: Memory) -> str:
    """The same text for what gives the same memory in this process."""
    if isinstance(given, AsyncMemoryScope | MemoryScope):
        return f"object {id(given.memory if isinstance(given, MemoryScope) else given)}"
    return json.dumps(to_config(given), sort_keys=True)


def _public(told: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: _plain(value) for name, value in told.items() if not name.lower().endswith(SECRETS)}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(value: Any) -> Any:
    """JSON; None for what is none, a ``SecretStr`` among them."""
    if isinstance(value, Mapping):
        return _public(value)
    if isinstance(value, list | tuple | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, str | Path):
        return _without_password(str(value))
    return value if isinstance(value, bool | int | float) else None


def _without_password(text: str) -> str:
    if "@" not in text or "://" not in text:
        return text
    parts = urlsplit(text)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
