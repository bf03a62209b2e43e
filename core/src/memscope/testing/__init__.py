"""What a third party tests with: ``StoreSuite`` states what a store is, ``AdapterSuite`` what an adapter is.

    class TestMyStore(StoreSuite):
        @pytest.fixture
        async def store(self):
            store = MyStore(...)
            await store.open()
            yield store
            await store.close()

Needs pytest, pytest-asyncio (``asyncio_mode = "auto"``) and hypothesis. Nothing of memscope imports this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memscope.testing.adapters import AdapterSuite
    from memscope.testing.scripted import ScriptedModel
    from memscope.testing.stores import StoreSuite

_HOMES = {"AdapterSuite": "adapters", "ScriptedModel": "scripted", "StoreSuite": "stores"}
__all__ = ["AdapterSuite", "ScriptedModel", "StoreSuite"]


def __getattr__(name: str) -> Any:
    """One suite does not need what the other does."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
