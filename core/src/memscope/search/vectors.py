"""Vectors of a scope's units and their cosines with a query: int8 with a scale each, or float32 without simsimd.

A query reads every vector of the scope, so memory bandwidth limits it, and a first query reads them from the file too:
int8 needs a quarter of the bytes. Its cosines are off by about 0.0001, like those of float16. Without simsimd, many
rows stay int8 until the second query, because allocating memory dominates the cost of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memscope.search.growing_array import GrowingArray

MAX_INT8 = 127
NUMBERS_PER_BLOCK = 1 << 17  # numbers cast at once, to fit the processor's cache
WIDE_AT_ONCE = 1 << 20  # numbers up to which the first vectors are widened at once


@lru_cache(maxsize=1)
def simsimd() -> ModuleType | None:
    """Return the optional library; None if it is not installed."""
    try:
        return import_module("simsimd")
    except ImportError:
        return None


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """``rows`` [n, dims]: unit vectors as float32, or as int8 to be multiplied by ``scale``."""

    rows: NDArray[Any]
    scale: NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + (self.scale.nbytes if self.scale is not None else 0)

    @property
    def is_narrow(self) -> bool:
        """True for int8 that are compared faster as float32."""
        return self.scale is not None and simsimd() is None

    def widened(self) -> VectorMatrix:
        if self.scale is None or not self.is_narrow:
            return self
        wide = np.empty(self.rows.shape, np.float32)
        for part in _blocks(self.rows):
            np.multiply(self.rows[part], self.scale[part, None], out=wide[part])
        return VectorMatrix(wide, None)

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosines with a unit vector."""
        if self.scale is None:
            cosine: NDArray[np.float32] = self.rows @ vector
            return cosine
        library = simsimd()
        if library is None:
            return _products(self.rows, vector) * self.scale
        packed, scale = pack(vector[None])
        products: NDArray[np.float32] = np.asarray(library.cdist(self.rows, packed, "dot"), np.float32)[:, 0]
        return products * (self.scale * scale)


class GrowingVectors:
    """The growing vectors of an index, either all int8 or all float32."""

    def __init__(self) -> None:
        self._start(VectorMatrix(np.zeros((0, 0), np.float32), None))

    def _start(self, matrix: VectorMatrix) -> None:
        self._rows = GrowingArray(matrix.rows)
        self._scale = GrowingArray(matrix.scale) if matrix.scale is not None else None

    @property
    def matrix(self) -> VectorMatrix:
        return VectorMatrix(self._rows.view, self._scale.view if self._scale is not None else None)

    def extend(self, vectors: NDArray[np.int8], scale: NDArray[np.float32]) -> None:
        added = VectorMatrix(vectors, scale)
        if not len(self._rows.view):
            self._start(added.widened() if vectors.size <= WIDE_AT_ONCE else added)
            return
        self.adopt(self.matrix.widened())
        added = added.widened()
        self._rows.extend(added.rows)
        if self._scale is not None and added.scale is not None:
            self._scale.extend(added.scale)

    def adopt(self, wide: VectorMatrix) -> None:
        """Replace int8 rows by the same rows as float32, unless rows were added meanwhile."""
        if self.matrix.is_narrow and len(wide) == len(self.matrix):
            self._start(wide)


def pack(vectors: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantise vectors to int8, with one scale per vector."""
    packed, scale = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
    room = np.empty((_step(vectors), vectors.shape[1]), np.float32)
    for part in _blocks(vectors):
        block = room[: len(scale[part])]
        block[...] = vectors[part]
        scale[part] = np.abs(block).max(axis=1) / MAX_INT8
        block /= np.where(scale[part] > 0, scale[part], 1)[:, None]
        packed[part] = np.rint(block, out=block)
    return packed, scale


def stored_rows(vectors: NDArray[Any]) -> list[bytes]:
    """Encode vectors for a store: the scale of each, then its numbers as int8."""
    table = np.empty(len(vectors), _row_type(vectors.shape[1]))
    table["numbers"], table["scale"] = pack(vectors)
    return [row.tobytes() for row in table]


def unpack(rows: Sequence[bytes], dims: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Decode ``stored_rows``; those of development versions are float16 without a scale.

    Raises:
        ValueError: a row has another length.
    """
    row_type = _row_type(dims)
    lengths, size, old_size = set(map(len, rows)), row_type.itemsize, 2 * dims
    if lengths != {size}:
        if not lengths <= {size, old_size}:
            raise ValueError(f"vectors of {lengths} bytes")
        old = b"".join(row for row in rows if len(row) != size)
        packed = iter(stored_rows(np.frombuffer(old, "<f2").reshape(-1, dims)))
        rows = [row if len(row) == size else next(packed) for row in rows]
    table = np.frombuffer(b"".join(rows), row_type)
    return table["numbers"], table["scale"]


def _row_type(dims: int) -> np.dtype[np.void]:
    return np.dtype([("scale", "<f4"), ("numbers", np.int8, dims)])


def _products(vectors: NDArray[np.int8], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    products, room = np.empty(len(vectors), np.float32), np.empty((_step(vectors), vectors.shape[1]), np.float32)
    for part in _blocks(vectors):
        block = room[: len(products[part])]
        block[...] = vectors[part]
        np.matmul(block, vector, out=products[part])
    return products


def _blocks(vectors: NDArray[Any]) -> Iterator[slice]:
    step = _step(vectors)
    return (slice(start, start + step) for start in range(0, len(vectors), step))


def _step(vectors: NDArray[Any]) -> int:
    dims: int = vectors.shape[1]
    return max(1, min(len(vectors), NUMBERS_PER_BLOCK // max(1, dims)))
