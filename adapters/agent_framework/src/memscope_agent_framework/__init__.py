"""Long-term memory for Microsoft Agent Framework. The framework is imported on first use of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memscope.adapters.exports import load_name

if TYPE_CHECKING:
    from memscope_agent_framework.provider import MemoryScopeContextProvider

__version__ = "0.2.0"
__all__ = ["MemoryScopeContextProvider", "__version__"]

_HOMES = {"MemoryScopeContextProvider": "provider"}


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name, extra="agent-framework", requirement="agent-framework-core>=1.0")


def __dir__() -> list[str]:
    return sorted(__all__)
