"""Long-term memory for the OpenAI Agents SDK. The framework is imported on first use of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memscope.adapters.exports import load_name

if TYPE_CHECKING:
    from memscope_openai_agents.session import MemoryScopeSession

__version__ = "0.2.0"
__all__ = ["MemoryScopeSession", "__version__"]

_HOMES = {"MemoryScopeSession": "session"}


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name, extra="openai-agents", requirement="openai-agents>=0.8")


def __dir__() -> list[str]:
    return sorted(__all__)
