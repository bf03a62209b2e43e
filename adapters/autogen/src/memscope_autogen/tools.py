"""Memory as tools, with which the model decides when to search, remember or forget."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol, Self, cast

from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory
from autogen_core.tools import BaseTool
from pydantic import BaseModel, create_model

from memscope.adapters.memory_tools import Tool, arguments, described, forget, remember, search_memory, tool_named
from memscope.adapters.session import MemorySession
from memscope_autogen.config import MemoryScopeMemoryConfig

PROVIDER = "memscope_autogen.MemoryScopeMemory"


class ToolMemory(Protocol):
    """The part of ``MemoryScopeMemory`` that its tools need."""

    @property
    def memory_session(self) -> MemorySession: ...
    def config(self) -> MemoryScopeMemoryConfig: ...
    async def seen(self) -> Collection[str]: ...


class ToolAnswer(BaseModel):
    text: str


class ToolConfig(BaseModel):
    memory: MemoryScopeMemoryConfig


class NamedToolConfig(ToolConfig):
    tool: str


class _MemoryTool(BaseTool[Any, ToolAnswer]):
    """A tool of ``memscope.adapters.memory_tools`` for one memory, serialised with that memory's configuration."""

    def __init__(self, memory: ToolMemory, tool: Tool) -> None:
        fields: dict[str, Any] = arguments(tool)
        super().__init__(create_model(tool.__name__, **fields), ToolAnswer, tool.__name__, described(tool))
        self.memory, self.tool = memory, tool

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> ToolAnswer:
        arguments = args.model_dump()
        if self.tool is search_memory:
            arguments["seen"] = await self.memory.seen()
        return ToolAnswer(text=await self.tool(self.memory.memory_session, **arguments))

    def return_value_as_string(self, value: Any) -> str:
        return value.text if isinstance(value, ToolAnswer) else str(value)

    def _to_config(self) -> ToolConfig:
        return ToolConfig(memory=self.memory.config())

    @classmethod
    def _from_config(cls, config: ToolConfig) -> Self:
        memory = Memory.load_component({"provider": PROVIDER, "config": config.memory.model_dump()})
        name: list[Any] = [config.tool] if isinstance(config, NamedToolConfig) else []
        return cls(cast(ToolMemory, memory), *name)


class SearchMemoryTool(_MemoryTool, Component[ToolConfig]):
    """Searches memory, leaving out turns in the agent's context."""

    component_config_schema = ToolConfig
    component_provider_override = "memscope_autogen.SearchMemoryTool"

    def __init__(self, memory: ToolMemory) -> None:
        super().__init__(memory, search_memory)


class RememberTool(_MemoryTool, Component[ToolConfig]):
    """Stores a statement as a memory."""

    component_config_schema = ToolConfig
    component_provider_override = "memscope_autogen.RememberTool"

    def __init__(self, memory: ToolMemory) -> None:
        super().__init__(memory, remember)


class ForgetTool(_MemoryTool, Component[ToolConfig]):
    """Forgets records by id, and everything derived from them."""

    component_config_schema = ToolConfig
    component_provider_override = "memscope_autogen.ForgetTool"

    def __init__(self, memory: ToolMemory) -> None:
        super().__init__(memory, forget)


class CoreMemoryTool(_MemoryTool, Component[NamedToolConfig]):
    """One tool of ``memscope.adapters.memory_tools`` by name, such as memory_append or archival_search."""

    component_config_schema = NamedToolConfig
    component_provider_override = "memscope_autogen.CoreMemoryTool"

    def __init__(self, memory: ToolMemory, name: str) -> None:
        super().__init__(memory, tool_named(name))

    def _to_config(self) -> NamedToolConfig:
        return NamedToolConfig(memory=self.memory.config(), tool=self.name)
