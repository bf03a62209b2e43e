"""Arrays that grow at their end while readers go on with what they have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Growing:
    """An append-only array: existing values do not change, so that earlier views stay valid. Rows are cast.

    ``used``: how many of the rows given are there; the others are room.
    """

    def __init__(self, rows: NDArray[Any], used: int | None = None) -> None:
        self._room, self.view = rows, rows[:used]

    def extend(self, rows: NDArray[Any]) -> None:
        self.grow(len(rows))[...] = rows

    def grow(self, rows: int) -> NDArray[Any]:
        """Returns room for so many more rows, which the caller has to fill."""
        old, new = len(self.view), len(self.view) + rows
        if new > len(self._room):
            room = new + (new // 4 + 64 if old else 0)  # the first rows are often all there will be
            self._room = np.empty((room, *self.view.shape[1:]), dtype=self.view.dtype)
            self._room[:old] = self.view
        self.view = self._room[:new]
        return self._room[old:new]
