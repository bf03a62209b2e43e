"""Clients for chat, embeddings and rerank at any OpenAI-compatible endpoint.

chat = OpenAIChat(endpoint("chat", "ollama", model="qwen3:8b"))
embedder = OpenAIEmbedder(endpoint("embed", "openai", model="text-embedding-3-small"))
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, get_args

from memscope.errors import EmbeddingMismatch, InputError, LimitError, ModelReplyError
from memscope.models import Message, Reply, Usage, count
from memscope.models.embedding_batches import VectorCache, batches, read_vectors
from memscope.models.endpoint import PATHS, Endpoint, Format
from memscope.models.http import Http, NotUnderstood
from memscope.models.retry import Caller
from memscope.models.structured_output import (
    EMPTY_REPLY,
    TRY_ANOTHER,
    check_finish,
    first_choice,
    in_words,
    json_schema,
    parse,
    read_choice,
    schema_text,
    text_of,
    with_instruction,
)
from memscope.records import Json, VectorSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

OUTPUT_FORMATS: tuple[Format, ...] = get_args(Format)  # strictest first
MAX_PROMPT_CHARS = 2_000_000  # per request
MAX_DOCUMENTS = 1000
MAX_CACHED_VECTORS = 1024  # a vector of 1,024 dimensions takes 4 KB


class _Client:
    """Base of the three clients: one endpoint with its retries and connections."""

    kind: str

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.model
        self.languages = endpoint.languages
        self._caller = Caller(endpoint)
        self._http = Http(endpoint)
        self._path = endpoint.path or PATHS[self.kind]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.model!r}, {self.endpoint.base_url!r})"

    async def served(self, *, deadline_s: float = 10.0) -> list[str] | None:
        """Return the names of the models at the endpoint, None if it does not list them."""
        payload = await self._caller.call(lambda: self._http.ask("/models"), deadline_s)
        models = payload.get("data")
        return [str(m["id"]) for m in models if isinstance(m, dict) and "id" in m] if isinstance(models, list) else None

    async def prepare(self) -> None:
        """Load libraries and certificates now, so that loading does not count towards the first deadline."""
        await self._http.prepare()

    async def close(self) -> None:
        await self._http.close()

    async def _post(self, body: Mapping[str, Json], characters: int) -> tuple[dict[str, Any], Usage]:
        with _counted(characters) as spent:
            payload = await self._http.ask(self._path, {"model": self.endpoint.model, **body})
            _add_tokens(spent, payload.get("usage"))
        return payload, spent


class OpenAIChat(_Client):
    """``ChatModel`` that remembers how the endpoint accepts a schema: natively, as JSON mode, or in the prompt."""

    kind = "chat"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._format = endpoint.structured
        self._format_confirmed = False

    async def chat(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, deadline_s: float | None = None
    ) -> Reply:
        checked = _checked_messages(messages)
        if schema is None:
            return await self._caller.call(lambda: self._unstructured(checked), deadline_s)
        return await self._caller.call(lambda: self._structured(checked, schema), deadline_s)

    async def stream(self, messages: Sequence[Message], *, deadline_s: float | None = None) -> AsyncGenerator[str]:
        checked = _checked_messages(messages)
        async with aclosing(self._caller.stream(lambda: self._pieces(checked), deadline_s)) as pieces:
            async for piece in pieces:
                yield piece

    async def _unstructured(self, messages: Sequence[Message]) -> Reply:
        payload, spent = await self._post({"messages": messages, **self.endpoint.parameters}, _characters(messages))
        text, finish = read_choice(payload)
        return Reply(text, None, finish, spent)

    async def _structured(self, messages: Sequence[Message], schema: type[BaseModel]) -> Reply:
        """Ask in the strictest format; if the endpoint rejects it, fall back to the next one."""
        await asyncio.to_thread(schema_text, schema)  # fill the cache: takes about 30 ms
        refused: NotUnderstood | None = None
        for format_ in self._formats():
            try:
                payload, spent = await self._post(*self._request(messages, schema, format_))
            except NotUnderstood as error:
                refused = refused or error
                continue
            self._format, self._format_confirmed = format_, True
            return self._read(payload, spent, schema, format_)
        assert refused is not None
        raise refused

    def _formats(self) -> Sequence[Format]:
        """Return the formats to try. Once a format worked, only that one: else any bad request is sent three times."""
        return (self._format,) if self._format_confirmed else OUTPUT_FORMATS[OUTPUT_FORMATS.index(self._format) :]

    def _request(
        self, messages: Sequence[Message], schema: type[BaseModel], format_: Format
    ) -> tuple[dict[str, Json], int]:
        """Return the body and the number of its characters, including the schema."""
        if format_ == "json_schema":
            name = re.sub(r"[^A-Za-z0-9_-]", "_", schema.__name__)[:64]
            wanted = {"name": name, "strict": True, "schema": json_schema(schema)}
            extra = {"response_format": {"type": "json_schema", "json_schema": wanted}}
            size = _characters(messages) + len(schema_text(schema))
        else:
            extra = {"response_format": {"type": "json_object"}} if format_ == "json_object" else {}
            messages = with_instruction(messages, in_words(schema))
            size = _characters(messages)
        return {"messages": messages, **self.endpoint.parameters, **extra}, size

    def _read(self, payload: dict[str, Any], spent: Usage, schema: type[BaseModel], format_: Format) -> Reply:
        text, finish = read_choice(payload)
        try:
            return Reply(text, parse(text, schema), finish, spent)
        except ModelReplyError:
            if format_ == "json_schema":  # accepted but not obeyed: put the schema into the prompt from now on
                self._format, self._format_confirmed = "json_object", False
            raise

    async def _pieces(self, messages: Sequence[Message]) -> AsyncGenerator[str]:
        body = {"model": self.endpoint.model, "messages": messages, **self.endpoint.parameters}
        with _counted(_characters(messages)) as spent:
            async with aclosing(self._http.events(self._path, body)) as events:
                async for piece in _texts(events, spent):
                    yield piece


class OpenAIEmbedder(_Client):
    """``Embedder`` that sends batches concurrently and caches the vectors of recent texts."""

    kind = "embed"

    def __init__(self, endpoint: Endpoint, *, cached: int = MAX_CACHED_VECTORS) -> None:
        super().__init__(endpoint)
        self._space = VectorSpace(endpoint.model, 0)
        self._cache = VectorCache(cached)

    @property
    def space(self) -> VectorSpace:
        return self._space

    async def measure(self) -> VectorSpace:
        if not self._space.dims:
            await self.embed(["memscope"])
        return self._space

    async def embed(self, texts: Sequence[str], *, deadline_s: float | None = None) -> NDArray[np.float32]:
        import numpy as np

        _check_texts(texts)
        known = {text: row for text in set(texts) if (row := self._cache.get(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        sent = list(batches(missing, self.endpoint.batch_texts, self.endpoint.batch_tokens))
        for batch, rows in zip(sent, await self._embed_batches(sent, deadline_s), strict=True):
            known.update(zip(batch, rows, strict=True))
        for text in missing:
            self._cache.put(text, known[text])
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, self._space.dims), np.float32)

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        seconds = self.endpoint.query_deadline_s if deadline_s is None else deadline_s
        row: NDArray[np.float32] = (await self.embed([self.endpoint.query_prefix + text], deadline_s=seconds))[0]
        return row

    async def _embed_batches(self, sent: Sequence[list[str]], deadline_s: float | None) -> list[NDArray[np.float32]]:
        """Return the rows of each batch. The first failure cancels the other requests."""
        tasks = [asyncio.create_task(self._caller.call(lambda b=batch: self._batch(b), deadline_s)) for batch in sent]  # type: ignore[misc]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        payload, _ = await self._post({"input": texts, **self.endpoint.parameters}, sum(map(len, texts)))
        rows = read_vectors(payload, len(texts))
        dims = rows.shape[1]
        if not self._space.dims:
            self._space = VectorSpace(self.endpoint.model, dims)
        if dims != self._space.dims:
            raise EmbeddingMismatch(
                f"{self.endpoint.model!r} gave vectors of {self._space.dims} numbers before and of {dims} now",
                hint="if the model was changed, restart and run memscope reembed",
            )
        return rows


class OpenAIReranker(_Client):
    """``Reranker`` for both request formats in use (``Endpoint.shape``)."""

    kind = "rerank"

    async def rerank(self, query: str, documents: Sequence[str], *, deadline_s: float | None = None) -> list[float]:
        if not documents:
            return []
        if len(documents) > MAX_DOCUMENTS:
            raise LimitError("documents to rerank", limit=MAX_DOCUMENTS, got=len(documents))
        _check_texts([query, *documents])
        body = rerank_body(self.endpoint.shape, query, documents, self.endpoint.parameters)
        seconds = self.endpoint.query_deadline_s if deadline_s is None else deadline_s
        return await self._caller.call(lambda: self._scores(body, len(query), documents), seconds)

    async def _scores(self, body: Mapping[str, Json], query_chars: int, documents: Sequence[str]) -> list[float]:
        payload, _ = await self._post(body, query_chars + sum(map(len, documents)))
        return read_scores(payload, len(documents))


@contextmanager
def _counted(characters: int) -> Iterator[Usage]:
    """Record the cost of one request, even if it fails."""
    spent, began = Usage(calls=1, prompt_characters=characters), time.perf_counter()
    try:
        yield spent
    finally:
        spent.milliseconds = (time.perf_counter() - began) * 1000
        count(spent)


async def _texts(events: AsyncIterator[dict[str, Any]], spent: Usage) -> AsyncIterator[str]:
    """Yield the text of a stream's events. Raise ``ModelReplyError`` at the end if the reply is incomplete."""
    finish, refusal, is_empty = None, None, True
    async for event in events:
        _add_tokens(spent, event.get("usage"))
        if not event.get("choices"):
            continue
        choice = first_choice(event)
        message = choice.get("delta") or choice.get("message") or {}
        refusal = refusal or message.get("refusal")
        finish = choice.get("finish_reason") or finish
        if text := text_of(message.get("content")):
            is_empty = is_empty and not text.strip()
            yield text
    check_finish(finish, refusal)
    if is_empty:
        raise ModelReplyError(EMPTY_REPLY, hint=TRY_ANOTHER)


