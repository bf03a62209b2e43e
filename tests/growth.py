"""The growth of work with the size of what it is done on: a ratio of CPU times, so that it holds on any machine."""

from __future__ import annotations

import time
from collections.abc import Callable


def growth(work: Callable[[str], object], piece: str, size: int, factor: int = 8) -> float:
    """Measure how much longer ``work`` takes for ``factor`` times as many characters, each: 1 linear, 8 quadratic."""
    small, large = (piece * (length // len(piece)) for length in (size, size * factor))
    return min(_seconds(work, large) for _ in range(3)) / min(_seconds(work, small) for _ in range(3)) / factor


def _seconds(work: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    work(text)
    return time.process_time() - began + 1e-5
