"""Embedding in this process with fastembed's ONNX models (the extra ``local``). No text leaves the machine.

A model is loaded once per embedder, in its own thread: from fastembed's cache, from a folder
(``parameters.specific_model_path``), or downloaded on first use. Documents to embed wait for it within their deadline;
a query waits a few seconds, then fails with ``ModelUnavailable``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memscope.errors import (
    ConfigError,
    EmbeddingError,
    ModelError,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    install_hint,
    nearest,
)
from memscope.models import Usage, count
from memscope.models.embedding_batches import VectorCache, normalised
from memscope.records import Json, VectorSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger("memscope")
EMBED_DEADLINE_S, QUERY_DEADLINE_S = 60.0, 5.0
RELOAD_AFTER_S = 60.0  # pause after a failed load
TEXTS_PER_RUN = 64
MAX_CACHED_QUERIES = 1024
MODEL_FOLDER_HINT = (
    "download it where there is a network, and set embedding.parameters.specific_model_path to its folder"
)
NAME_HINT = "for example BAAI/bge-small-en-v1.5; fastembed's documentation lists them"


class FastEmbedder:
    """``Embedder`` over fastembed. ``parameters`` are arguments of ``fastembed.TextEmbedding`` (cache_dir, threads)."""

    def __init__(
        self, model: str, *, parameters: dict[str, Json] | None = None, languages: frozenset[str] | None = None,
        query_prefix: str = "", deadline_s: float = EMBED_DEADLINE_S, query_deadline_s: float = QUERY_DEADLINE_S,
        batch_texts: int = TEXTS_PER_RUN,
    ) -> None:  # fmt: skip
        if find_spec("fastembed") is None:
            raise ConfigError("a local embedding model needs fastembed", hint=install_hint("local"))
        self.languages, self._parameters, self._prefix = languages, parameters or {}, query_prefix
        self._deadline_s, self._query_deadline_s, self._batch = deadline_s, query_deadline_s, batch_texts
        self._space = VectorSpace(model, 0)
        self._cache = VectorCache(MAX_CACHED_QUERIES)
        self._lock = threading.Lock()  # guards _loading; taken on event loops, so never held long
        self._running = threading.Lock()  # one inference at a time: each uses all its threads
        self._loading: Future[Any] | None = None
        self._load_started = 0.0
        self._pid = os.getpid()

    @property
    def space(self) -> VectorSpace:
        return self._space

    async def measure(self) -> VectorSpace:
        if not self._space.dims:
            await self.embed(["memscope"])
        return self._space

    async def prepare(self) -> None:
        """Start loading the model and wait up to ``query_deadline_s``: a cached model loads within seconds."""
        loading = asyncio.wrap_future(self._load())
        left = self._load_started + self._query_deadline_s - time.monotonic()
        await asyncio.wait([loading], timeout=max(left, 0.0))
        if loading.done():
            loading.exception()  # mark it as retrieved; the call that needs the model raises it

    async def embed(self, texts: Sequence[str], *, deadline_s: float | None = None) -> NDArray[np.float32]:
        rows = await self._within(deadline_s or self._deadline_s, list(texts), query=False)
        self._space = VectorSpace(self._space.model, int(rows.shape[1]))
        return rows

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        prefixed = self._prefix + text
        row = self._cache.get(prefixed)
        if row is None:
            await self.prepare()
            if not self._load().done():
                raise ModelUnavailable(f"the local model {self._space.model!r} is being loaded", hint="try again later")
            row = (await self._within(deadline_s or self._query_deadline_s, [prefixed], query=True))[0]
            self._cache.put(prefixed, row)
        return row

    async def close(self) -> None:
        self._loading = None

    async def _within(self, seconds: float, texts: list[str], *, query: bool) -> NDArray[np.float32]:
        try:
            async with asyncio.timeout(seconds):
                model = await asyncio.shield(asyncio.wrap_future(self._load()))
                return await asyncio.to_thread(self._rows, model, texts, query)
        except TimeoutError:
            message = f"the local model {self._space.model!r} gave no vectors within {seconds:g} s"
            hint = "it may still be loading; raise deadline_s, or take a smaller one"
            raise ModelTimeout(message, hint=hint) from None

    def _rows(self, model: Any, texts: list[str], query: bool) -> NDArray[np.float32]:
        import numpy as np

        began = time.perf_counter()
        try:
            with self._running:
                vectors = model.query_embed(texts) if query else model.passage_embed(texts, batch_size=self._batch)
                rows = np.stack([np.asarray(row, np.float32) for row in vectors])
        except Exception as error:  # its message may quote the conversation
            raise EmbeddingError(f"the local model failed: {type(error).__name__}") from None
        spent = (time.perf_counter() - began) * 1000
        count(Usage(calls=1, prompt_characters=sum(map(len, texts)), milliseconds=spent))
        return normalised(rows)

    # ---- loading

    def _load(self) -> Future[Any]:
        """Return a future of the model. Load it once, but again after a fork and ``RELOAD_AFTER_S`` after a failure."""
        with self._lock:
            loading = self._loading
            failed = loading is not None and loading.done() and loading.exception() is not None
            retry = failed and time.monotonic() - self._load_started > RELOAD_AFTER_S
            if loading is None or retry or self._pid != os.getpid():
                self._loading, self._load_started, self._pid = Future(), time.monotonic(), os.getpid()
                threading.Thread(target=self._fill, args=(self._loading,), daemon=True, name="memscope-model").start()
            assert self._loading is not None
            return self._loading

    def _fill(self, loading: Future[Any]) -> None:
        name = self._space.model
        log.info("loading the local model %s (on first use it is downloaded, which may take minutes)", name)
        try:
            model = _create_model(name, self._parameters)
        except ModelError as error:
            log.warning("%s", error)
            loading.set_exception(error)
        else:
            log.info("the local model %s is loaded (%.1f s)", name, time.monotonic() - self._load_started)
            loading.set_result(model)


def _create_model(name: str, parameters: dict[str, Json]) -> Any:
    try:
        from fastembed import TextEmbedding

        known = [model["model"] for model in TextEmbedding.list_supported_models()]
        if name.lower() not in map(str.lower, known):
            near = nearest(name, known)
            raise ModelRejected(f"fastembed has no model {name!r}", hint=near if near.startswith("did") else NAME_HINT)
        return TextEmbedding(name, **parameters)
    except ModelError:
        raise
    except TypeError as error:
        raise ModelRejected(f"the local model {name!r} does not take these parameters", detail=str(error)) from None
    except Exception as error:  # download, disk or ONNX runtime
        raise ModelUnavailable(
            f"the local model {name!r} cannot be loaded", hint=MODEL_FOLDER_HINT, detail=str(error)
        ) from None
