"""Run the named steps of an operation. A worker is an async function from batch to batch; I/O goes through its
``Services``.

A worker declares the fields that it reads and writes. Writes are checked for every worker. Reads are checked for
plugins' workers, by a view without undeclared fields; for the built-in ones only in tests, since views are costly.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from inspect import currentframe
from operator import attrgetter, is_
from types import FrameType
from typing import Any, Generic, TypeVar

from memscope.errors import ConfigError, MemscopeError, PluginError, WorkerError
from memscope.services import Services

B = TypeVar("B")
UNFINISHED = "unfinished"  # marks, in a saved change set's report, partial work of an attempt that ended early


@dataclass(frozen=True, eq=False)  # hashed by identity, on every step of a retrieve: hashing fields costs more
class Worker(Generic[B]):
    """A named step. ``reads`` and ``writes`` are fields of the batch; written fields may be read too."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    call: Callable[[B, Services], Awaitable[B]]

    built_in: bool = False

    async def __call__(self, batch: B, ctx: Services) -> B:
        return await self.call(batch, ctx)


def altered(value: B, /, **changes: Any) -> B:
    """Copy a dataclass without slots and change some fields; ten times as fast as ``dataclasses.replace``."""
    copied = object.__new__(type(value))
    vars(copied).update(vars(value), **changes)
    assert len(vars(copied)) == len(vars(value)), "no new fields"
    return copied


def worker(
    *, reads: Sequence[str], writes: Sequence[str], name: str = ""
) -> Callable[[Callable[[B, Services], Awaitable[B]]], Worker[B]]:
    """Make an async function ``(batch, ctx) -> batch`` a worker.

    Args:
        reads: Fields of the batch that it reads.
        writes: Fields that it replaces, and may read.
        name: Name in the setting ``pipelines`` and in errors; by default the function's.

    Returns:
        A decorator.
    """

    def make(call: Callable[[B, Services], Awaitable[B]]) -> Worker[B]:
        built_in = call.__module__.partition(".")[0] == "memscope"
        return Worker(name or call.__name__, tuple(reads), tuple(writes), call, built_in)

    return make


def assemble(
    operation: str, names: Sequence[str], known: Mapping[str, Worker[Any]], batch: type[Any]
) -> list[Worker[Any]]:
    """Look up the workers of an operation, in order.

    Raises ``ConfigError`` for an unregistered name and for a worker that declares a field which the batch lacks,
    ``PluginError`` for anything but a worker.
    """
    columns = {column.name for column in fields(batch)}
    steps = []
    for name in names:
        if name not in known:
            raise ConfigError(f"{operation} has no worker {name!r}", hint=f"known: {', '.join(sorted(known))}")
        step: object = known[name]
        if not isinstance(step, Worker):
            message = f"{operation}.{name} is no worker but {type(step).__name__}"
            raise PluginError(message, hint="make it one with memscope.pipeline.worker")
        if strange := {*step.reads, *step.writes} - columns:
            raise ConfigError(f"worker {name!r} names {sorted(strange)}, which {batch.__name__} does not have")
        steps.append(step)
    return steps


async def run(steps: Sequence[Worker[B]], batch: B, ctx: Services) -> B:
    """Run all steps. A worker's error ends the operation before anything is written.

    Raises:
        WorkerError: A worker failed, returned no batch, or touched a field that it does not declare.
    """
    for step in steps:
        view = batch if step.built_in else _copy(_view(type(batch), step), batch)  # type: ignore[arg-type]
        result: object = await _result(step, view, ctx)
        if type(result) is type(view):
            result = result if step.built_in else _copy(type(batch), result)
        if type(result) is not type(batch):
            problem = f"worker {step.name!r} returned {type(result).__name__} instead of {type(batch).__name__}"
            raise WorkerError(problem, hint="it returns the batch, altered by dataclasses.replace")
        if result is batch:
            continue
        names, values = _unwritten(type(batch), step)  # type: ignore[arg-type]
        if not all(map(is_, values(result), values(batch))):
            name = next(name for name in names if getattr(result, name) is not getattr(batch, name))
            message = f"worker {step.name!r} writes {name!r}, which it does not declare"
            raise WorkerError(message, hint="add it to writes")
        batch = result
    return batch


@lru_cache(maxsize=1 << 7)
def _unwritten(batch: Hashable, step: Worker[Any]) -> tuple[tuple[str, ...], Callable[[object], tuple[object, ...]]]:
    """Return the fields that a step must not change, and a getter that reads all of them at once."""
    names = tuple(column.name for column in fields(batch) if column.name not in step.writes)  # type: ignore[arg-type]
    return names, attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, name) for name in names)


@lru_cache(maxsize=1 << 7)
def _view(batch: Any, step: Worker[Any]) -> Any:
    """Build a view of the batch whose undeclared fields only ``dataclasses.replace`` may read."""
    hidden = {column.name for column in fields(batch)}.difference(step.reads, step.writes)

    def read(self: object, name: str) -> Any:
        if name in hidden and not _is_replacing(currentframe()):
            raise WorkerError(f"worker {step.name!r} reads {name!r}, which it does not declare", hint="add it to reads")
        return object.__getattribute__(self, name)

    return type(batch.__name__, (batch,), {"__slots__": (), "__getattribute__": read})


def _is_replacing(reading: FrameType | None) -> bool:
    caller = reading and reading.f_back
    return caller is not None and caller.f_globals.get("__name__") == "dataclasses"


def _copy(kind: type[B], batch: object) -> B:
    copied = object.__new__(kind)
    for column in fields(kind):  # type: ignore[arg-type]
        object.__setattr__(copied, column.name, object.__getattribute__(batch, column.name))
    return copied


async def _result(step: Worker[B], batch: B, ctx: Services) -> object:
    try:
        return await step(batch, ctx)
    except (MemscopeError, TimeoutError):
        raise
    except Exception as error:  # its message may quote a conversation
        raise WorkerError(f"worker {step.name!r} failed: {type(error).__name__}") from error