def _add_tokens(spent: Usage, usage: Any) -> None:
    if isinstance(usage, dict):
        spent.prompt_tokens = _number(usage.get("prompt_tokens", usage.get("total_tokens")))
        spent.reply_tokens = _number(usage.get("completion_tokens"))


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


def _checked_messages(messages: Sequence[Message]) -> list[Message]:
    checked = [Message(role=message["role"], content=message["content"]) for message in messages]
    if not checked:
        raise InputError("a chat needs at least one message")
    for index, message in enumerate(checked):
        if not all(isinstance(part, str) for part in message.values()):
            raise InputError(f"message {index} needs a role and a content, both text")
    if (size := _characters(checked)) > MAX_PROMPT_CHARS:
        raise LimitError("characters of a prompt", limit=MAX_PROMPT_CHARS, got=size)
    return checked


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise InputError("texts must be a list of texts, not one text", hint="did you mean [text]?")
    for index, text in enumerate(texts):
        if type(text) is not str or not text.strip():
            raise InputError(f"text {index} is empty or no text", hint="there is nothing in it to embed or rank")
    if (longest := max(chain([0], map(len, texts)))) > MAX_PROMPT_CHARS:
        raise LimitError("characters of a text", limit=MAX_PROMPT_CHARS, got=longest)


