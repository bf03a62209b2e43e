"""Chat, embedding and rerank models: three small protocols, independent of the server.

``openai.py`` implements all three for any OpenAI-compatible endpoint; a plugin may bring its own, which needs no more
than what stands here. Nothing of pydantic, numpy or HTTP is loaded before a model is used.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Protocol, TypedDict

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
    """Cost of calls: requests sent (repeated ones too), characters of prompts and schemas, tokens as the server
    counts them (0 where it does not), milliseconds from request to reply. Embedded and ranked texts are prompts too."""

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
        """Count all model calls within the block, in the tasks it starts as well. Blocks may nest."""
        outer = _counters.get()
        token = _counters.set(outer if any(one is self for one in outer) else (*outer, self))
        try:
            yield self
        finally:
            _counters.reset(token)


_counters: ContextVar[tuple[Usage, ...]] = ContextVar("memscope_usage", default=())


def count(spent: Usage) -> None:
    """Tell every ``Usage.counting`` block around the call; a custom model calls it once per request."""
    for usage in _counters.get():
        usage.add(spent)


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished chat reply. ``parsed`` is set when a schema was given; ``finish`` is "stop" or "tool_calls"."""

    text: str = field(repr=False)
    parsed: BaseModel | None = field(default=None, repr=False)
    finish: str = "stop"
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """``name`` is for reports. A cut, refused or empty reply is a ``ModelError``, never a reply."""

    name: str

    async def chat(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, deadline_s: float | None = None
    ) -> Reply:
        """Returns the whole reply. A model that leaves ``parsed`` None has its text parsed by ``replies.ask``."""
        ...

    def stream(self, messages: Sequence[Message], *, deadline_s: float | None = None) -> AsyncIterator[str]:
        """Yields the reply in pieces; raises at the end if it was not finished. ``deadline_s`` counts waiting only."""
        ...


class Embedder(Protocol):
    """Embeds texts as float32 rows of length 1, all of one ``space``.

    ``languages`` are those the model understands ("en", "zh", ...); None means any. ``space.dims`` is 0 until known.
    """

    languages: frozenset[str] | None

    @property
    def space(self) -> VectorSpace: ...

    async def measure(self) -> VectorSpace:
        """Returns the space with its dimensions; asks the model if they are not known yet."""
        ...

    async def embed(self, texts: Sequence[str], *, deadline_s: float | None = None) -> NDArray[np.float32]:
        """Returns shape [len(texts), dims], in the order given. ``EmbeddingError`` if any vector cannot be used."""
        ...

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        """Returns shape [dims]; cached."""
        ...


class Reranker(Protocol):
    name: str

    async def rerank(self, query: str, documents: Sequence[str], *, deadline_s: float | None = None) -> list[float]:
        """Returns one score per document, in the order given; higher is nearer. Comparable within one call only."""
        ...
