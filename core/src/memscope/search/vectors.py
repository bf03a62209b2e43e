"""Vectors of a scope's units and their cosines with a query: float32, or int8 if simsimd is installed.

A query reads every vector of the scope, so memory bandwidth limits it; int8 needs a quarter of it. With a scale per
vector, int8 cosines are off by about 0.0001, like the float16 of stores. Without simsimd, many rows stay float16 until
the second query, because allocating memory dominates the cost of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
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
_EXPONENT_OFFSET = np.int32(-0x7000_2000)  # mask of a float16's shifted bits, without the copies of its sign
_MAGNITUDE = np.int32(0x7FFF_FFFF)  # all bits of a float32 but the sign
_EXPONENT = np.float32(2.0**112)  # ratio of the exponent biases of float32 and float16


@lru_cache(maxsize=1)
def simsimd() -> ModuleType | None:
    """Return the optional library; None if it is not installed."""
    try:
        return import_module("simsimd")
    except ImportError:
        return None


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """``rows`` [n, dims]: unit vectors as float32 or float16, or as int8 to be multiplied by ``scale``."""

    rows: NDArray[Any]
    scale: NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + (self.scale.nbytes if self.scale is not None else 0)

    @property
    def is_half(self) -> bool:
        return self.rows.dtype == np.float16

    def widened(self) -> VectorMatrix:
        return VectorMatrix(widened(self.rows), None) if self.is_half else self

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosines with a unit vector."""
        library = simsimd()
        if self.is_half:
            return _cosines_of_half(self.rows, vector)
        if self.scale is None or library is None:
            cosine: NDArray[np.float32] = self.rows @ vector
            return cosine
        packed, scale = pack(vector[None])
        products: NDArray[np.float32] = np.asarray(library.cdist(self.rows, packed, "dot"), np.float32)[:, 0]
        return products * (self.scale * scale)


class GrowingVectors:
    """The growing vectors of an index, either all int8 or all floats."""

    def __init__(self) -> None:
        self._rows = GrowingArray(np.zeros((0, 0), np.float32))
        self._scale: GrowingArray | None = None  # for int8 vectors

    @property
    def matrix(self) -> VectorMatrix:
        return VectorMatrix(self._rows.view, self._scale.view if self._scale is not None else None)

    def extend(self, vectors: NDArray[Any], scale: NDArray[np.float32] | None) -> None:
        """Append float16 vectors, or int8 vectors with one scale each."""
        if not len(self._rows.view):
            few = scale is None and vectors.size <= WIDE_AT_ONCE
            self._rows = GrowingArray(widened(vectors) if few else vectors)
            self._scale = GrowingArray(scale) if scale is not None else None
            return
        self.adopt(self.matrix.widened())
        self._rows.extend(vectors)
        if self._scale is not None and scale is not None:
            self._scale.extend(scale)

    def adopt(self, wide: VectorMatrix) -> None:
        """Replace float16 rows by the same rows as float32, unless rows were added meanwhile."""
        if self.matrix.is_half and len(wide) == len(self.matrix):
            self._rows = GrowingArray(wide.rows)


def pack(vectors: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantise vectors to int8, with one scale per vector."""
    packed, scale = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
    shape = (_step(vectors), vectors.shape[1])
    room, magnitudes = np.empty(shape, np.float32), np.empty(shape, np.int32)
    for part in _blocks(vectors):
        block = room[: len(scale[part])]
        if vectors.dtype == np.float16:
            _widen(vectors[part], block)
        else:
            block[...] = vectors[part]
        sizes = np.bitwise_and(block.view(np.int32), _MAGNITUDE, out=magnitudes[: len(block)])
        scale[part] = sizes.max(axis=1).view(np.float32) / MAX_INT8  # compare as integers: same order, but faster
        block /= np.where(scale[part] > 0, scale[part], 1)[:, None]
        packed[part] = np.rint(block, out=block)
    return packed, scale


def widened(vectors: NDArray[np.float16]) -> NDArray[np.float32]:
    """Cast finite float16 to float32, several times faster than numpy does."""
    wide = np.empty(vectors.shape, np.float32)
    for part in _blocks(vectors):
        _widen(vectors[part], wide[part])
    return wide


def _cosines_of_half(vectors: NDArray[np.float16], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    cosines, room = np.empty(len(vectors), np.float32), np.empty((_step(vectors), vectors.shape[1]), np.float32)
    for part in _blocks(vectors):
        np.matmul(_widen(vectors[part], room[: len(cosines[part])]), vector, out=cosines[part])
    return cosines


def _widen(vectors: NDArray[np.float16], out: NDArray[np.float32]) -> NDArray[np.float32]:
    """Shift the bits to their float32 positions; the multiplication is exact, also for subnormal numbers."""
    bits = out.view(np.int32)
    bits[...] = vectors.view(np.int16)
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _EXPONENT_OFFSET, out=bits)
    return np.multiply(out, _EXPONENT, out=out)


def _blocks(vectors: NDArray[Any]) -> Iterator[slice]:
    step = _step(vectors)
    return (slice(start, start + step) for start in range(0, len(vectors), step))


def _step(vectors: NDArray[Any]) -> int:
    dims: int = vectors.shape[1]
    return max(1, min(len(vectors), NUMBERS_PER_BLOCK // max(1, dims)))
