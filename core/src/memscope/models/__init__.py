"""Protocols of chat, embedding and rerank models, independent of any server.

``clients.py`` implements all three for OpenAI-compatible endpoints. A plugin's own model only needs to follow the
protocol. pydantic, numpy and the HTTP library are imported when a model is first used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Protocol, TypedDict

from memscope.errors import MemscopeError, ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from memscope.records import VectorSpace


class Message(TypedDict):
    """One message of a prompt: role "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass
class Usage:
    """Cost of model calls. Texts to embed or rank count as prompts.

    Attributes:
        calls: Requests sent, retries included.
        prompt_characters: Characters of prompts and schemas.
        prompt_tokens: Tokens as counted by the server, 0 if it reports none.
        reply_tokens: The same for replies.
        milliseconds: Time from request to reply.
    """

    calls: int = 0
    prompt_characters: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    milliseconds: float = 0.0

    def add(self, other: Usage) -> None:
        for column in fields(self):
            setattr(self, column.name, getattr(self, column.name) + getattr(other, column.name))

    @contextmanager
    def counting(self) -> Iterator[Usage]:
        """Count all model calls within the block, including those of tasks it starts. Blocks may nest."""
        outer = _counters.get()
        token = _counters.set(outer if any(counter is self for counter in outer) else (*outer, self))
        try:
            yield self
        finally:
            _counters.reset(token)


_counters: ContextVar[tuple[Usage, ...]] = ContextVar("memscope_usage", default=())


def count(spent: Usage) -> None:
    """Add a request's cost to all enclosing ``Usage.counting`` blocks. Custom models call this once per request."""
    for usage in _counters.get():
        usage.add(spent)


def caller_is_cancelled() -> bool:
    """Return whether the current task is being cancelled.

    If not, a ``CancelledError`` is a failure of the plugin or model that raised it: it awaited what was cancelled.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


@contextmanager
def typed_errors(model: ChatModel) -> Iterator[None]:
    """Raise ``ModelError`` for an exception of a model of one's own, whose message may quote the conversation."""
    try:
        yield
    except MemscopeError:
        raise
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and caller_is_cancelled():
            raise
        message = f"the chat model {model.name!r} failed: {type(error).__name__}"
        hint = "see __cause__; docs/models.md says which errors a model raises"
        raise ModelError(message, hint=hint) from error


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete chat reply. ``parsed`` may be set if a schema was passed; ``finish`` is "stop" or "tool_calls"."""

    text: str = field(repr=False)
    parsed: BaseModel | None = field(default=None, repr=False)
    finish: str = "stop"
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """A chat model. ``name`` appears in reports. Truncated, refused and empty replies raise ``ModelError``."""

    name: str

    async def chat(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, deadline_s: float | None = None
    ) -> Reply:
        """Return a complete reply.

        Args:
            messages: The prompt.
            schema: Pydantic model of the reply, for constrained output. If ``parsed`` stays None,
                ``structured_output.ask`` parses the text.
            deadline_s: Seconds for all attempts; None for the model's own limit.

        Returns:
            The finished reply.

        Raises:
            ModelError: If there is no usable reply in time.
        """
        ...

    def stream(self, messages: Sequence[Message], *, deadline_s: float | None = None) -> AsyncIterator[str]:
        """Stream a reply.

        Args:
            messages: The prompt.
            deadline_s: Seconds to wait for pieces, not counting the time that the consumer takes.

        Returns:
            The pieces of the reply.

        Raises:
            ModelError: At the end, if the reply is incomplete.
        """
        ...


class Embedder(Protocol):
    """An embedder of texts as float32 unit vectors of one ``space``.

    ``languages``: codes of the languages it understands, None for all. ``space.dims`` is 0 until known.
    """

    languages: frozenset[str] | None

    @property
    def space(self) -> VectorSpace: ...

    async def measure(self) -> VectorSpace:
        """Determine the length of the vectors, by a call of the model if it is unknown.

        Returns:
            The space with its dimensions.

        Raises:
            EmbeddingError: If the vector is unusable.
            ModelError: If there is no reply in time.
        """
        ...

    async def embed(self, texts: Sequence[str], *, deadline_s: float | None = None) -> NDArray[np.float32]:
        """Embed documents.

        Args:
            texts: The documents.
            deadline_s: Seconds for all attempts; None for the model's own limit.

        Returns:
            Array of shape [len(texts), dims], in order.

        Raises:
            EmbeddingError: If a vector is unusable.
            ModelError: If there is no reply in time.
        """
        ...

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        """Embed a query. Implementations should cache recent vectors.

        Args:
            text: The query.
            deadline_s: Seconds for all attempts; None for the model's own limit.

        Returns:
            Array of shape [dims].

        Raises:
            EmbeddingError: If the vector is unusable.
            ModelError: If there is no reply in time.
        """
        ...


class Reranker(Protocol):
    """A reranker. ``name`` appears in reports."""

    name: str

    async def rerank(self, query: str, documents: Sequence[str], *, deadline_s: float | None = None) -> list[float]:
        """Score documents for a query.

        Args:
            query: The query.
            documents: The documents.
            deadline_s: Seconds for all attempts; None for the model's own limit.

        Returns:
            A score per document, in order; higher is more relevant. Comparable within one call only.

        Raises:
            ModelError: If there is no reply in time.
        """
        ...
