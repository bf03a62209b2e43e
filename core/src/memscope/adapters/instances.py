"""One memory per process for all adapters that name the same one, usable from any event loop and from threads.

A memory made here lives on memscope's own loop thread: connections, background work and the index exist once, and an
agent framework may start and end event loops as it likes. With a chat model it makes memories by itself. A memory given
as an object stays on its owner's loop, and works when its owner says so.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

from memscope.errors import ConfigError, MemscopeError
from memscope.memory import AsyncMemoryScope
from memscope.sync import MemoryScope, loop_thread

if TYPE_CHECKING:
    from memscope.config.settings import Settings

log = logging.getLogger("memscope")
R = TypeVar("R")
T = TypeVar("T")
SECRET_SUFFIXES = ("key", "headers", "password", "secret", "token")  # of names of settings that are not written down
MemoryLike: TypeAlias = "AsyncMemoryScope | MemoryScope | Settings | Mapping[str, Any] | str | Path | None"
Operation: TypeAlias = Callable[[AsyncMemoryScope], Coroutine[Any, Any, R]]


@dataclass(eq=False)
class SharedMemory:
    """A memory and where it runs. ``settings`` is None for a memory that its owner made and closes."""

    memory: AsyncMemoryScope
    settings: Settings | None = None
    portal: bool = False  # runs on the loop thread
    references: int = 0
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
_shared: list[SharedMemory] = []


def acquire(asked: MemoryLike) -> SharedMemory:
    """The shared memory for an adapter's argument: an object, settings, a store's path or URL, or None for the default.

    Equal settings give the same one. ``release`` it when done; the last one to do so closes it. A process may just
    end, too: what was acknowledged is durable, and what waits for a model waits in the store.
    """
    if isinstance(asked, AsyncMemoryScope):
        return SharedMemory(asked)
    if isinstance(asked, MemoryScope):
        return SharedMemory(asked.memory, portal=True)
    settings = _settings(asked)
    with _lock:
        shared = next((one for one in _shared if one.pid == os.getpid() and one.settings == settings), None)
        if shared is None:
            memory = AsyncMemoryScope(settings=settings)
            memory.admin.runtime.work.work_by_itself()
            shared = SharedMemory(memory, settings, portal=True, pid=os.getpid())
            _shared.append(shared)
        shared.references += 1
        return shared


def check_settings(asked: MemoryLike) -> MemoryLike:
    """Read the settings of an argument. ``ConfigError`` or ``PluginError`` if no memory can be made of them."""
    if isinstance(asked, AsyncMemoryScope | MemoryScope):
        return asked
    settings = _settings(asked)
    if not any(one.settings == settings for one in _shared):
        memory = AsyncMemoryScope(settings=settings)  # opens nothing
        path = getattr(memory.admin.runtime.services.store, "path", None)
        if isinstance(path, Path) and not path.parent.is_dir():
            raise ConfigError(f"the folder of the store {str(path)!r} does not exist", hint="make it, or mend the path")
    return settings


async def release(shared: SharedMemory) -> None:
    if _last(shared):
        await shared.do(lambda memory: memory.close())


def _last(shared: SharedMemory) -> bool:
    with _lock:
        shared.references -= 1
        if shared.references or shared not in _shared:
            return False
        _shared.remove(shared)
        return True


@dataclass(eq=False)
class MemoryHandle:
    """The memory of several sessions, opened on first use off the event loop. ``failing``: operations that failed."""

    memory: MemoryLike = None
    failing: set[str] = field(default_factory=set)
    _checked: MemoryLike = None
    _shared: SharedMemory | None = None

    def __post_init__(self) -> None:
        self._checked = checked_now(check_settings, self.memory)

    def __getstate__(self) -> dict[str, Any]:
        """Settings only; ``ConfigError`` where the memory was given as an object."""
        return {"memory": to_config(self.memory), "failing": set(), "_checked": None, "_shared": None}

    async def shared(self) -> SharedMemory:
        if self._shared is None:
            asked = self.memory if self._checked is None else self._checked
            shared = await asyncio.to_thread(acquire, asked)  # reads settings, imports plugins
            if self._shared is not None:  # another task was quicker
                await release(shared)  # type: ignore[unreachable]
            else:
                self._shared = shared
        return self._shared

    async def close(self) -> None:
        """Release the memory. One given as an object stays open; the next use opens this one again."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await release(shared)


# ------------------------------------------------------------------------------------------------------------- settings


def _settings(asked: Settings | Mapping[str, Any] | str | Path | None) -> Settings:
    from memscope.config.settings import load

    return load({"store": str(asked)} if isinstance(asked, str | Path) else asked)


def checked_now(check: Callable[[T], R], value: T) -> R | None:
    """Raise ``ConfigError`` for a mistake in the settings; on first use where the event loop forbids reading."""
    try:
        return check(value)
    except MemscopeError:
        raise
    except Exception as error:
        log.debug("%s: on first use (%s)", check.__name__, type(error).__name__)
        return None


def to_config(asked: MemoryLike) -> dict[str, Any] | None:
    """Return an argument as JSON that may be written down: without keys, passwords and settings of the environment.

    ``ConfigError`` for a memory given as an object, which only its owner can make again.
    """
    if asked is None:
        return None
    if isinstance(asked, AsyncMemoryScope | MemoryScope):
        raise ConfigError("a memory given as an object cannot be written down", hint="give settings or a path instead")
    if isinstance(asked, str | Path):
        return {"store": _without_password(str(asked))}
    settings = asked if isinstance(asked, Mapping) else asked.model_dump(exclude_unset=True)
    return _public(settings)


def identity(asked: MemoryLike) -> str:
    """Return a key: equal for arguments that give the same memory in this process."""
    if isinstance(asked, AsyncMemoryScope | MemoryScope):
        return f"object {id(asked.memory if isinstance(asked, MemoryScope) else asked)}"
    return json.dumps(to_config(asked), sort_keys=True)


def _public(settings: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: _plain(value) for name, value in settings.items() if not name.lower().endswith(SECRET_SUFFIXES)}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(value: Any) -> Any:
    """Convert a value to JSON; None for anything else, such as a ``SecretStr``."""
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
