"""Okapi BM25 over arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


BM25_K1, BM25_B = 1.2, 0.75  # usual BM25 constants


def rarity(units: int, document_frequency: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return BM25's idf, never negative; 0 for a term in no unit."""
    import numpy as np

    idf = np.log1p((units - document_frequency + 0.5) / (document_frequency + 0.5))
    known: NDArray[np.bool_] = document_frequency > 0
    return (idf * known).astype(np.float32)


def bm25(
    tf: NDArray[np.float32], length: NDArray[np.float32], average: float, weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Score rows with Okapi BM25: ``tf`` [n, q], ``length`` [n], ``weights`` [q] (rarity, or times query weights)."""
    norm = BM25_K1 * (1 - BM25_B + BM25_B * length / max(average, 1e-9))
    scores: NDArray[Any] = (tf * (BM25_K1 + 1) / (tf + norm[:, None])) @ weights
    return scores
