"""Run the named steps of an operation. A worker is an async function from batch to batch; I/O goes through its
``WorkerContext``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, tzinfo
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from memscope.errors import (
    ConfigError,
    EmbeddingError,
    EmbeddingMismatch,
    MemscopeError,
    ModelError,
    PluginError,
    WorkerError,
)
from memscope.imports import importing
from memscope.records import Json
from memscope.text import load_tables

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from typing import Protocol

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from memscope.config.settings import Settings
    from memscope.models import ChatModel, Embedder, Reranker, Usage
    from memscope.prompts.loader import Prompts
    from memscope.records import ChangeSet, Scope, Turn
    from memscope.stores import Store

    # a protocol costs more at import than the rest of this file
    class Host(Protocol):
        """The part of the runtime that blocks and entities work with."""

        @property
        def store(self) -> Store: ...
        @property
        def clock(self) -> Callable[[], datetime]: ...
        @property
        def zone(self) -> tzinfo | None: ...
        @property
        def settings(self) -> Settings: ...
        def now(self, zone: tzinfo | None = None) -> datetime: ...
        def operation(self, name: str) -> AbstractAsyncContextManager[Any]: ...
        async def secret(self) -> bytes: ...
        async def check_statement(self, given: Mapping[str, Any], where: Scope) -> tuple[Turn, bool]: ...


B = TypeVar("B")
M = TypeVar("M", bound="BaseModel")
UNFINISHED = "unfinished"  # in the report of a saved change set: what an attempt had done when it ended


@dataclass(frozen=True)
class WorkerContext:
    """Services of a worker. Models are None where none is configured; ``zone`` is the user's, where it is known.

    ``save``: keeps an ``UNFINISHED`` change set for the next attempt at a claim; None where nothing is to be written.
    """

    store: Store
    settings: Settings
    clock: Callable[[], datetime]
    usage: Usage
    chat: ChatModel | None = None
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    prompts: Prompts | None = None
    zone: tzinfo | None = None
    save: Callable[[ChangeSet], Awaitable[None]] | None = None
    notes: list[str] = field(default_factory=list)  # what was left out and why, for the result's reason
    counters: dict[str, dict[str, Json]] = field(default_factory=dict)  # where the store keeps none

    async def import_operations(self) -> None:
        """Import and read in a thread what the first calls need: an event loop may neither wait nor read files."""
        names = ["memscope.retrieval", "memscope.search.candidates"]
        if self.chat is not None:
            names += ["memscope.jobs.background", "memscope.consolidation", "memscope.reflection"]
        await asyncio.to_thread(_import, names)

    async def prepare_models(self) -> None:
        """Load what the first request of a query needs, which else counts towards its deadline."""
        for model in (self.embedder, self.reranker):
            if prepare := getattr(model, "prepare", None):
                await prepare()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape [len(texts), dims], rows of length 1. Any error is a ``MemscopeError``, whoever wrote the embedder."""
        if self.embedder is None:
            raise ConfigError("there is no embedder", hint="set embedding in the settings")
        return await _trusted(self.embedder.embed(texts), len(texts), self.embedder)

    async def embed_query(self, text: str) -> NDArray[np.float32] | None:
        """The query's vector; None, and a note, without an embedder that answers: the words alone will do."""
        if self.embedder is None:
            return None
        try:
            rows = await _trusted(self.embedder.embed_query(text), 1, self.embedder)
            row: NDArray[np.float32] = rows[0]
            return row
        except ModelError as error:
            self.notes.append(f"without vectors: {error.code}")
            return None

    async def ask(self, prompt: str, texts: Sequence[str], data: Json, schema: type[M]) -> M:
        """The chat model's answer to a prompt with its ``data``, in the language of the ``texts``, as a ``schema``.

        Raises as ``models.structured_output.ask``.
        """
        from memscope.models.structured_output import ask
        from memscope.prompts.loader import Prompts

        assert self.chat is not None
        return await ask(self.chat, (self.prompts or Prompts()).messages(prompt, texts, data), schema)

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """A score for each text; None, and a note, without a rerank model that answers: our own order will do."""
        if self.reranker is None:
            return None
        try:
            return await self.reranker.rerank(query, texts)
        except ModelError as error:
            self.notes.append(f"not reranked: {error.code}")
            return None


