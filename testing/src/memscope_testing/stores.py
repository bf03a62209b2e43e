"""StoreSuite: the whole contract of ``memscope.stores.Store`` as tests."""

from __future__ import annotations

from typing import Any

from memscope_testing.contract.blocks import Blocks
from memscope_testing.contract.filtering import Filtering
from memscope_testing.contract.forgetting import Forgetting
from memscope_testing.contract.leases import Leases
from memscope_testing.contract.machine import Machine
from memscope_testing.contract.memories import Memories
from memscope_testing.contract.scopes import Scopes
from memscope_testing.contract.searching import Searching
from memscope_testing.contract.selecting import Selecting
from memscope_testing.contract.turns import Turns
from memscope_testing.contract.vectors import Vectors


class StoreSuite(
    Turns, Memories, Selecting, Filtering, Scopes, Leases, Forgetting, Blocks, Vectors, Searching, Machine
):
    """Tests of a store. A subclass has an async fixture ``store`` that yields an open, empty store.

    Tests of missing ``capabilities`` are skipped. Standard tests cannot be overridden: every store must pass them.
    ``reopen`` and ``files`` may be overridden. A store whose files cannot be read reports "pending" from ``forget``.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in dir(StoreSuite):
            if name.startswith("test_") and getattr(cls, name, None) is not getattr(StoreSuite, name):
                raise TypeError(f"{cls.__name__} overrides the standard test {name!r}; add tests, do not replace them")


__all__ = ["StoreSuite"]
