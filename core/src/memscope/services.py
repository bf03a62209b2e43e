"""``Services``, the dependencies of every part of a memory; and the part of the runtime that blocks, entities and
importers use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from memscope.errors import (
    ConfigError,
    EmbeddingError,
    EmbeddingMismatch,
    InputError,
    MemscopeError,
    ModelError,
    ModelReplyError,
    ModelTimeout,
)
from memscope.imports import importing
from memscope.models import caller_is_cancelled
from memscope.records import Json
from memscope.validation import Limits

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from typing import Protocol

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from memscope.config.settings import Settings
    from memscope.models import ChatModel, Embedder, Reranker, Usage
    from memscope.prompts.loader import Prompts
    from memscope.records import AddReport, ChangeSet, ForgetReport, Memory, Scope, Select, Turn
    from memscope.retrieval.features import Feature
    from memscope.stores import Store

    # type checking only: a protocol costs more at import than the rest of this file
    class MemoryOperations(Protocol):
        """The runtime as lower layers call it: open the store, validate input, run plugins' hooks."""

        @property
        def services(self) -> Services: ...
        def operation(self, name: str) -> AbstractAsyncContextManager[Services]: ...
        async def secret(self) -> bytes: ...
        async def store_turns(
            self,
            turns: Sequence[Mapping[str, Any] | Turn],
            where: Scope,
            *,
            replay: bool = False,
            seen: MutableMapping[bytes, int] | None = None,
        ) -> AddReport: ...
        async def check_statement(
            self, statement: Mapping[str, Any], where: Scope, zone: tzinfo | None = None, *, textless: bool = False
        ) -> tuple[Turn, bool]: ...
        async def forget(self, select: Select, where: Scope, *, dry_run: bool) -> ForgetReport: ...


M = TypeVar("M", bound="BaseModel")


@dataclass(frozen=True)
class Services:
    """Store, settings, clock, models and prompts of a memory. A model is None if it is not configured. ``zone`` is the
    user's if known, else the settings', None for the system's.

    Workers get a copy for their run. ``save`` stores an ``UNFINISHED`` change set for the next attempt at a claim; None
    if nothing may be written.
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
    limits: Limits = field(default_factory=Limits)
    features: tuple[Feature, ...] = ()  # ranking features of plugins
    redact: Callable[[Any], Any] = lambda value: value  # masks secrets in a record or text, by the settings
    save: Callable[[ChangeSet], Awaitable[None]] | None = None
    notes: list[str] = field(default_factory=list)  # parts that failed and why, for the result's reason
    counters: dict[str, dict[str, Json]] = field(default_factory=dict)  # used if the store has no counters

    def __reduce__(self) -> NoReturn:
        hint = "make another one from the same store and settings; those of all processes share what is stored"
        raise InputError("a memory cannot be pickled or copied", hint=hint)

    def now(self, zone: tzinfo | None = None) -> datetime:
        """Read the clock, in ``zone``, else in the settings' zone, else in the system's."""
        return self.clock().astimezone(zone or self.zone)

    def may_state(self, fact: Memory) -> bool:
        """False for a machine's note, unless ``consolidation.roles`` includes its role."""
        return not fact.by_machine or fact.origin in self.settings.consolidation.roles

    async def import_operations(self) -> None:
        """Import modules and read files that the first calls need, in a thread, so as not to block the event loop."""
        names = ["memscope.retrieval", "memscope.search.candidates"]
        if self.chat is not None:
            names += ["memscope.jobs.background", "memscope.consolidation", "memscope.reflection"]
        await asyncio.to_thread(_import, names)

    async def prepare_models(self) -> None:
        """Load what a model's first request needs, so that it does not count towards the deadline of a query."""
        for model in (self.embedder, self.reranker):
            if prepare := getattr(model, "prepare", None):
                await prepare()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts as [len(texts), dims], rows of norm 1. Any failure is raised as a ``MemscopeError``."""
        if self.embedder is None:
            raise ConfigError("there is no embedder", hint="set embedding in the settings")
        return await _trusted(self.embedder.embed(texts), len(texts), self.embedder)

    async def embed_query(self, text: str) -> NDArray[np.float32] | None:
        """Embed a query; if the embedder fails, add a note and return None, so that words alone are searched."""
        if self.embedder is None:
            return None
        try:
            async with asyncio.timeout(self.settings.retrieve_s / 2):  # one of one's own may know no deadline
                rows = await _trusted(self.embedder.embed_query(text), 1, self.embedder)
            row: NDArray[np.float32] = rows[0]
            return row
        except (ModelError, TimeoutError) as error:
            self.notes.append(f"without vectors: {getattr(error, 'code', ModelTimeout.code)}")
            return None

    async def ask(self, prompt: str, texts: Sequence[str], data: Json, schema: type[M]) -> M:
        """Ask the chat model by a prompt with ``data`` in the language of the ``texts``; parse the reply as ``schema``.

        Raises as ``models.structured_output.ask``.
        """
        from memscope.models.structured_output import ask
        from memscope.prompts.loader import Prompts

        assert self.chat is not None
        return await ask(self.chat, (self.prompts or Prompts()).messages(prompt, texts, data), schema)

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """Score each text; if the rerank model fails, add a note and return None, which leaves our own order."""
        if self.reranker is None:
            return None
        try:
            async with asyncio.timeout(self.settings.retrieve_s / 4):
                scores = [float(score) for score in await self.reranker.rerank(query, texts)]
            if len(scores) != len(texts) or not all(map(isfinite, scores)):
                raise ModelReplyError("not one finite score per text")
        except (Exception, asyncio.CancelledError) as error:  # also of a model of one's own
            if isinstance(error, asyncio.CancelledError) and caller_is_cancelled():
                raise
            code = error.code if isinstance(error, MemscopeError) else type(error).__name__
            self.notes.append(f"not reranked: {code}")
            return None
        return scores


def _import(names: Sequence[str]) -> None:
    with importing:
        from memscope.languages import load_tables

        load_tables()
        for name in names:
            import_module(name)


async def _trusted(vectors: Awaitable[Any], count: int, embedder: Embedder) -> NDArray[np.float32]:
    import numpy as np

    from memscope.models.embedding_batches import normalised

    dims = embedder.space.dims  # 0 if not known yet
    try:
        rows = np.atleast_2d(np.asarray(await vectors, np.float32))
    except MemscopeError:
        raise
    except (Exception, asyncio.CancelledError) as error:  # its message may quote a conversation
        if isinstance(error, asyncio.CancelledError) and caller_is_cancelled():
            raise
        raise EmbeddingError(f"the embedder failed: {type(error).__name__}") from None
    if rows.ndim != 2 or len(rows) != count or not rows.size:
        raise EmbeddingError(f"{count} texts were to be embedded, and an array of shape {rows.shape} came back")
    if dims and rows.shape[1] != dims:
        raise EmbeddingMismatch(f"the embedder says {dims} numbers, and made {rows.shape[1]}", hint="mend the embedder")
    return normalised(rows)
