"""Share one memory per process between all adapters with equal settings, on any event loop or thread.

A memory opened here runs on memscope's private loop thread. Its connections, background work and index exist once, and
agent frameworks may start and stop event loops freely. With a chat model it derives memories in the background. A
memory passed as an object stays on its owner's loop, and its owner decides when background work runs.
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

from memscope.config.locations import without_secret_parameters
from memscope.errors import ConfigError, MemscopeError
from memscope.imports import hold_across_forks
from memscope.memory import AsyncMemoryScope
from memscope.sync import MemoryScope, loop_thread

if TYPE_CHECKING:
    from memscope.config.settings import Settings

log = logging.getLogger("memscope")
R = TypeVar("R")
T = TypeVar("T")
SECRET_SUFFIXES = ("key", "headers", "password", "secret", "token")  # settings with such names are not serialized
MemoryLike: TypeAlias = "AsyncMemoryScope | MemoryScope | Settings | Mapping[str, Any] | str | Path | None"
Operation: TypeAlias = Callable[[AsyncMemoryScope], Coroutine[Any, Any, R]]


@dataclass(eq=False)
class SharedMemory:
    """A memory and where it runs. ``settings`` is None if the caller owns the memory and closes it."""

    memory: AsyncMemoryScope
    settings: Settings | None = None
    portal: bool = False  # whether it runs on the loop thread
    references: int = 0
    pid: int = 0

    async def do(self, operation: Operation[R]) -> R:
        """Run ``operation(memory)`` on the memory's event loop, without blocking the current one."""
        if not self.portal or asyncio.get_running_loop() is loop_thread.loop():
            return await operation(self.memory)
        work = asyncio.run_coroutine_threadsafe(operation(self.memory), loop_thread.loop())
        return await asyncio.wrap_future(work)


def wait_for(work: Coroutine[Any, Any, R]) -> R:
    """Wait for a coroutine in code that cannot ``await``. Must not be called on the loop thread itself."""
    return loop_thread.run(work)


_lock = threading.Lock()
hold_across_forks(_lock)
_shared: list[SharedMemory] = []


def acquire(source: MemoryLike) -> SharedMemory:
    """Resolve an adapter's ``memory`` argument: an object, settings, a store's path or URL, or None for the default.

    Equal settings share one memory. Call ``release`` when done; the last release closes it. A process may also just
    exit: acknowledged writes are durable, and pending work stays in the store.
    """
    if isinstance(source, AsyncMemoryScope):
        return SharedMemory(source)
    if isinstance(source, MemoryScope):
        return SharedMemory(source.memory, portal=True)
    settings = _settings(source)
    with _lock:
        shared = next((one for one in _shared if one.pid == os.getpid() and one.settings == settings), None)
        if shared is None:
            memory = AsyncMemoryScope(settings=settings)
            memory.admin.runtime.work.work_by_itself()
            shared = SharedMemory(memory, settings, portal=True, pid=os.getpid())
            _shared.append(shared)
        shared.references += 1
        return shared


def check_settings(source: MemoryLike) -> MemoryLike:
    """Load the settings. Raise ``ConfigError`` or ``PluginError`` if a memory cannot be created from them."""
    if isinstance(source, AsyncMemoryScope | MemoryScope):
        return source
    settings = _settings(source)
    if not any(one.settings == settings for one in _shared):
        memory = AsyncMemoryScope(settings=settings)  # opens nothing
        path = getattr(memory.admin.runtime.services.store, "path", None)
        if isinstance(path, Path) and not path.parent.is_dir():
            raise ConfigError(f"the folder of the store {str(path)!r} does not exist", hint="make it, or mend the path")
        if isinstance(path, Path) and path.is_dir():
            raise ConfigError(f"{str(path)!r} is a folder", hint="give the path of a file")
    return settings


async def release(shared: SharedMemory) -> None:
    with _lock:
        shared.references -= 1
        is_last = not shared.references and shared in _shared
        if is_last:
            _shared.remove(shared)
    if is_last:
        await shared.do(lambda memory: memory.close())


@dataclass(eq=False)
class MemoryHandle:
    """A memory shared by several sessions, opened on first use.

    ``failing``: operations whose last call failed. ``full_deadline_at``: during an outage, the monotonic time from
    which an operation gets its full deadline again.
    """

    memory: MemoryLike = None
    failing: set[str] = field(default_factory=set)
    full_deadline_at: float = 0.0
    _settings_source: MemoryLike = None
    _shared: SharedMemory | None = None

    def __post_init__(self) -> None:
        self._settings_source = check_early(check_settings, self.memory)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the settings only. Raise ``ConfigError`` if the memory was passed as an object."""
        return {"memory": to_config(self.memory), "failing": set(), "_settings_source": None, "_shared": None}

    async def shared(self) -> SharedMemory:
        if self._shared is None:
            source = self.memory if self._settings_source is None else self._settings_source
            shared = await asyncio.to_thread(acquire, source)  # reads settings, imports plugins
            if self._shared is not None:  # another task opened it meanwhile
                await release(shared)  # type: ignore[unreachable]
            else:
                self._shared = shared
        return self._shared

    async def close(self) -> None:
        """Release the memory; the next use opens it again. A memory passed as an object stays open."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await release(shared)


# ------------------------------------------------------------------------------------------------------------- settings


def _settings(source: Settings | Mapping[str, Any] | str | Path | None) -> Settings:
    from memscope.config.settings import load

    return load({"store": str(source)} if isinstance(source, str | Path) else source)


def check_early(check: Callable[[T], R], value: T) -> R | None:
    """Check settings early. If the event loop forbids blocking reads, leave the check to the first use (None)."""
    try:
        return check(value)
    except MemscopeError:
        raise
    except Exception as error:
        log.debug("%s: on first use (%s)", check.__name__, type(error).__name__)
        return None


def to_config(source: MemoryLike) -> dict[str, Any] | None:
    """Serialize the argument to JSON without keys, passwords or settings from the environment.

    Raise ``ConfigError`` for a memory passed as an object, which only its owner can recreate.
    """
    if source is None:
        return None
    if isinstance(source, AsyncMemoryScope | MemoryScope):
        raise ConfigError("a memory given as an object cannot be written down", hint="give settings or a path instead")
    if isinstance(source, str | Path):
        return {"store": _without_password(str(source))}
    settings = source if isinstance(source, Mapping) else source.model_dump(exclude_unset=True)
    return _public(settings)


def identity(source: MemoryLike) -> str:
    """Return a key that is equal for arguments that refer to the same memory in this process."""
    if isinstance(source, AsyncMemoryScope | MemoryScope):
        return f"object {id(source.memory if isinstance(source, MemoryScope) else source)}"
    return json.dumps(to_config(source), sort_keys=True)


def _public(settings: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: _plain(value) for name, value in settings.items() if not name.lower().endswith(SECRET_SUFFIXES)}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(value: Any) -> Any:
    """Convert a value to JSON, or to None if that is impossible or unsafe (``SecretStr``)."""
    if isinstance(value, Mapping):
        return _public(value)
    if isinstance(value, list | tuple | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, str | Path):
        return _without_password(str(value))
    return value if isinstance(value, bool | int | float) else None


def _without_password(text: str) -> str:
    if "://" not in text:
        return text
    parts = urlsplit(text := without_secret_parameters(text))
    if "@" not in parts.netloc:
        return text
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
