"""Append-only arrays: readers keep valid views while the array grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """An append-only array whose earlier views stay valid. Appended rows are cast.

    ``used``: number of valid rows; the rest is spare room.
    """

    def __init__(self, rows: NDArray[Any], used: int | None = None) -> None:
        self._room, self.view = rows, rows[:used]

    def extend(self, rows: NDArray[Any]) -> None:
        self.grow(len(rows))[...] = rows

    def grow(self, rows: int) -> NDArray[Any]:
        """Return a view of new rows for the caller to fill."""
        old, new = len(self.view), len(self.view) + rows
        if new > len(self._room):
            room = new + (new // 4 + 64 if old else 0)  # spare room only from the second growth on
            self._room = np.empty((room, *self.view.shape[1:]), dtype=self.view.dtype)
            self._room[:old] = self.view
        self.view = self._room[:new]
        return self._room[old:new]
