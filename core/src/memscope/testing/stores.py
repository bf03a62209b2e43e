"""StoreSuite: the whole contract of ``memscope.stores.Store`` as tests."""

from __future__ import annotations

from typing import Any

from memscope.testing.contract.blocks import Blocks
from memscope.testing.contract.forgetting import Forgetting
from memscope.testing.contract.leases import Leases
from memscope.testing.contract.machine import Machine
from memscope.testing.contract.memories import Memories
from memscope.testing.contract.scopes import Scopes
from memscope.testing.contract.searching import Searching
from memscope.testing.contract.selecting import Selecting
from memscope.testing.contract.turns import Turns
from memscope.testing.contract.vectors import Vectors


class StoreSuite(Turns, Memories, Selecting, Scopes, Leases, Forgetting, Blocks, Vectors, Searching, Machine):
    """Subclass it with one async fixture ``store`` that gives an open, empty store.

    Tests of missing ``capabilities`` are skipped. A standard test cannot be overridden: a store that
    does not pass is none. ``reopen`` may be.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in dir(StoreSuite):
            if name.startswith("test_") and getattr(cls, name, None) is not getattr(StoreSuite, name):
                raise TypeError(f"{cls.__name__} overrides the standard test {name!r}; add tests, do not replace them")


__all__ = ["StoreSuite"]
