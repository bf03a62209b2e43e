"""Long-term memory for LlamaIndex. The framework is imported on first use of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memscope.adapters.exports import load_name

if TYPE_CHECKING:
    from memscope_llama_index.memory_block import MemoryScopeBlock

__version__ = "0.2.0"
__all__ = ["MemoryScopeBlock", "__version__"]

_HOMES = {"MemoryScopeBlock": "memory_block"}


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name, extra="llama-index", requirement="llama-index-core>=0.14.2")


def __dir__() -> list[str]:
    return sorted(__all__)
