"""Long-term memory for Google ADK. The framework is imported on first use of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memscope.adapters.exports import load_name

if TYPE_CHECKING:
    from memscope_google_adk.memory_plugin import MemoryScopePlugin
    from memscope_google_adk.memory_service import MemoryScopeMemoryService

__version__ = "0.2.0"
__all__ = ["MemoryScopeMemoryService", "MemoryScopePlugin", "__version__"]

_HOMES = {"MemoryScopePlugin": "memory_plugin", "MemoryScopeMemoryService": "memory_service"}


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name, extra="google-adk", requirement="google-adk>=2.0")


def __dir__() -> list[str]:
    return sorted(__all__)
