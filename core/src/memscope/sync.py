"""MemoryScope: the same operations without ``await``, over one private event loop in a thread of its own.

It works in a plain program, inside a running loop and in a notebook. Only a call from the private loop itself (from a
plugin's async hook, say) cannot wait for itself and raises.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from memscope.blocks import AsyncBlocks
from memscope.errors import ClosedError
from memscope.memory import AsyncMemoryScope

if TYPE_CHECKING:
    from memscope.chat import Answer
    from memscope.records import Hit
    from memscope.runtime import Runtime

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class LoopThread:
    """An event loop in a daemon thread; made again after a fork, where threads do not survive."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parents: list[asyncio.AbstractEventLoop] = []  # kept: tasks that are dropped warn that they never ended
        self._pid = 0
        self._unlock()
        if hasattr(os, "register_at_fork"):  # another thread may have held the lock, and is no more in the child
            os.register_at_fork(after_in_child=self._unlock)

    def _unlock(self) -> None:
        self._lock = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._parents += [self._loop] if self._loop else []
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=self._loop.run_forever, name="memscope", daemon=True).start()
            return self._loop

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        loop = self.loop()
        if _running() is loop:
            work.close()
            raise ClosedError("MemoryScope was called from its own loop", hint="use AsyncMemoryScope there, with await")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


loop_thread = LoopThread()


def _over(method: Callable[Concatenate[Any, P], T], finish: Callable[[T], R]) -> Callable[Concatenate[Any, P], R]:
    """Returns the method of the async object behind, with its signature and docstring; ``finish`` makes the result."""

    @functools.wraps(method)
    def call(self: MemoryScope | SyncBlocks, *args: P.args, **kwargs: P.kwargs) -> R:
        return finish(method(self._behind, *args, **kwargs))

    return cast("Callable[Concatenate[Any, P], R]", call)


def _sync(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[Any, P], R]:
    """Returns the method; a call waits for the result."""
    return _over(method, loop_thread.run)


def _taking(method: Callable[Concatenate[Any, P], None]) -> Callable[[T], Callable[Concatenate[Any, P], None]]:
    """Gives a constructor the arguments of another one, for editors and type checkers."""
    return functools.wraps(method, assigned=("__annotations__",))  # type: ignore[return-value]


class SyncAnswer:
    """``chat.Answer`` without ``await``: iterate over it for its pieces."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __iter__(self) -> SyncAnswer:
        return self

    def __next__(self) -> str:
        async def step() -> str | None:  # StopAsyncIteration cannot leave a future
            return await anext(self._answer, None)

        piece = loop_thread.run(step())
        if piece is None:
            raise StopIteration
        return piece

    @property
    def text(self) -> str:
        return self._answer.text

    @property
    def memories(self) -> tuple[Hit, ...]:
        return self._answer.memories

    @property
    def notes(self) -> list[str]:
        return self._answer.notes

    def close(self) -> None:
        """Stop here: nothing more is asked of the model."""
        loop_thread.run(self._answer.aclose())


class SyncBlocks:
    """``AsyncBlocks`` without ``await``; takes the same arguments. ``blocks`` is the async object."""

    def __init__(self, blocks: AsyncBlocks) -> None:
        self.blocks = self._behind = blocks

    list = _sync(AsyncBlocks.list)
    get = _sync(AsyncBlocks.get)
    history = _sync(AsyncBlocks.history)
    text = _sync(AsyncBlocks.text)
    create = _sync(AsyncBlocks.create)
    configure = _sync(AsyncBlocks.configure)
    append = _sync(AsyncBlocks.append)
    replace = _sync(AsyncBlocks.replace)
    remove = _sync(AsyncBlocks.remove)
    insert = _sync(AsyncBlocks.insert)
    rethink = _sync(AsyncBlocks.rethink)
    revert = _sync(AsyncBlocks.revert)
    erase = _sync(AsyncBlocks.erase)


class MemoryScope:
    """``AsyncMemoryScope`` for code without ``await``; takes the same arguments. ``memory`` is the async object."""

    @_taking(AsyncMemoryScope.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.memory = self._behind = AsyncMemoryScope(*args, **kwargs)

    @property
    def runtime(self) -> Runtime:
        """The settings, store, models, plugins and clock that this memory works with."""
        return self.memory.runtime

    def __repr__(self) -> str:
        return f"MemoryScope({self.runtime.location!r})"

    def __enter__(self) -> MemoryScope:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    add_turns = _sync(AsyncMemoryScope.add_turns)
    add_memory = _sync(AsyncMemoryScope.add_memory)
    update = _sync(AsyncMemoryScope.update)
    consolidate = _sync(AsyncMemoryScope.consolidate)
    reflect = _sync(AsyncMemoryScope.reflect)
    retrieve = _sync(AsyncMemoryScope.retrieve)
    context = _sync(AsyncMemoryScope.context)
    profile = _sync(AsyncMemoryScope.profile)
    get = _sync(AsyncMemoryScope.get)
    list = _sync(AsyncMemoryScope.list)
    history = _sync(AsyncMemoryScope.history)

    blocks = _over(AsyncMemoryScope.blocks, SyncBlocks)
    entities = _sync(AsyncMemoryScope.entities)
    entity = _sync(AsyncMemoryScope.entity)
    timeline = _sync(AsyncMemoryScope.timeline)
    stream = _sync(AsyncMemoryScope.stream)
    graph = _sync(AsyncMemoryScope.graph)
    merge_entities = _sync(AsyncMemoryScope.merge_entities)
    split_entities = _sync(AsyncMemoryScope.split_entities)

    chat = _over(AsyncMemoryScope.chat, SyncAnswer)
    forget = _sync(AsyncMemoryScope.forget)
    sweep = _sync(AsyncMemoryScope.sweep)
    audit = _sync(AsyncMemoryScope.audit)
    receipts = _sync(AsyncMemoryScope.receipts)
    start = _sync(AsyncMemoryScope.start)
    stop = _sync(AsyncMemoryScope.stop)
    unpark = _sync(AsyncMemoryScope.unpark)
    proposals = _sync(AsyncMemoryScope.proposals)
    accept = _sync(AsyncMemoryScope.accept)
    reject = _sync(AsyncMemoryScope.reject)
    compact = _sync(AsyncMemoryScope.compact)
    export = _sync(AsyncMemoryScope.export)
    import_ = _sync(AsyncMemoryScope.import_)
    import_from = _sync(AsyncMemoryScope.import_from)
    backup = _sync(AsyncMemoryScope.backup)
    restore = _sync(AsyncMemoryScope.restore)
    recover = _sync(AsyncMemoryScope.recover)
    reembed = _sync(AsyncMemoryScope.reembed)
    flush = _sync(AsyncMemoryScope.flush)
    users = _sync(AsyncMemoryScope.users)
    status = _sync(AsyncMemoryScope.status)
    close = _sync(AsyncMemoryScope.close)
