"""Batch texts for embedding, validate replies into normalised rows, and cache vectors."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any

from memscope.errors import EmbeddingError
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def batches(texts: Sequence[str], max_texts: int, tokens: int) -> Iterator[list[str]]:
    """Split ``texts`` into batches of ``max_texts`` texts and about ``tokens``; a longer text is sent alone."""
    batch: list[str] = []
    batch_tokens = 0
    for text in texts:
        size = estimate_tokens(text)
        if batch and (len(batch) == max_texts or batch_tokens + size > tokens):
            yield batch
            batch, batch_tokens = [], 0
        batch.append(text)
        batch_tokens += size
    if batch:
        yield batch


def read_vectors(payload: Mapping[str, Any], count: int) -> NDArray[np.float32]:
    """Return unit vectors of shape [count, dims]. Raise ``EmbeddingError`` for an invalid reply."""
    import numpy as np

    items = payload.get("data")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise EmbeddingError("the reply holds no vectors", hint="is this an embedding model?")
    rows = [_row(item.get("embedding")) for item in _in_order(items, count)]
    if {row.ndim for row in rows} != {1} or len({row.size for row in rows}) != 1 or not rows[0].size:
        raise EmbeddingError("the vectors of one reply are not flat lists of one length")
    return normalised(np.stack(rows))


def _in_order(items: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Sort items by ``index`` if the server sets it, since items may arrive in any order."""
    if len(items) != count:
        raise EmbeddingError(f"{count} texts were sent and {len(items)} vectors came back")
    if all(item.get("index") is None for item in items):
        return items
    placed = {item.get("index"): item for item in items if type(item.get("index")) is int}
    if placed.keys() != set(range(count)):
        raise EmbeddingError("the vectors' indices are not those of the texts")
    return [placed[index] for index in range(count)]


def _row(value: Any) -> NDArray[np.float32]:
    """Decode a list of numbers, or base64 of little-endian float32."""
    import numpy as np

    try:
        if isinstance(value, str):
            return np.frombuffer(b64decode(value, validate=True), "<f4")
        if isinstance(value, list) and not any(isinstance(item, bool | str) for item in value[:1]):
            with np.errstate(over="ignore"):
                return np.asarray(value, np.float64).astype(np.float32)
    except (ValueError, TypeError, OverflowError, binascii.Error):
        pass
    raise EmbeddingError("a vector is neither a list of numbers nor base64", hint="is this an embedding model?")


def normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale rows to length 1. Raise ``EmbeddingError`` for NaN, infinity, and zero vectors."""
    import numpy as np

    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if wrong := np.flatnonzero(~np.isfinite(lengths[:, 0]) | (lengths[:, 0] < 1e-12)).tolist():
        raise EmbeddingError(f"vectors {wrong[:5]} of {len(rows)} are zero or not finite", hint="try another model")
    scaled: NDArray[np.float32] = (rows / lengths).astype(np.float32)
    return scaled


class VectorCache:
    """In-memory LRU cache of vectors, keyed by a digest so that it holds no texts."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = Lock()
        self._rows: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()

    def get(self, text: str) -> NDArray[np.float32] | None:
        key = _digest(text)
        with self._lock:
            if key in self._rows:
                self._rows.move_to_end(key)
            return self._rows.get(key)

    def put(self, text: str, row: NDArray[np.float32]) -> None:
        row = row.copy()
        row.setflags(write=False)
        with self._lock:
            self._rows[_digest(text)] = row
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
