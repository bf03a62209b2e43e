"""The chapters of ``StoreSuite``."""

from __future__ import annotations

from memscope.stores import Store


class Chapter:
    """Shared by all chapters."""

    async def reopen(self, store: Store) -> Store:
        """The same data in a new store, as after a restart, if it outlives its process; else the store itself."""
        return store
