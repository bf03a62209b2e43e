"""Long-term memory for LangChain and LangGraph. Both are imported on first use of a name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memscope.errors import install_hint

if TYPE_CHECKING:
    from memscope_langchain.classic import MemoryScopeMemory
    from memscope_langchain.history import MemoryScopeChatMessageHistory
    from memscope_langchain.middleware import MemoryScopeMiddleware
    from memscope_langchain.retriever import MemoryScopeRetriever
    from memscope_langchain.run import user_of_run
    from memscope_langchain.store import MemoryScopeStore
    from memscope_langchain.tools import ForgetTool, RememberTool, SearchMemoryTool

__version__ = "0.2.0"

_HOMES = {
    "MemoryScopeMemory": "classic",
    "MemoryScopeChatMessageHistory": "history",
    "MemoryScopeMiddleware": "middleware",
    "MemoryScopeRetriever": "retriever",
    "MemoryScopeStore": "store",
    "SearchMemoryTool": "tools",
    "RememberTool": "tools",
    "ForgetTool": "tools",
    "CoreMemoryTool": "tools",
    "user_of_run": "run",
}
_NEED_MORE = {"classic", "middleware", "store"}  # modules; the others need langchain-core only

__all__ = [
    "CoreMemoryTool",
    "ForgetTool",
    "MemoryScopeChatMessageHistory",
    "MemoryScopeMemory",
    "MemoryScopeMiddleware",
    "MemoryScopeRetriever",
    "MemoryScopeStore",
    "RememberTool",
    "SearchMemoryTool",
    "__version__",
    "user_of_run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_module(name, _HOMES[name]), name)
    return value


def _module(name: str, home: str) -> Any:
    try:
        return import_module(f"{__name__}.{home}")
    except ModuleNotFoundError as missing:
        if home not in _NEED_MORE or not (missing.name or "").startswith("lang"):
            raise
        advice = f"{name} needs {missing.name}; {install_hint('langchain')}"
        raise ModuleNotFoundError(advice, name=missing.name) from missing


def __dir__() -> list[str]:
    return sorted(__all__)