def rerank_body(shape: str, query: str, documents: Sequence[str], parameters: Mapping[str, Json]) -> dict[str, Json]:
    """Build a request: "flat" as for Jina, Cohere, SiliconFlow and vLLM, or "dashscope", which nests the fields."""
    asked = {"query": query, "documents": list(documents)}
    if shape == "flat":
        return {**asked, **parameters}
    return {"input": asked, "parameters": {"return_documents": False, "top_n": len(documents), **parameters}}


def read_scores(payload: Mapping[str, Any], count: int) -> list[float]:
    """Return scores in the order of the documents. ``ModelReplyError`` unless each has exactly one finite score."""
    output = payload.get("output", payload)
    results = output.get("results") if isinstance(output, dict) else None
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise ModelReplyError("the reply holds no results", hint="is this a rerank model?")
    scores = {r.get("index"): r.get("relevance_score") for r in results if type(r.get("index")) is int}
    if len(results) != count or scores.keys() != set(range(count)):
        raise ModelReplyError(f"{count} documents were sent and the {len(results)} results are not about each of them")
    if not all(isinstance(s, int | float) and not isinstance(s, bool) and math.isfinite(s) for s in scores.values()):
        raise ModelReplyError("a relevance score is not a finite number")
    return [float(scores[index]) for index in range(count)]
