"""Long-term memory for AgentScope agents. AgentScope is imported on first use of a name.

``MemoryScopeMiddleware`` is for 2.x and ``MemoryScopeLongTermMemory`` for 1.x; ``MemoryScopeMemory`` is the one for the
installed version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memscope_agentscope.long_term_memory import MemoryScopeLongTermMemory
    from memscope_agentscope.middleware import MemoryScopeMiddleware
    from memscope_agentscope.middleware import MemoryScopeMiddleware as MemoryScopeMemory
    from memscope_agentscope.tools import ForgetTool, RememberTool, SearchMemoryTool

    __all__ = [
        "ForgetTool",
        "MemoryScopeLongTermMemory",
        "MemoryScopeMemory",
        "MemoryScopeMiddleware",
        "RememberTool",
        "SearchMemoryTool",
        "__version__",
    ]

__version__ = "0.2.0"

_HOMES = {
    "MemoryScopeMiddleware": "middleware",
    "SearchMemoryTool": "tools",
    "RememberTool": "tools",
    "ForgetTool": "tools",
    "MemoryScopeLongTermMemory": "long_term_memory",
}
_GENERATION = {"middleware": 2, "tools": 2, "long_term_memory": 1}
_ALWAYS = ("MemoryScopeMemory", "__version__")
_NATIVE = {1: "MemoryScopeLongTermMemory", 2: "MemoryScopeMiddleware"}


def __getattr__(name: str) -> Any:
    from memscope_agentscope.installed import generation, require

    if name == "__all__":  # what ``import *`` takes: the names for the installed version
        return [*_ALWAYS, *(one for one, home in _HOMES.items() if _GENERATION[home] == generation())]
    if name == "MemoryScopeMemory":
        return __getattr__(_NATIVE[generation()])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    require(name, _GENERATION[home], _NATIVE)
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*_HOMES, *_ALWAYS])
