"""Test suites for third parties: ``StoreSuite`` tests the contract of a store, ``AdapterSuite`` that of an adapter.

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

from memscope import languages
from memscope.builtin import memscope_register_languages

if TYPE_CHECKING:
    from memscope_testing.adapters import AdapterSuite
    from memscope_testing.scripted import ScriptedModel
    from memscope_testing.stores import StoreSuite

memscope_register_languages(languages.register)  # StoreSuite derives units without opening a memory

_HOMES = {"AdapterSuite": "adapters", "ScriptedModel": "scripted", "StoreSuite": "stores"}
__all__ = ["AdapterSuite", "ScriptedModel", "StoreSuite"]


def __getattr__(name: str) -> Any:
    """Import each suite on first use, since the suites have different dependencies."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
