"""Vectors of a scope's units and their cosines with a query's: as float32, or as bytes where simsimd is installed.

A query reads every vector of the scope, so what it costs is the memory to read: bytes are a quarter of it. A cosine of
bytes is off by some ten-thousandths (each vector has a scale of its own), as rows of float16 are, which stores keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 127
BLOCK = 512  # rows packed at once, as many as the processor's cache holds


@lru_cache(maxsize=1)
def simsimd() -> ModuleType | None:
    """Returns the optional library; None where it is not installed."""
    try:
        import simsimd
    except ImportError:
        return None
    return simsimd


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """``rows``: [n, dims], of length 1 as float32; as bytes, each times its ``scale``."""

    rows: NDArray[Any]
    scale: NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + (self.scale.nbytes if self.scale is not None else 0)

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """[n] with a vector of length 1."""
        library = simsimd()
        if self.scale is None or library is None:
            cosine: NDArray[np.float32] = self.rows @ vector
            return cosine
        asked, scale = pack(vector[None])
        found: NDArray[np.float32] = np.asarray(library.cdist(self.rows, asked, "dot"), np.float32)[:, 0]
        return found * (self.scale * scale)


def pack(vectors: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Returns vectors as bytes, and the scale of each."""
    packed, scale = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), BLOCK):
        part = slice(start, start + BLOCK)
        block = vectors[part].astype(np.float32)
        scale[part] = np.maximum(block.max(axis=1), -block.min(axis=1)) / LARGEST
        block /= np.where(scale[part] > 0, scale[part], 1)[:, None]
        packed[part] = np.rint(block, out=block)
    return packed, scale