def _import(names: Sequence[str]) -> None:
    with importing:
        load_tables()
        for name in names:
            import_module(name)


async def _trusted(given: Awaitable[Any], count: int, embedder: Embedder) -> NDArray[np.float32]:
    import numpy as np

    from memscope.models.embedding_batches import normalised

    dims = embedder.space.dims  # 0 where not known yet
    try:
        rows = np.atleast_2d(np.asarray(await given, np.float32))
    except MemscopeError:
        raise
    except Exception as error:  # its words may be those of a conversation
        raise EmbeddingError(f"the embedder failed: {type(error).__name__}") from None
    if rows.ndim != 2 or len(rows) != count or not rows.size:
        raise EmbeddingError(f"{count} texts were to be embedded, and an array of shape {rows.shape} came back")
    if dims and rows.shape[1] != dims:
        raise EmbeddingMismatch(f"the embedder says {dims} numbers, and made {rows.shape[1]}", hint="mend the embedder")
    return normalised(rows)


@dataclass(frozen=True)
class Worker(Generic[B]):
    """A step with a name. ``reads`` and ``writes`` are fields of the batch."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    call: Callable[[B, WorkerContext], Awaitable[B]]

    async def __call__(self, batch: B, ctx: WorkerContext) -> B:
        return await self.call(batch, ctx)


def worker(
    *, reads: Sequence[str], writes: Sequence[str], name: str = ""
) -> Callable[[Callable[[B, WorkerContext], Awaitable[B]]], Worker[B]]:
    """Make an async function ``(batch, ctx) -> batch`` a worker."""

    def make(call: Callable[[B, WorkerContext], Awaitable[B]]) -> Worker[B]:
        return Worker(name or call.__name__, tuple(reads), tuple(writes), call)

    return make


def assemble(
    operation: str, names: Sequence[str], known: Mapping[str, Worker[Any]], batch: type[Any]
) -> list[Worker[Any]]:
    """The workers of an operation in order.

    Raises ``ConfigError`` for a name that nobody registered and for a worker that names what the batch does not have,
    ``PluginError`` for what is no worker.
    """
    columns = {column.name for column in fields(batch)}
    steps = []
    for name in names:
        if name not in known:
            raise ConfigError(f"{operation} has no worker {name!r}", hint=f"known: {', '.join(sorted(known))}")
        if not isinstance(known[name], Worker):
            said = f"{operation}.{name} is no worker but {type(known[name]).__name__}"
            raise PluginError(said, hint="make it one with memscope.pipeline.worker")
        strange = (set(known[name].reads) | set(known[name].writes)) - columns
        if strange:
            raise ConfigError(f"worker {name!r} names {sorted(strange)}, which {batch.__name__} does not have")
        steps.append(known[name])
    return steps


async def run(steps: Sequence[Worker[B]], batch: B, ctx: WorkerContext) -> B:
    """Run all steps. A worker's error ends the operation before anything is written."""
    for step in steps:
        made: object = await _result(step, batch, ctx)
        if type(made) is not type(batch):
            said = f"worker {step.name!r} returned {type(made).__name__} instead of {type(batch).__name__}"
            raise WorkerError(said, hint="it returns the batch, altered by dataclasses.replace")
        batch = made
    return batch


async def _result(step: Worker[B], batch: B, ctx: WorkerContext) -> object:
    try:
        return await step(batch, ctx)
    except (MemscopeError, TimeoutError):
        raise
    except Exception as error:  # its words may be those of a conversation
        raise WorkerError(f"worker {step.name!r} failed: {type(error).__name__}") from error
