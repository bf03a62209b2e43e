"""The chapters of ``StoreSuite``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memscope.stores import Store


class Chapter:
    """Base class of all chapters."""

    async def reopen(self, store: Store) -> Store:
        """Open the same data in a new store, as after a restart. Return ``store`` itself if it is not durable."""
        return store

    def files(self, store: Store) -> Iterable[Path] | None:
        """Return the paths of all files with records, including logs; None if they cannot be read."""
        return None
