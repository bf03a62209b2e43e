"""The chapters of ``StoreSuite``."""

from __future__ import annotations

from memscope.stores import Store


class Chapter:
    """What the chapters share."""

    async def reopen(self, store: Store) -> Store:
        """The same data in a new store, as after a restart, where it outlives its process; else the store itself."""
        return store
