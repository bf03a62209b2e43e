"""Vectors of a scope's units and their cosines with a query's: as float32, or as bytes where simsimd is installed.

A query reads every vector of the scope, so what it costs is the memory to read: bytes are a quarter of it. A cosine of
bytes is off by some ten-thousandths (each vector has a scale of its own), as rows of float16 are, which stores keep.
Many rows that are to be float32 stay float16 until they are asked again: to a first query fresh memory costs most.
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

from memscope.search.growing import Growing

LARGEST = 127
BLOCK = 1 << 18  # numbers changed at once, as many as the processor's cache holds
WIDE_AT_ONCE = 1 << 20  # numbers
_KEPT = np.int32(-0x7000_2000)  # of a float16's bits in their new places: those that are no copy of the sign
_EXPONENT = np.float32(2.0**112)  # what float32 and float16 differ by


@lru_cache(maxsize=1)
def simsimd() -> ModuleType | None:
    """Returns the optional library; None where it is not installed."""
    try:
        return import_module("simsimd")
    except ImportError:
        return None


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """``rows``: [n, dims], of length 1 as float32 or float16; as bytes, each times its ``scale``."""

    rows: NDArray[Any]
    scale: NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + (self.scale.nbytes if self.scale is not None else 0)

    @property
    def is_half(self) -> bool:
        """Returns whether the rows are still float16."""
        return self.rows.dtype == np.float16

    def widened(self) -> VectorMatrix:
        """Returns it with rows of float32 in the place of float16."""
        return VectorMatrix(widened(self.rows), None) if self.is_half else self

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """[n] with a vector of length 1."""
        library = simsimd()
        if self.is_half:
            return _cosines_of_half(self.rows, vector)
        if self.scale is None or library is None:
            cosine: NDArray[np.float32] = self.rows @ vector
            return cosine
        asked, scale = pack(vector[None])
        found: NDArray[np.float32] = np.asarray(library.cdist(self.rows, asked, "dot"), np.float32)[:, 0]
        return found * (self.scale * scale)


class GrowingVectors:
    """The vectors of an index: bytes or floats from the first ones on."""

    def __init__(self) -> None:
        self._rows = Growing(np.zeros((0, 0), np.float32))
        self._scale: Growing | None = None  # of vectors packed

    @property
    def matrix(self) -> VectorMatrix:
        return VectorMatrix(self._rows.view, self._scale.view if self._scale is not None else None)

    def extend(self, vectors: NDArray[np.float16]) -> None:
        first = not len(self._rows.view)
        if first and simsimd() is not None:
            self._rows, self._scale = (
                Growing(np.zeros((0, vectors.shape[1]), np.int8)),
                Growing(np.zeros(0, np.float32)),
            )
        if self._scale is not None:
            packed, scale = pack(vectors)
            self._rows.extend(packed)
            self._scale.extend(scale)
        elif first:
            self._rows = Growing(vectors if vectors.size > WIDE_AT_ONCE else widened(vectors))
        else:
            self.adopt(self.matrix.widened())
            self._rows.extend(vectors)

    def adopt(self, wide: VectorMatrix) -> None:
        """Take the same rows as float32 in the place of float16, unless they came since then."""
        if self.matrix.is_half and len(wide) == len(self.matrix):
            self._rows = Growing(wide.rows)


def pack(vectors: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Returns vectors as bytes, and the scale of each."""
    packed, scale = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
    for part in _blocks(vectors):
        block = widened(vectors[part]) if vectors.dtype == np.float16 else vectors[part].astype(np.float32)
        scale[part] = np.maximum(block.max(axis=1), -block.min(axis=1)) / LARGEST
        block /= np.where(scale[part] > 0, scale[part], 1)[:, None]
        packed[part] = np.rint(block, out=block)
    return packed, scale


def widened(vectors: NDArray[np.float16]) -> NDArray[np.float32]:
    """Returns finite numbers as float32, several times faster than numpy casts them."""
    wide = np.empty(vectors.shape, np.float32)
    for part in _blocks(vectors):
        _widen(vectors[part], wide[part])
    return wide


def _cosines_of_half(vectors: NDArray[np.float16], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    found, room = np.empty(len(vectors), np.float32), np.empty((_step(vectors), vectors.shape[1]), np.float32)
    for part in _blocks(vectors):
        np.matmul(_widen(vectors[part], room[: len(found[part])]), vector, out=found[part])
    return found


def _widen(vectors: NDArray[np.float16], out: NDArray[np.float32]) -> NDArray[np.float32]:
    """Move the bits to their places; the multiplication is exact, of subnormal numbers too."""
    bits = out.view(np.int32)
    bits[...] = vectors.view(np.int16)
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _KEPT, out=bits)
    return np.multiply(out, _EXPONENT, out=out)


def _blocks(vectors: NDArray[Any]) -> Iterator[slice]:
    step = _step(vectors)
    return (slice(start, start + step) for start in range(0, len(vectors), step))


def _step(vectors: NDArray[Any]) -> int:
    dims: int = vectors.shape[1]
    return max(1, BLOCK // max(1, dims))
