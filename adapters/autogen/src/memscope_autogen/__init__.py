"""Long-term memory for AutoGen agents. AutoGen is imported on first use of a name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memscope_autogen.config import MemoryScopeMemoryConfig
    from memscope_autogen.memory import MemoryScopeMemory
    from memscope_autogen.tools import ForgetTool, RememberTool, SearchMemoryTool

__version__ = "0.2.0"

_HOMES = {
    "MemoryScopeMemory": "memory",
    "MemoryScopeMemoryConfig": "config",
    "SearchMemoryTool": "tools",
    "RememberTool": "tools",
    "ForgetTool": "tools",
    "CoreMemoryTool": "tools",
}

__all__ = [
    "CoreMemoryTool",
    "ForgetTool",
    "MemoryScopeMemory",
    "MemoryScopeMemoryConfig",
    "RememberTool",
    "SearchMemoryTool",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
