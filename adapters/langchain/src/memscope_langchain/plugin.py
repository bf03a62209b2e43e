"""The plugin module, which memscope loads at startup. It must not import the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memscope.plugins.loader import Register


def memscope_register_adapters(register: Register) -> None:
    register("langchain", "memscope_langchain:MemoryScopeMiddleware")


def memscope_register_importers(register: Register) -> None:
    register("langgraph", "memscope_langchain.importer:read")
