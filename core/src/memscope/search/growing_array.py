"""Append-only arrays: readers keep valid views while the array grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """An append-only array whose earlier views stay valid; appended rows are cast to its type.

    ``used``: number of valid rows; the rest is spare capacity.
    """

    def __init__(self, rows: NDArray[Any], used: int | None = None) -> None:
        self._room, self.view = rows, rows[:used]

    def extend(self, rows: NDArray[Any]) -> None:
        old, new = len(self.view), len(self.view) + len(rows)
        self.reserve(len(rows))
        self.view = self._room[:new]
        self.view[old:] = rows

    def reserve(self, rows: int) -> None:
        """Reserve capacity for new rows; untouched pages use no memory."""
        old, new = len(self.view), len(self.view) + rows
        if new > len(self._room):
            room = new + (new // 4 + min(new // 4, 64) if old else 0)  # no spare capacity before the second growth
            self._room = np.empty((room, *self.view.shape[1:]), dtype=self.view.dtype)
            self._room[:old] = self.view
