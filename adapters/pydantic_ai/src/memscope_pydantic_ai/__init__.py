"""Long-term memory for Pydantic AI. The framework is imported on first use of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memscope.adapters.exports import load_name

if TYPE_CHECKING:
    from memscope_pydantic_ai.capability import MemoryScopeCapability

__version__ = "0.2.0"
__all__ = ["MemoryScopeCapability", "__version__"]

_HOMES = {"MemoryScopeCapability": "capability"}


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name, extra="pydantic-ai", requirement="pydantic-ai-slim>=2.0")


def __dir__() -> list[str]:
    return sorted(__all__)
