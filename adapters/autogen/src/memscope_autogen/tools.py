"""Memory as tools: the model decides when to look something up, keep it or forget it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol, Self, cast

from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory
from autogen_core.tools import BaseTool
from pydantic import BaseModel, Field, create_model

from memscope.adapters.memory_tools import arguments, described, tool_set
from memscope.adapters.session import FORGET, KINDS, REMEMBER, SEARCH_MEMORY, MemorySession, ToolText
from memscope.records import Kind
from memscope_autogen.config import MemoryScopeMemoryConfig

PROVIDER = "memscope_autogen.MemoryScopeMemory"


class ToolMemory(Protocol):
    """The part of ``MemoryScopeMemory`` that its tools need."""

    @property
    def memory_session(self) -> MemorySession: ...
    def config(self) -> MemoryScopeMemoryConfig: ...
    async def seen(self) -> Collection[str]: ...


class SearchArguments(BaseModel):
    query: str = Field(description="What to look for, in the user's own language.")
    kinds: list[Kind] | None = Field(default=None, description=KINDS)


class RememberArguments(BaseModel):
    statement: str = Field(description="One self-contained sentence, in the user's own language.")


class ForgetArguments(BaseModel):
    ids: list[str] = Field(description="The ids of what to forget, as search_memory printed them.")


class ToolAnswer(BaseModel):
    text: str


class ToolConfig(BaseModel):
    memory: MemoryScopeMemoryConfig


class _MemoryTool(BaseTool[Any, ToolAnswer]):
    """A tool over one memory; serialised with the memory's own configuration."""

    arguments: type[BaseModel]
    words: ToolText

    def __init__(self, memory: ToolMemory) -> None:
        super().__init__(self.arguments, ToolAnswer, self.words.name, self.words.description)
        self.memory = memory

    def return_value_as_string(self, value: Any) -> str:
        return value.text if isinstance(value, ToolAnswer) else str(value)

    def _to_config(self) -> ToolConfig:
        return ToolConfig(memory=self.memory.config())

    @classmethod
    def _from_config(cls, config: ToolConfig) -> Self:
        memory = Memory.load_component({"provider": PROVIDER, "config": config.memory.model_dump()})
        return cls(cast(ToolMemory, memory))


class SearchMemoryTool(_MemoryTool, Component[ToolConfig]):
    """Looks up what is remembered; leaves out what the agent has before its eyes."""

    component_config_schema = ToolConfig
    component_provider_override = "memscope_autogen.SearchMemoryTool"
    arguments, words = SearchArguments, SEARCH_MEMORY

    async def run(self, args: SearchArguments, cancellation_token: CancellationToken) -> ToolAnswer:
        seen = await self.memory.seen()
        return ToolAnswer(
            text=await self.memory.memory_session.answer_search(args.query, exclude=seen, kinds=args.kinds)
        )


class RememberTool(_MemoryTool, Component[ToolConfig]):
    """Keeps a statement."""

    component_config_schema = ToolConfig
    component_provider_override = "memscope_autogen.RememberTool"
    arguments, words = RememberArguments, REMEMBER

    async def run(self, args: RememberArguments, cancellation_token: CancellationToken) -> ToolAnswer:
        return ToolAnswer(text=await self.memory.memory_session.answer_remember(args.statement))


class ForgetTool(_MemoryTool, Component[ToolConfig]):
    """Forgets by id, with all that was derived from it."""

    component_config_schema = ToolConfig
    component_provider_override = "memscope_autogen.ForgetTool"
    arguments, words = ForgetArguments, FORGET

    async def run(self, args: ForgetArguments, cancellation_token: CancellationToken) -> ToolAnswer:
        return ToolAnswer(text=await self.memory.memory_session.answer_forget(args.ids))


class NamedToolConfig(ToolConfig):
    tool: str


class CoreMemoryTool(_MemoryTool, Component[NamedToolConfig]):
    """A tool of ``memscope.adapters.memory_tools``, by its name: memory_append, archival_search, and so on."""

    component_config_schema = NamedToolConfig
    component_provider_override = "memscope_autogen.CoreMemoryTool"

    def __init__(self, memory: ToolMemory, name: str) -> None:
        self.tool = tool_set("all")[name]
        fields: dict[str, Any] = arguments(self.tool)
        self.arguments, self.words = create_model(name, **fields), ToolText(name, described(self.tool))
        super().__init__(memory)

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> ToolAnswer:
        return ToolAnswer(text=await self.tool(self.memory.memory_session, **args.model_dump()))

    def _to_config(self) -> NamedToolConfig:
        return NamedToolConfig(memory=self.memory.config(), tool=self.name)

    @classmethod
    def _from_config(cls, config: ToolConfig) -> Self:
        assert isinstance(config, NamedToolConfig)  # its own schema, by which AutoGen has read it
        memory = Memory.load_component({"provider": PROVIDER, "config": config.memory.model_dump()})
        return cls(cast(ToolMemory, memory), config.tool)
